"""Names in the lists of the reference's index pages become links to their descriptions."""

from __future__ import annotations

from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util import logging

LOGGER = logging.getLogger(__name__)


def link_names(app: Sphinx, doctree: nodes.document, docname: str) -> None:
    """Make each name in a list of a page such as ``reference/kapi_sim`` a link, and warn of names without one."""
    folder, _, package = docname.partition("/")
    if folder != "reference" or "/" in package:
        return
    domain = app.env.domains["py"]
    known = domain.data["objects"] | domain.data["modules"]
    for entry in doctree.findall(nodes.list_item):
        for literal in list(entry.findall(nodes.literal)):
            name = literal.astext()
            if isinstance(literal.parent, nodes.reference) or not name.replace(".", "_").isidentifier():
                continue
            places = (name, f"{package}.{name}", f"kapi_sim.{name}")  # kapi_runtime exports the names of kapi_sim
            deeper = sorted(each for each in known if each.startswith(f"{package}.") and each.endswith(f".{name}"))
            target = next((place for place in (*places, *deeper) if place in known), None)
            if target is None:
                LOGGER.warning("%s is described nowhere", name, location=literal)
                continue
            kind = "mod" if target in domain.data["modules"] else "obj"
            shown = literal.deepcopy()
            link = domain.resolve_xref(app.env, docname, app.builder, kind, target, nodes.Element(), shown)
            if link is not None:
                literal.replace_self(link)


def setup(app: Sphinx) -> dict[str, Any]:
    """Listen for pages whose references are resolved."""
    app.connect("doctree-resolved", link_names)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
