"""Settings of the documentation: built strictly and offline, so every reference must be in these pages."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).with_name("_extensions")))
os.environ.setdefault("MPLBACKEND", "Agg")  # the gallery draws where there is no screen

# Dask says so where there is no network, as in an offline build; the gallery's cluster needs none.
warnings.filterwarnings("ignore", message="Couldn't detect a suitable IP address")

project = "kapi"
author = "The kapi developers"
copyright = "The kapi developers"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "kapi_gallery",
    "kapi_lessons",
    "kapi_links",
    "kapi_notebooks",
    "kapi_tables",
    "kapi_intrinsics",
]
exclude_patterns = ["_build", "_extensions", "live"]
root_doc = "index"

html_theme = "furo"
html_title = "kapi"
html_static_path = ["_static"]
html_css_files = ["kapi.css"]
html_js_files = [("access.js", {"defer": "defer"})]
html_search_scorer = str(Path(__file__).with_name("_extensions") / "search_scorer.js")

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3  # so that pages can link to each other's headings, as they do on a repository's page

autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings give type, shape and unit; annotations would say half of it again
numpydoc_show_class_members = False  # members are listed where they are described

sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "gallery",
    "filename_pattern": r"\.py$",  # every example runs
    "abort_on_example_error": True,
    "matplotlib_animations": True,
    "within_subsection_order": "FileNameSortKey",
    "min_reported_time": 1e9,
    "write_computation_times": False,  # its page loads scripts from other hosts
    "show_memory": False,
    "show_signature": False,
}

# The notebooks' folder on GitHub, such as https://github.com/OWNER/NAME/blob/BRANCH: pages then open them in Colab and
# JupyterLite. Empty while there is no public address.
notebook_base_url = ""

copybutton_prompt_text = r">>> |\.\.\. |\$ "  # a copied example holds no prompts
copybutton_prompt_is_regexp = True


def skip_what_a_sibling_describes(app, what, name, obj, skip, options):
    package = app.env.docname.removeprefix("reference/").partition("/")[0]
    defined_in = (getattr(obj, "__module__", None) or package).partition(".")[0]
    return True if defined_in.startswith("kapi_") and defined_in != package else skip


def setup(app):
    # kapi_runtime exports the names of kapi_sim as well: each is described once, on the page of its package.
    app.connect("autodoc-skip-member", skip_what_a_sibling_describes)
