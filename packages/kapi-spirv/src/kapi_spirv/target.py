"""What a SPIR-V module is compiled for: a value, and part of every cache key."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["SpirvTarget"]

_VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4", "1.5", "1.6")


@dataclass(frozen=True, slots=True)
class SpirvTarget:
    """The SPIR-V dialect and the abilities of the devices that a module may need.

    Parameters
    ----------
    version : str
        SPIR-V version, "1.0" to "1.6".
    extensions : tuple of str
        SPIR-V extensions that the module may use, such as "SPV_EXT_shader_atomic_float_add".

    Raises
    ------
    ValueError
        If the version is none that exists, or an extension's name is not one.

    Examples
    --------
    >>> SpirvTarget().version
    '1.2'
    >>> SpirvTarget(version="7.0")
    Traceback (most recent call last):
    ...
    ValueError: version must be one of 1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, got '7.0'
    """

    version: str = "1.2"
    extensions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.version not in _VERSIONS:
            raise ValueError(f"version must be one of {', '.join(_VERSIONS)}, got {self.version!r}")
        for extension in self.extensions:
            if not extension.startswith("SPV_") or not extension.replace("_", "").isalnum():
                raise ValueError(f"extension must be the name of a SPIR-V extension (SPV_...), got {extension!r}")

    @property
    def triple(self) -> str:
        """LLVM's name of the target."""
        return f"spirv64v{self.version}-unknown-unknown"
