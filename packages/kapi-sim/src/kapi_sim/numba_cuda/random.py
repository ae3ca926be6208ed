"""``numba.cuda.random``: a generator of random numbers for each thread, xoroshiro128+.

References
----------
D. Blackman and S. Vigna, xoroshiro128+ 1.0, 2016: the generator, and the polynomial of its jump of 2**64 steps.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from functools import cache
from types import FrameType
from typing import Any

import numpy as np

from kapi_sim.items.convergence import DialectIntrinsic
from kapi_sim.numba_cuda.host.allocation import to_device
from kapi_sim.numba_cuda.host.device_arrays import DeviceArray, as_host_array

__all__ = [
    "create_xoroshiro128p_states",
    "init_xoroshiro128p_states",
    "xoroshiro128p_dtype",
    "xoroshiro128p_jump",
    "xoroshiro128p_next",
    "xoroshiro128p_normal_float32",
    "xoroshiro128p_normal_float64",
    "xoroshiro128p_uniform_float32",
    "xoroshiro128p_uniform_float64",
]

xoroshiro128p_dtype = np.dtype([("s0", np.uint64), ("s1", np.uint64)], align=True)
_MASK = (1 << 64) - 1
_JUMP = (0xBEAC0467EBA5FACB, 0xD86B048B86AA9922)
_getframe = sys._getframe

State = tuple[int, int]


def _rotated(x: int, count: int) -> int:
    return (x << count | x >> (64 - count)) & _MASK


def _step(state: State) -> State:
    s0, s1 = state
    s1 ^= s0
    return _rotated(s0, 55) ^ s1 ^ (s1 << 14 & _MASK), _rotated(s1, 36)


def _jump(state: State) -> State:
    first, second = 0, 0
    for word in _JUMP:
        for bit in range(64):
            if word >> bit & 1:
                first ^= state[0]
                second ^= state[1]
            state = _step(state)
    return first, second


@cache
def _jump_of_bytes() -> list[list[State]]:
    """States after a jump, by each byte of a state and its value: a jump is linear in the state's bits."""
    bits = [_jump((1 << i, 0)) for i in range(64)] + [_jump((0, 1 << i)) for i in range(64)]
    tables = []
    for start in range(0, 128, 8):
        table = [(0, 0)]
        for i in range(8):
            a, b = bits[start + i]
            table += [(x ^ a, y ^ b) for x, y in table]
        tables.append(table)
    return tables


def _quick_jump(state: State) -> State:
    first, second = 0, 0
    for table, value in zip(
        _jump_of_bytes(), state[0].to_bytes(8, "little") + state[1].to_bytes(8, "little"), strict=True
    ):
        a, b = table[value]
        first ^= a
        second ^= b
    return first, second


def _seeded(seed: int) -> State:
    # One number of splitmix64 serves as both halves.
    z = (seed + 0x9E3779B97F4A7C15) & _MASK
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9 & _MASK
    z = (z ^ z >> 27) * 0x94D049BB133111EB & _MASK
    z ^= z >> 31
    return z, z


def init_xoroshiro128p_states(states: Any, seed: int, subsequence_start: int = 0, stream: Any = 0) -> None:
    """Give each state a part of one sequence, 2**64 numbers from the next.

    Parameters
    ----------
    states : array
        Of `xoroshiro128p_dtype`.
    seed : int
        Starts the sequence.
    subsequence_start : int
        How many parts are left out.
    stream : object
        Not looked at.
    """
    made = np.empty(states.shape, xoroshiro128p_dtype)
    state = _seeded(int(seed) & _MASK)
    for _ in range(subsequence_start):
        state = _quick_jump(state)
    for i in range(made.size):
        made[i] = state
        state = _quick_jump(state)
    if isinstance(states, DeviceArray):
        states.copy_to_device(made)
    else:
        as_host_array(states)[...] = made


def create_xoroshiro128p_states(n: int, seed: int, subsequence_start: int = 0, stream: Any = 0) -> DeviceArray:
    """Return a device array of `n` states, each with a part of one sequence.

    Parameters
    ----------
    n : int
        How many.
    seed : int
        Starts the sequence.
    subsequence_start : int
        How many parts are left out.
    stream : object
        Not looked at.
    """
    states = np.empty(n, xoroshiro128p_dtype)
    init_xoroshiro128p_states(states, seed, subsequence_start)
    return to_device(states)


class Generator(DialectIntrinsic):
    """A function that changes one state, and makes a number of it.

    Parameters
    ----------
    name : str
        As programs call it.
    make : callable
        Takes what gives the next 64 bits, and returns the number.
    """

    def __init__(self, name: str, make: Callable[[Callable[[], int]], Any]) -> None:
        super().__init__(name)
        self._make = make

    def __call__(self, states: Any, index: int) -> Any:
        """Return the next number.

        Parameters
        ----------
        states : array
            Of `xoroshiro128p_dtype`.
        index : int
            Which state; each thread has its own.
        """
        frame = _getframe(1)
        return self._make(lambda: _next(states, index, frame))


def _next(states: Any, index: Any, frame: FrameType) -> int:
    first, second = states.field("s0"), states.field("s1")
    state = int(first.take_out(index, frame)), int(second.take_out(index, frame))
    s0, s1 = _step(state)
    first.put_in(index, np.uint64(s0), frame)
    second.put_in(index, np.uint64(s1), frame)
    return (state[0] + state[1]) & _MASK


class Jump(DialectIntrinsic):
    """``xoroshiro128p_jump``."""

    def __call__(self, states: Any, index: int) -> None:
        """Advance a state by 2**64 steps."""
        frame = _getframe(1)
        first, second = states.field("s0"), states.field("s1")
        s0, s1 = _quick_jump((int(first.take_out(index, frame)), int(second.take_out(index, frame))))
        first.put_in(index, np.uint64(s0), frame)
        second.put_in(index, np.uint64(s1), frame)


def _unit(bits: int) -> float:
    return (bits >> 11) / (1 << 53)


def _uniform32(draw: Callable[[], int]) -> Any:
    return np.float32(_unit(draw()))


def _normal(draw: Callable[[], int], kind: type[Any]) -> Any:
    """Return a normal number by Box and Muller's method, of which the first of two results is used."""
    # Numba draws float32 numbers for both, and its numbers are what programs were tested with.
    u1, u2 = kind(_uniform32(draw)), kind(_uniform32(draw))
    return np.sqrt(kind(-2.0) * np.log(u1)) * np.cos(kind(2 * math.pi) * u2)


xoroshiro128p_next = Generator("xoroshiro128p_next", lambda draw: np.uint64(draw()))
xoroshiro128p_jump = Jump("xoroshiro128p_jump")
xoroshiro128p_uniform_float32 = Generator("xoroshiro128p_uniform_float32", _uniform32)
xoroshiro128p_uniform_float64 = Generator("xoroshiro128p_uniform_float64", lambda draw: np.float64(_unit(draw())))
xoroshiro128p_normal_float32 = Generator("xoroshiro128p_normal_float32", lambda draw: _normal(draw, np.float32))
xoroshiro128p_normal_float64 = Generator("xoroshiro128p_normal_float64", lambda draw: _normal(draw, np.float64))
