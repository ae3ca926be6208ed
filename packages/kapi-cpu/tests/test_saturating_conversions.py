"""Conversions of floats to integers at their limits, in vectors as in scalar code: saturated, and 0 of nan."""

from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import Cpu

import kapi_sim as kapi
from kapi_cpu import host_target


def converting(dtype):
    convert = getattr(np, dtype)

    def kernel(item: kapi.Item, x, out):
        i = item.get_id(0)
        out[i] = convert(x[i])

    return kernel


@np.errstate(over="ignore")  # float16 has infinity for most of them
def numbers(source):
    powers = 2.0 ** np.array([0, 7, 8, 15, 16, 31, 32, 63, 64, 100], source)
    near = np.concatenate([powers, np.nextafter(powers, source(0)), np.nextafter(powers, source(np.inf)), powers - 1])
    rest = np.array([0.0, 0.4, 0.99, 1.5, 126.7, 127.3, 128.6, 255.5, 255.99, np.inf, 1e30], source)
    some = np.concatenate([near, rest])
    return np.concatenate([some, -some, [np.nan]]).astype(source)


def saturated(value, dtype):
    info = np.iinfo(dtype)
    return (
        0
        if np.isnan(value)
        else int(min(max(value, info.min), info.max))
        if np.isfinite(value)
        else (info.max if value > 0 else info.min)
    )


@pytest.mark.parametrize("lanes", [0, 4, 1])
@pytest.mark.parametrize("source", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_conversions_saturate(dtype, source, lanes):
    x = numbers(source)
    out = np.zeros(x.size, dtype)
    Cpu(replace(host_target(), lanes=lanes)).call(kapi.kernel(converting(dtype)), kapi.Range(x.size), x, out)
    assert out.tolist() == [saturated(float(value), dtype) for value in x]
