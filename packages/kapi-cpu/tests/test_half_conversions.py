"""Conversions to and from float16 are NumPy's, with the processor's instructions and without."""

from dataclasses import replace

import numpy as np
import pytest
from cpu_backend import Cpu

import kapi_sim as kapi
from kapi_cpu import host_target

FEATURES = {"host": {}, "sse4.2": {"cpu": "generic", "features": "+sse4.2,+ssse3,+popcnt,+cx16"}}
HALVES = np.arange(1 << 16, dtype=np.uint16).view(np.float16)


def convert(item: kapi.Item, x, out):
    i = item.get_id(0)
    out[i] = out.dtype.type(x[i])


def near_halves(dtype):
    """Halves, the middles between them, and what is next to either."""
    finite = HALVES[np.isfinite(HALVES)].astype(np.float64)
    middles = (finite[:-1] + finite[1:]) / 2
    numbers = np.concatenate((finite, middles, [65519.9, 65520, 65520.1, 1e30, 2.0**-25, 2.0**-26, 1e-300]))
    numbers = np.concatenate((numbers, -numbers, [np.inf, -np.inf, np.nan])).astype(dtype)
    with np.errstate(all="ignore"):
        return np.concatenate([numbers, np.nextafter(numbers, dtype(np.inf)), np.nextafter(numbers, dtype(-np.inf))])


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("lanes", [0, 1])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_float16_is_rounded_to_the_nearest(dtype, lanes, features):
    x = near_halves(dtype)
    out = np.zeros(x.shape, np.float16)
    target = replace(host_target(), lanes=lanes, **FEATURES[features])
    Cpu(target).call(kapi.kernel(convert), kapi.Range(x.size), x, out)
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, x.astype(np.float16))
    np.testing.assert_array_equal(np.signbit(out[~np.isnan(x)]), np.signbit(x[~np.isnan(x)]))


@pytest.mark.parametrize("features", FEATURES)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_every_float16_is_widened_exactly(dtype, features):
    out = np.zeros(HALVES.shape, dtype)
    Cpu(replace(host_target(), **FEATURES[features])).call(kapi.kernel(convert), kapi.Range(HALVES.size), HALVES, out)
    np.testing.assert_array_equal(out, HALVES.astype(dtype))
