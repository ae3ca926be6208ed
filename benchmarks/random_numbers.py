"""Random numbers: kapi's counter-based ones against NumPy's `Generator`, stored and used at once; run by itself.

``python benchmarks/random_numbers.py --count 16777216`` prints nanoseconds for each number.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import dpctl
import dpnp
import numpy as np
from timing import interleaved

import kapi_runtime as kapi
import kapi_sim

__all__ = ["main"]

_EACH = 64
"""Points of one work-item, where nothing is stored."""


def _kernels(module: Any) -> dict[str, Any]:
    @module.kernel
    def uniform(item: module.Item, out):
        i = item.get_id(0)
        out[i] = module.random.uniform(7, i, dtype=out.dtype)

    @module.kernel
    def normal(item: module.Item, out):
        i = item.get_id(0)
        out[i] = module.random.normal(7, i, dtype=out.dtype)

    @module.kernel
    def integers(item: module.Item, out):
        i = item.get_id(0)
        out[i] = module.random.randint(7, i, 0, 1000)

    @module.kernel
    def inside(item: module.Item, out):
        i = item.get_id(0)
        found = 0
        for k in range(_EACH):
            a, b, _, _ = module.random.philox(7, k, i)
            x, y = np.float32(a >> 8) * np.float32(2**-24), np.float32(b >> 8) * np.float32(2**-24)
            found += x * x + y * y < 1
        out[i] = found

    return {"uniform": uniform, "normal": normal, "integers": integers, "inside": inside}


def _per_number(candidates: dict[str, Any], count: int, rounds: int) -> dict[str, float]:
    return {name: timing.median / count * 1e9 for name, timing in interleaved(candidates, rounds).items()}


def _rows(count: int, rounds: int) -> list[tuple[str, dict[str, float]]]:
    kernels = _kernels(kapi)
    generators = {name: np.random.Generator(getattr(np.random, name)(7)) for name in ("PCG64", "SFC64", "Philox")}
    rows = []
    for title, dtype in (("uniform", "float32"), ("uniform", "float64"), ("normal", "float32"), ("normal", "float64")):
        device, host = dpnp.empty(count, dtype=dtype), np.empty(count, dtype)
        method = "random" if title == "uniform" else "standard_normal"
        candidates = {"kapi": lambda k=kernels[title], a=device: kapi.call_kernel(k, kapi.Range(count), a)}
        for name, generator in generators.items():
            candidates[name] = lambda g=generator, m=method, h=host, t=dtype: getattr(g, m)(out=h, dtype=t)
        rows.append((f"{title}, {dtype}", _per_number(candidates, count, rounds)))
    drawn, host = dpnp.empty(count, dtype=np.int64), np.empty(count, np.int64)
    candidates = {"kapi": lambda: kapi.call_kernel(kernels["integers"], kapi.Range(count), drawn)}
    for name, generator in generators.items():
        candidates[name] = lambda g=generator: g.integers(0, 1000, count)
    rows.append(("integers below 1000, int64", _per_number(candidates, count, rounds)))
    found = dpnp.empty(count // _EACH, dtype=np.int32)

    def counted(generator: np.random.Generator) -> int:
        x, y = generator.random((2, count), np.float32)
        return int(np.count_nonzero(x * x + y * y < 1))

    candidates = {"kapi": lambda: kapi.call_kernel(kernels["inside"], kapi.Range(count // _EACH), found)}
    for name, generator in generators.items():
        candidates[name] = lambda g=generator: counted(g)
    rows.append(("points in a circle, float32", _per_number(candidates, count, rounds)))
    return rows


def _simulated(count: int = 2000) -> dict[str, float]:
    """Microseconds for each number in the simulator, all checks on."""
    found = {}
    for name, kernel in _kernels(kapi_sim).items():
        out = np.zeros(
            count if name != "inside" else count // _EACH, np.int64 if name in ("integers", "inside") else "f4"
        )
        kapi_sim.call_kernel(kernel, kapi_sim.Range(out.size), out)
        start = time.process_time()
        kapi_sim.call_kernel(kernel, kapi_sim.Range(out.size), out)
        found[name] = (time.process_time() - start) / count * 1e6
    return found


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1 << 24)
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    print(f"{dpctl.select_default_device().name}; nanoseconds a number, medians")
    for title, cells in _rows(given.count, given.rounds):
        print(f"  {title:28}" + "  ".join(f"{name} {value:.2f}" for name, value in cells.items()))
    print("  simulator, us a number: " + "  ".join(f"{name} {value:.1f}" for name, value in _simulated().items()))


if __name__ == "__main__":
    main()
