"""Arrays of a platform: what an array says of itself, and which queue it belongs to."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from kapi_sim.language.array_memory import ArrayFields

__all__ = ["ArrayReader"]


class ArrayReader(ABC):
    """Reads the arrays of a platform."""

    @abstractmethod
    def fields(self, value: Any) -> ArrayFields | None:
        """Read an array of this platform once: address, shape, strides in elements, dtype, read-only, and its owner.

        `owner` is what `queue_of` needs to know where the array is: its queue, or its device and library.

        Parameters
        ----------
        value : object
            What `installed` takes for one of this platform's, by its class or by DLPack.

        Returns
        -------
        ArrayFields or None
            None if it is no array of this platform after all.

        Notes
        -----
        Waits for no work.  An array of zero elements may have the address 0.
        """

    @abstractmethod
    def queue_of(self, kernel: str, arrays: Sequence[tuple[str, ArrayFields]]) -> Any:
        """Return the one queue of all arrays of a launch.

        Parameters
        ----------
        kernel : str
            Name of the kernel, for messages.
        arrays : sequence of (str, ArrayFields)
            Name and fields of each array argument, in order; at least one, and all of this platform.

        Raises
        ------
        ExecutionPlacementError
            If two of them are on different devices, or on different queues where arrays carry one.  It names the two
            arguments, where each is, and the call that copies one to the other.
        """

    @abstractmethod
    def copy_call(self, name: str, like: str = "") -> str:
        """Return the call that copies the host's array `name` to a device, as source text for messages.

        Parameters
        ----------
        name : str
            A name in the user's program.
        like : str
            Name of an array whose device it is copied to; "" for the default device.
        """
