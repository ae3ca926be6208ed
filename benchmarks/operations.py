"""Cost of each operator, function and conversion against OpenCL C's, in loops over memory that is in cache.

    python benchmarks/operations.py [word of a name]...

Times are processor time, least and median of interleaved rounds, a work-item's operation each; ratios above 1 mean that
kapi is faster. For conversions there are two peers: the plain cast, and the one that saturates as kapi does.
"""

from __future__ import annotations

import linecache
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from opencl_peer import Peer, share_driver_with_pyopencl

share_driver_with_pyopencl()

import dpnp  # noqa: E402
import numpy as np  # noqa: E402

import kapi_runtime as kapi  # noqa: E402
from kapi_sim.errors import KapiError  # noqa: E402

ITERATIONS, WIDTH, GROUPS, ROUNDS = 256, 64, 256, 15
NAMES = {
    "int8": "char", "uint8": "uchar", "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint",
    "int64": "long", "uint64": "ulong", "float32": "float", "float64": "double",
}  # fmt: skip
INTEGERS, FLOATS = [each for each in NAMES if "int" in each], ["float32", "float64"]
OPERATORS = {
    "{x} + {y}": "{x} + {y}", "{x} - {y}": "{x} - {y}", "{x} * {y}": "{x} * {y}", "min({x}, {y})": "min({x}, {y})",
    "max({x}, {y})": "max({x}, {y})", "abs({x})": "abs({x})", "{x} < {y}": "{x} < {y}",
}  # fmt: skip
OF_INTEGERS = {
    "{x} & {y}": "{x} & {y}", "{x} ^ {y}": "{x} ^ {y}", "~{x}": "~{x}", "{x} << 3": "{x} << 3", "{x} >> 3": "{x} >> 3",
    "{x} << ({y} & 7)": "{x} << ({y} & 7)",
    "{x} // {y}": "{x} / {y} - (({x} % {y} != 0) && (({x} < 0) != ({y} < 0)))",
    "{x} % {y}": "{x} % {y} + ((({x} % {y} != 0) && (({x} < 0) != ({y} < 0))) ? {y} : ({y} - {y}))",
    "{x} // 7": "{x} / 7 - ({x} % 7 < 0)",
}  # fmt: skip
OF_FLOATS = {
    "{x} / {y}": "{x} / {y}", "{x} // {y}": "floor(({x} - fmod({x}, {y})) / {y})", "{x} % {y}": "fmod({x}, {y})",
    **{f"math.{name}({{x}})": f"{name}({{x}})" for name in (
        "sqrt exp exp2 expm1 log log2 log10 log1p sin cos tan asin acos atan sinh cosh tanh asinh acosh atanh "
        "fabs cbrt erf erfc"
    ).split()},
    "math.gamma({x})": "tgamma({x})", "math.lgamma({x})": "lgamma({x})",
    "math.floor({x})": "convert_long_sat(floor({x}))", "math.trunc({x})": "convert_long_sat({x})",
    "round({x})": "convert_long_sat(rint({x}))",
    "{x} ** {y}": "pow({x}, {y})", "{x} ** 2": "{x} * {x}", "math.atan2({x}, {y})": "atan2({x}, {y})",
    "math.hypot({x}, {y})": "hypot({x}, {y})", "math.fmod({x}, {y})": "fmod({x}, {y})",
    "math.copysign({x}, {y})": "copysign({x}, {y})", "np.maximum({x}, {y})": "isnan({x}) ? {x} : {x} > {y} ? {x} : {y}",
    "np.rint({x})": "rint({x})", "np.floor({x})": "floor({x})", "np.sign({x})": "sign({x})",
}  # fmt: skip


def candidates() -> Iterator[tuple[str, str, str, str, list[str]]]:
    """Name, type of the operands, type of the sum, and the expressions of kapi and of each peer."""
    for source in FLOATS:
        for target in INTEGERS:
            word = NAMES[target]
            peers = [f"({word})x", f"convert_{word}_sat(x)"]
            yield f"{source} to {target}", source, target, f"np.{target}(x)", peers
    for source in INTEGERS:
        for target in FLOATS:
            yield f"{source} to {target}", source, target, f"np.{target}(x)", [f"({NAMES[target]})x"]
    for types, table in ((INTEGERS, OPERATORS | OF_INTEGERS), (FLOATS, OPERATORS | OF_FLOATS)):
        for type_ in types:
            for ours, theirs in table.items():
                if type_ in FLOATS:
                    theirs = theirs.replace("abs(", "fabs(").replace("ffabs(", "fabs(")
                else:
                    theirs = f"({NAMES[type_]})({theirs})" if "<" not in ours.replace("<<", "") else theirs
                total = "int64" if "convert_long" in theirs or " < " in ours else type_
                yield (
                    f"{ours}, {type_}".replace("{", "").replace("}", ""),
                    type_,
                    total,
                    ours.format(x="x", y="y"),
                    [theirs.format(x="x", y="y")],
                )


def kernel_of(expression: str, total: str) -> kapi.Kernel:
    """A kernel that adds up an expression of the elements x and y."""
    text = f"""
def each(item, xs, ys, out):
    lane = item.get_local_id(0)
    total = np.{total}(0)
    for k in range({ITERATIONS}):
        x = xs[k * {WIDTH} + lane]
        y = ys[k * {WIDTH} + lane]
        total += np.{total}({expression})
    out[item.get_global_id(0)] = total
"""
    name = f"<{expression}, {total}>"
    linecache.cache[name] = (len(text), None, text.splitlines(keepends=True), name)
    namespace: dict[str, Any] = {"np": np, "math": __import__("math")}
    exec(compile(text, name, "exec"), namespace)
    return kapi.kernel(namespace["each"])


def source_of(source: str, total: str, expressions: list[str]) -> str:
    """The same in OpenCL C, a kernel for each expression."""
    return "".join(
        f"""
kernel void each{number}(global const {NAMES[source]}* restrict xs, global const {NAMES[source]}* restrict ys,
                         global {NAMES[total]}* restrict out) {{
    const size_t lane = get_local_id(0);
    {NAMES[total]} total = 0;
    for (int k = 0; k < {ITERATIONS}; k++) {{
        const {NAMES[source]} x = xs[k * {WIDTH} + lane], y = ys[k * {WIDTH} + lane];
        total += ({NAMES[total]})({expression});
    }}
    out[get_global_id(0)] = total;
}}
"""
        for number, expression in enumerate(expressions)
    )


def times(runs: list[Callable[[], object]]) -> list[tuple[float, float]]:
    """Least and median processor time of each in ns, of one operation."""
    taken: list[list[float]] = [[] for _ in runs]
    for run in runs:
        run()
    for _ in range(ROUNDS):
        for run, each in zip(runs, taken, strict=True):
            run()  # the first call after another library's is not timed
            start = time.process_time()
            run()
            each.append((time.process_time() - start) / (ITERATIONS * WIDTH * GROUPS) * 1e9)
    return [(min(each), statistics.median(each)) for each in taken]


def measured(source: str, total: str, expression: str, peers: list[str], most: int, offset: float) -> list[Any]:
    """Times of kapi and of each peer, whose results are compared."""
    random = np.random.default_rng(0)
    xs, ys = ((random.random(ITERATIONS * WIDTH) * (most - 1) + 1).astype(source) for _ in range(2))
    xs = (xs - offset).astype(source)
    peer, space = Peer(source_of(source, total, peers), contract=False), kapi.NdRange(WIDTH * GROUPS, WIDTH)
    outs = [peer.empty(WIDTH * GROUPS, total) for _ in peers]
    given = [peer.array(each) for each in (xs, ys)]
    kernels = [peer.kernel(f"each{number}", *given, out) for number, out in enumerate(outs)]
    out = dpnp.empty(WIDTH * GROUPS, dtype=total)
    bound = kernel_of(expression, total).bind(space, *map(dpnp.asarray, (xs, ys)), out)
    runs = [partial(peer.run, kernel, (WIDTH * GROUPS,), (WIDTH,)) for kernel in kernels]
    found = times([lambda: bound()[0].wait(), *runs])
    np.testing.assert_allclose(out.asnumpy(), outs[-1].get(), rtol=1e-4, err_msg=expression)
    return found


def main() -> None:
    """Print a line for each candidate."""
    words = sys.argv[1:]
    for name, source, total, expression, peers in candidates():
        if words and not any(word in name for word in words):
            continue
        # Between 1 and 2 or 1 and 100: inside of what each function is defined for, and no divisor is zero.
        most = 100 if source in INTEGERS or " to " in name else 2
        offset = 1.0 if name.startswith("math.a") and "acosh" not in name else 0.0
        try:
            ours, *theirs = measured(source, total, expression, peers, most, offset)
        except (AssertionError, KapiError) as error:
            print(f"{name:34} not compared: {str(error).strip().splitlines()[0]}")
            continue
        ratios = "".join(f"{least / ours[0]:8.2f}{median / ours[1]:8.2f}" for least, median in theirs)
        print(f"{name:34}{ours[0]:8.3f} ns{ratios}", flush=True)


if __name__ == "__main__":
    main()
