"""The kernels of the gallery compile for NVIDIA's GPUs too, and `ptxas` assembles them; no GPU is needed for that.

Each example runs where its arrays are, and what it has compiled is compiled once more.
"""

from __future__ import annotations

import runpy
import subprocess
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import nvidia
import pytest

import kapi_ptx
from kapi_runtime.platform.interface import Platform

EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "gallery").glob("*.py"))
TARGET = kapi_ptx.PtxTarget(80)


@pytest.fixture(scope="module")
def ptxas():
    """The assembler, in the folder that NVIDIA's wheels share."""
    return next(found for folder in nvidia.__path__ for found in Path(folder).glob("*/bin/ptxas"))


@pytest.fixture
def compilations(monkeypatch, tmp_path):
    """Collect the compiled kernels, as function, signature and options; nothing comes from a cache."""
    monkeypatch.setenv("KAPI_CACHE_DIR", str(tmp_path / "cache"))
    noted = []
    compile_ = Platform.compile

    def noting(self, function, signature, target, options):
        noted.append((function, signature, options))
        return compile_(self, function, signature, target, options)

    monkeypatch.setattr(Platform, "compile", noting)
    return noted


@pytest.fixture
def windows(monkeypatch):
    """Draw each shown figure, as a window would: an animation that nobody draws warns when it is deleted."""
    plt.switch_backend("Agg")
    monkeypatch.setattr(plt, "show", lambda: [plt.figure(number).canvas.draw() for number in plt.get_fignums()])
    yield
    plt.close("all")


@pytest.mark.nightly(one_in=3)
@pytest.mark.usefixtures("windows")
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda path: path.stem)
def test_kernels_of_an_example_assemble(example, compilations, ptxas, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the libraries that draw
        runpy.run_path(str(example), run_name="__main__")
    assert compilations
    path = tmp_path / "module.ptx"
    for function, signature, options in compilations:
        module = kapi_ptx.compile_kernel(function, signature, target=TARGET, options=options)
        path.write_bytes(module.code)
        # One at a time: given many, ptxas 13.5 crashes.
        done = subprocess.run(
            [ptxas, "-arch=sm_80", "-O0", "-c", path, "-o", path.with_suffix(".o")],
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert (done.returncode, done.stderr) == (0, ""), f"{module.name}: {done.stdout}{done.stderr}"


def test_gallery_is_not_empty():
    assert len(EXAMPLES) >= 15
