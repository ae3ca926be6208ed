"""`LibraryEntry`: what is known of an array library before it is imported, installed or not."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["ENTRIES", "NOT_USER_CODE", "LibraryEntry"]


@dataclass(frozen=True, slots=True)
class LibraryEntry:
    """An array library whose arrays are offloaded.

    Another distribution names one as an entry point of the group ``kapi.array_libraries``.

    Attributes
    ----------
    name : str
        The name of its module.
    array_class : tuple of str
        Module and name of the class of its arrays.
    platform : str
        The name of the platform whose queues it answers for: `Platform.name`.
    library : str
        Its `ArrayLibrary`, as ``"module:Class"``.
    install : str
        The command that brings what it needs.
    is_numpy : bool
        Whether it is NumPy, whose functions are any library's by name, and whose arrays are offloaded in a context.
    """

    name: str
    array_class: tuple[str, str]
    platform: str
    library: str
    install: str
    is_numpy: bool = False


ENTRIES = (
    LibraryEntry(
        "dpnp",
        ("dpnp.dpnp_array", "dpnp_array"),
        "sycl",
        "kapi_numba_offload.libraries.dpnp:DpnpLibrary",
        'pip install "kapi-numba-offload[dpnp]"',
    ),
    LibraryEntry(
        "cupy",
        ("cupy", "ndarray"),
        "cuda",
        "kapi_numba_offload.libraries.cupy:CupyLibrary",
        'pip install "kapi-numba-offload[cuda]"',
    ),
    LibraryEntry(
        "numpy",
        ("kapi_numba_offload.libraries.host_array", "HostArray"),
        "cpu",
        "kapi_numba_offload.libraries.numpy_library:NumpyLibrary",
        "pip install kapi-cpu",
        is_numpy=True,
    ),
)
"""The libraries that come with this package."""

NOT_USER_CODE = frozenset(("numpy", "numba", "kapi_runtime", *(each.name for each in ENTRIES)))
"""Packages whose functions are called as they are: none is looked into."""
