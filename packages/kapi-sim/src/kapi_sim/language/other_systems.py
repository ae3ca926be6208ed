"""The end of a message about a name that kapi does not have: what kapi has in its place."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pkgutil import get_data

from kapi_sim.language.public_names import COMMON_NAMES
from kapi_sim.language.table.intrinsics import rows

__all__ = ["SYSTEMS", "System", "hint", "missing_name"]


@dataclass(frozen=True, slots=True)
class System:
    """One other kernel language.

    Attributes
    ----------
    name : str
        As a message calls it.
    modules : tuple of str
        Modules, and their usual short names, that hold its words.
    words : dict of str to str
        Words that nobody takes for another language's, each with kapi's own.
    common_words : dict of str to str
        Words that are known by their module alone, such as ``load`` of ``tl.load``.
    """

    name: str
    modules: tuple[str, ...]
    words: dict[str, str]
    common_words: dict[str, str]


_PALLAS = ("jax.experimental.pallas.tpu", "jax.experimental.pallas.triton", "jax.experimental.pallas")

_MODULES = {
    "numba.cuda": ("numba.cuda", "kapi_sim.numba_cuda", "cuda"),
    "CUDA": ("cooperative_groups", "cg", "cub", "wmma"),
    "Triton": ("triton.language", "triton", "tl"),
    "OpenCL": ("numba_dpex", "numba_dppy", "dpex", "dppy", "pyopencl", "cl"),
    "Warp": ("warp", "wp"),
    "SYCL C++": ("sycl",),
    "Taichi": ("taichi", "ti"),
    "JAX": (*_PALLAS, "jax.numpy", "jax.lax", "jax", "pltpu", "plgpu", "pl", "jnp", "lax"),
    "CuPy": ("cupyx.jit", "jit"),
    "Metal": ("metal", "mx.fast"),
    "shaders": (),
    "cuTile": ("cuda.tile", "ct"),
}
"""Modules of each language; a word that two of them have is the first one's."""

_OURS = ("kapi_sim", "kapi_runtime", "kapi")
"""The modules in which all their words are looked up: kapi's own."""

_FUNCTIONS = {
    **{row.name: f"`np.{row.name}`" for row in rows("numpy")},
    **{row.name: f"`math.{row.name}`" for row in rows("math")},
    **{name: f"`{name}`" for name in ("abs", "min", "max", "range", "print", "int", "float", "bool")},
    **dict.fromkeys(("around", "round"), "`np.rint(x)`, or `round(x, digits)`"),
    "rsqrt": "`1 / math.sqrt(x)`",
    "exp10": "`10.0 ** x`",
    "pown": "`x ** n`",
    "powr": "`x ** y`",
    "mad": "`a * b + c`, or `math.fma(a, b, c)`",
    "clamp": "`min(max(x, low), high)`",
}
"""Functions of numbers, by the name that other languages and libraries have for them."""

_LIBRARIES = ("scipy.special", "torch", "cupy", "cp", "numpy", "np", "math", "cmath")
"""Modules whose functions of numbers have the same names."""

_IN_C = re.compile(r"(?:__|native_|half_|fast_)?(?P<name>[a-z]+?\d*)f?")
"""A function of C's mathematics: ``expf``, ``__expf``, ``native_exp`` for ``exp``."""


def hint(path: Sequence[str]) -> str:
    """Return the end of a message about a name that kapi does not have: what kapi has in its place.

    Parameters
    ----------
    path : sequence of str
        The parts of a dotted name, such as ``("cuda", "atomic", "add")``.  Attributes of a word may follow it, and the
        end of a word may lack: ``("atomic",)`` is answered by the first word that begins so.

    Returns
    -------
    str
        Empty for a name that no other language has.

    Examples
    --------
    >>> hint(("tl", "num_programs"))
    ": in place of Triton's `num_programs` use `nd_item.get_group().get_group_range(0)`"
    >>> hint(("sqrt",))
    ': write `math.sqrt`'
    >>> hint(("my_function",))
    ''
    """
    own = _is_within(_OURS, path)
    if own and own[0] in COMMON_NAMES:
        return ""
    for system in SYSTEMS:
        rest = _is_within((*system.modules, *_OURS), path)
        known = system.words if rest is None else {**system.words, **system.common_words}
        word = _word(known, path if rest is None else rest)
        if word:
            owner = f"{system.name}'" if system.name.endswith("s") else f"{system.name}'s"
            return f": in place of {owner} `{word}` use {known[word]}"
    ours = _function(path)
    return f": write {ours}" if ours else ""


def missing_name(module: str, name: str) -> AttributeError:
    """Return the error for a name that one of kapi's modules does not have.

    Parameters
    ----------
    module : str
        Such as ``"kapi_sim"``.
    name : str
        The attribute that was looked up.
    """
    # No KapiError: `hasattr` and what walks through a module's names take this class for "not there".
    text = f"module {module!r} has no attribute {name!r}{hint((module, name))}"
    return AttributeError(text, name=name, obj=sys.modules.get(module))


def _function(path: Sequence[str]) -> str:
    """Return a word of kapi's or of Python's mathematics that was looked for in the wrong module, or in none."""
    modules = (*(module for system in SYSTEMS for module in system.modules), *_OURS, *_LIBRARIES)
    rest = _is_within(modules, path)
    name, *more = path if rest is None else rest or ("",)
    if more:
        return ""
    if name in COMMON_NAMES:
        return "" if path[0] in _OURS else f"`kapi.{name}`"
    found = _IN_C.fullmatch(name)
    return _FUNCTIONS.get(name) or (_FUNCTIONS.get(found["name"], "") if found else "")


def _is_within(modules: Sequence[str], path: Sequence[str]) -> Sequence[str] | None:
    """Return what follows a module in a path; None if the path begins with none of these."""
    for module in modules:
        parts = module.split(".")
        if list(path[: len(parts)]) == parts:
            return path[len(parts) :]
    return None


def _word(words: dict[str, str], path: Sequence[str]) -> str:
    """Return the word that a path is, goes on from, or begins; none if there is none."""
    for length in range(len(path), 0, -1):
        if ".".join(path[:length]) in words:
            return ".".join(path[:length])
    start = f"{'.'.join(path)}." if path else "\0"
    return next((word for word in words if word.startswith(start)), "")


def _systems() -> tuple[System, ...]:
    """Return the languages with the words of the table."""
    table = get_data(__name__, "other_systems.txt")
    assert table is not None  # as this module was imported, so can its neighbour be read
    systems = {name: System(name, modules, {}, {}) for name, modules in _MODULES.items()}
    for line in table.decode().splitlines():
        if not line.startswith(" "):
            ours = line
            continue
        for part in line.strip().split("; "):
            name, _, words = part.partition(": ")
            for word in words.split():
                known = systems[name].common_words if word.startswith(".") else systems[name].words
                known[word.removeprefix(".")] = ours
    return tuple(systems.values())


SYSTEMS = _systems()
