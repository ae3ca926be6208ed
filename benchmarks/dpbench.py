"""dpbench's numba-dpex programs, run by kapi: kernels, `prange` loops and functions of dpnp arrays.

dpbench is not part of this repository: name a checkout of it (https://github.com/IntelPython/dpbench).

    python benchmarks/dpbench.py PATH [--only kmeans] [--preset S] [--timeout 60] [--json FILE]

Each variant of each program runs in a process of its own: `k` is a kernel, `p` a function with `prange`, `n` one of
whole arrays. The module `numba_dpex` that they import is made of kapi's words here. "Right" is agreement with the
program in NumPy, or in Python where there is none.
"""

from __future__ import annotations

import argparse
import copy
import importlib
import json
import sys
import time
import tomllib
import types
import warnings
from pathlib import Path
from typing import Any

from programs import agree, answer, arguments, fallbacks, finish, line_of

VARIANTS = ("k", "p", "n")


def main() -> None:
    """Run the programs and print the table."""
    options = arguments(__doc__.splitlines()[0], "dpbench", VARIANTS).parse_args()
    if options.worker:
        print(json.dumps(run(options.checkout, *options.worker, options.preset)), flush=True)
        return
    rows = []
    for name in options.only or sorted(each.stem for each in configurations(options.checkout)):
        for variant in (options.variant,) if options.variant else VARIANTS:
            row = in_process(options, name, variant)
            if row is not None:
                rows.append(row)
                print(line_of(row), flush=True)
    states = [each["state"] for each in rows]
    print(f"{len(rows)} variants: {states.count('right')} right")
    finish(options, rows)


def configurations(checkout: Path) -> list[Path]:
    return list((checkout / "dpbench" / "configs" / "bench_info").rglob("*.toml"))


def program(checkout: Path, name: str) -> tuple[dict[str, Any], str, Path]:
    """Dpbench's description of a program, the module of its folder, and the folder."""
    (path,) = [each for each in configurations(checkout) if each.stem == name]
    suite = path.parent.relative_to(checkout / "dpbench" / "configs" / "bench_info").parts
    info: dict[str, Any] = tomllib.loads(path.read_text("utf-8"))["benchmark"]
    parts = ("dpbench", "benchmarks", *(suite or ("default",)), *Path(info["relative_path"]).parts)
    return info, ".".join(parts), checkout.joinpath(*parts)


def in_process(options: argparse.Namespace, name: str, variant: str) -> dict[str, Any] | None:
    """The row of one variant; None if the program has none."""
    info, _, folder = program(options.checkout, name)
    if not (folder / f"{info['module_name']}_numba_dpex_{variant}.py").exists():
        return None
    return {"program": name, "variant": variant, **answer(options, __file__, name, variant, [])}


def run(checkout: Path, name: str, variant: str, preset: str) -> dict[str, Any]:
    """Run one variant over dpnp arrays, and the program that it is compared with."""
    import numpy as np

    import kapi_numba_offload  # before dpnp, so that the driver is found

    import dpnp  # isort: skip

    sys.modules.update(numba_dpex())
    with_older_names(dpnp)
    sys.path.insert(0, str(checkout))
    package = types.ModuleType("dpbench")  # its own needs packages that these programs do not
    package.__path__ = [str(checkout / "dpbench")]
    sys.modules["dpbench"] = package
    info, path, _ = program(checkout, name)
    data: dict[str, Any] = dict(info["parameters"][preset])
    if "init" in info:
        found = _first(path, info["module_name"], ("initialize", None), info["init"]["func_name"])
        words = dict(data)
        if "types_dict_name" in info["init"]:
            words[info["init"]["types_dict_name"]] = {"int": np.dtype("int64"), "float": np.dtype("float64")}
        made = found(*(words[each] for each in info["init"]["input_args"]))
        names = info["init"]["output_args"]
        data.update(
            zip(names, made if isinstance(made, tuple) else (made,), strict=False)
        )  # one makes more than it says
    reference = _first(path, info["module_name"], ("numpy", "python", "numba_n", "numba_npr"), info["func_name"])
    function = _first(path, info["module_name"], (f"numba_dpex_{variant}",), info["func_name"])

    def call(function: Any, on_device: bool) -> tuple[dict[str, Any], float]:
        values = {each: copy.deepcopy(data[each]) for each in info["input_args"]}
        if on_device:
            values.update({each: dpnp.asarray(values[each]) for each in info["array_args"] if each in values})
        start = time.perf_counter()
        returned = function(*values.values())
        for each in values.values():
            if isinstance(each, dpnp.ndarray):
                each.sycl_queue.wait()
        seconds = time.perf_counter() - start
        results = list(returned) if isinstance(returned, (tuple, list)) else [] if returned is None else [returned]
        values.update({f"returned {number}": each for number, each in enumerate(results)})
        return {each: _on_host(value, dpnp) for each, value in values.items()}, seconds

    expected, numpy_s = call(reference, False)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        found, first_s = call(function, True)
        seconds = min(call(function, True)[1] for _ in range(3))
    compared = [each for each in info.get("output_args", ()) if each in found]
    compared += [each for each in expected if each.startswith("returned") and each in found]
    wrong = [each for each in compared if not agree(found[each], expected[each])]
    if name == "pca":  # as dpbench has it: eigenvectors have either sign
        wrong = [each for each in wrong if not agree(np.abs(found[each]), np.abs(expected[each]))]
    causes = fallbacks(warned)
    assert kapi_numba_offload.is_registered()
    return {
        "state": "wrong" if wrong or not compared else "right",
        "where": "host" if causes else "device",
        "cause": ", ".join([*(f"`{each}` differs" for each in wrong), *([causes] if causes else [])]),
        "first_s": first_s,
        "seconds": seconds,
        "numpy_s": numpy_s,
    }


def _first(path: str, module: str, suffixes: tuple[str | None, ...], name: str) -> Any:
    """The function of that name in the first of the program's modules that there is."""
    for suffix in suffixes:
        try:
            return getattr(importlib.import_module(f"{path}.{module}_{suffix}" if suffix else f"{path}.{module}"), name)
        except ModuleNotFoundError as error:
            if not (error.name or "").startswith(path):
                raise
    raise ModuleNotFoundError(f"{path} has none of {suffixes}")


def _on_host(value: Any, dpnp: Any) -> Any:
    return value.asnumpy() if isinstance(value, dpnp.ndarray) else value


def with_older_names(dpnp: Any) -> None:
    """Let the programs find what dpnp and dpctl have under other names by now."""
    import dpctl

    sys.modules["dpctl.tensor"] = dpctl.tensor = dpnp.tensor
    if not hasattr(dpnp, "erf"):
        dpnp.erf = dpnp.scipy.special.erf


def numba_dpex() -> dict[str, types.ModuleType]:
    """The modules that the programs import, made of kapi's words."""
    import numba

    import kapi_runtime

    made, words = types.ModuleType("numba_dpex"), types.ModuleType("numba_dpex.kernel_api")
    for each in kapi_runtime.__all__:
        setattr(words, each, getattr(kapi_runtime, each))
    made.kernel, made.call_kernel = kapi_runtime.kernel, kapi_runtime.call_kernel  # type: ignore[attr-defined]
    made.Range, made.NdRange = kapi_runtime.Range, kapi_runtime.NdRange  # type: ignore[attr-defined]
    made.dpjit, made.kernel_api = numba.njit, words  # type: ignore[attr-defined]
    return {"numba_dpex": made, "numba_dpex.kernel_api": words}


if __name__ == "__main__":
    main()
