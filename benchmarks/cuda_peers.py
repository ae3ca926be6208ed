"""Triton's and Warp's part in cuda_speed.py: which problems they have a kernel for, and how it is launched."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cuda_problems import SHARE, WIDTH, Problem

__all__ = ["triton_launch", "warp_launch"]

_BLOCK = 1024
_ROWS, _COLUMNS = 8, 128

Launch = Callable[[], Any]


def triton_launch(problem: Problem) -> Launch | None:
    """Triton's launch of a problem, or None if it has no kernel for it."""
    if problem.name not in _TRITON:
        return None
    import torch

    given = [torch.as_tensor(each, device="cuda") if getattr(each, "ndim", 0) else each for each in problem.arguments]
    given = [each.item() if hasattr(each, "item") and not isinstance(each, torch.Tensor) else each for each in given]
    return _TRITON[problem.name](problem, given)


def warp_launch(problem: Problem) -> Launch | None:
    """Warp's launch of a problem, or None if it has no kernel for it."""
    name = _WARP.get(problem.name)
    if name is None or problem.shown.endswith("f64"):
        return None
    import cuda_warp_kernels as kernels

    return kernels.launched(getattr(kernels, name), tuple(problem.space), problem.arguments)


def _by_blocks(name: str) -> Callable[[Problem, list[Any]], Launch | None]:
    """A kernel of one dimension, whose last argument is the number of elements."""

    def launch(problem: Problem, given: list[Any]) -> Launch | None:
        import cuda_triton_kernels as kernels

        if problem.shown.endswith("f64"):
            return None
        kernel, n = getattr(kernels, name), problem.space.size
        grid = (-(-n // _BLOCK),)
        return lambda: kernel[grid](*given, n, BLOCK=_BLOCK)

    return launch


def _sums(problem: Problem, given: list[Any]) -> Launch:
    import cuda_triton_kernels as kernels

    return lambda: kernels.sums[problem.grid](*given[:2], SHARE=SHARE, BLOCK=WIDTH)


def _pairwise(problem: Problem, given: list[Any]) -> Launch:
    import cuda_triton_kernels as kernels

    n, m = problem.space
    grid = (-(-m // _COLUMNS), -(-n // _ROWS))
    return lambda: kernels.pairwise[grid](*given, n, m, given[0].shape[1], ROWS=_ROWS, COLUMNS=_COLUMNS)


def _stencil(problem: Problem, given: list[Any]) -> Launch:
    import cuda_triton_kernels as kernels

    n = given[0].shape[0]
    grid = (-(-(n - 2) // _COLUMNS), -(-(n - 2) // _ROWS))
    return lambda: kernels.stencil[grid](*given, n, ROWS=_ROWS, COLUMNS=_COLUMNS)


_TRITON: dict[str, Callable[[Problem, list[Any]], Launch | None]] = {
    "saxpy": _by_blocks("saxpy"),
    "gather": _by_blocks("gather"),
    "Black-Scholes": _by_blocks("black_scholes"),
    "reduce_over_group": _sums,
    "pairwise": _pairwise,
    "stencil": _stencil,
}

_WARP = {
    "saxpy": "saxpy",
    "gather": "gather",
    "pairwise": "pairwise",
    "stencil": "stencil",
    "mandelbrot": "mandelbrot",
    "n-body": "n_body",
    "Black-Scholes": "black_scholes",
}
