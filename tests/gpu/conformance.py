"""All conformance cases on CuPy arrays: ``python tests/gpu/conformance.py [--debug] [--part I/N]``.

Prints a line of JSON: how many passed, and each failure by its case's name.
"""

from __future__ import annotations

import argparse
import json
import time
import traceback
from typing import Any

import cupy
import numpy as np
from coarse_ranges import use_coarse_entry_points

import kapi_runtime
from kapi_runtime import Kernel
from kapi_runtime.cuda.platform import CudaPlatform
from kapi_sim.language import KernelOptions
from kapi_sim.testing.conformance import CASES


class CupyArrays:
    """The back end: kernels of kapi_runtime on arrays of CuPy."""

    kapi = kapi_runtime

    def to_device(self, array: np.ndarray[Any, Any]) -> Any:
        return cupy.asarray(array, order="C")

    def to_host(self, array: Any) -> np.ndarray[Any, Any]:
        host: np.ndarray[Any, Any] = cupy.asnumpy(array)
        return host


def run(part: int, parts: int, options: dict[str, Any]) -> dict[str, Any]:
    """Run every `parts`-th case from `part` on."""
    if options:
        made = Kernel.__init__

        def with_options(self: Kernel, function: Any, _options: Any = None, target: Any = None) -> None:
            made(self, function, KernelOptions(**options), target)

        Kernel.__init__ = with_options  # type: ignore[method-assign]  # every kernel of every case
    passed, failed = 0, {}
    start = time.perf_counter()
    for case in CASES[part::parts]:
        try:
            case.run(CupyArrays())
            passed += 1
        except BaseException as error:
            last = traceback.extract_tb(error.__traceback__)[-1]
            failed[case.name] = f"{type(error).__name__}: {str(error)[:600]} [{last.filename}:{last.lineno}]"
    return {"passed": passed, "failed": failed, "seconds": round(time.perf_counter() - start, 1)}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--debug", action="store_true", help="compile checks in")
    parser.add_argument("--without-inlining", action="store_true", help="keep calls of device functions")
    parser.add_argument("--any-launch", action="store_true", help="take nothing for granted of launches")
    parser.add_argument("--coarse", action="store_true", help="let threads run several work-items of any range")
    parser.add_argument("--part", default="0/1", help="I/N: every N-th case from I on")
    given = parser.parse_args()
    part, parts = map(int, given.part.split("/"))
    options: dict[str, Any] = {"debug": True} if given.debug else {}
    if given.without_inlining:
        options["inline"] = "never"
    if given.any_launch:
        CudaPlatform.launch_target = lambda self, device, *_: self.target_of(device)  # type: ignore[method-assign]
    if given.coarse:
        use_coarse_entry_points()
    print(json.dumps(run(part, parts, options)))


if __name__ == "__main__":
    main()
