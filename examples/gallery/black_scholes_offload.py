"""
Option prices by Black and Scholes, without a kernel
====================================================

Ordinary ``numba.njit`` code over arrays on a device runs there. With kapi-numba-offload installed, the loop below
becomes a kernel.
"""

import math

import dpnp
import matplotlib.pyplot as plt
import numba
import numpy as np
import scipy.special

import kapi_numba_offload  # noqa: F401  (points the loader to the device driver before dpnp asks for devices)


@numba.njit
def call_values(price, strike, years, rate, volatility, value):
    for i in numba.prange(price.shape[0]):
        spread = volatility * math.sqrt(years[i])
        d1 = (math.log(price[i] / strike[i]) + (rate + 0.5 * volatility * volatility) * years[i]) / spread
        d2 = d1 - spread
        above = 0.5 + 0.5 * math.erf(d1 * math.sqrt(0.5))
        reached = 0.5 + 0.5 * math.erf(d2 * math.sqrt(0.5))
        value[i] = price[i] * above - strike[i] * math.exp(-rate * years[i]) * reached


# %%
# With NumPy arrays, Numba compiles the same function for the host.

n = 20_000
random = np.random.default_rng(0)
price, strike, years = random.uniform(20, 180, n), np.full(n, 100.0), random.uniform(0.1, 2.0, n)
on_host, on_device = np.empty(n), dpnp.empty(n)
call_values(price, strike, years, 0.05, 0.3, on_host)
call_values(dpnp.asarray(price), dpnp.asarray(strike), dpnp.asarray(years), 0.05, 0.3, on_device)

spread = 0.3 * np.sqrt(years)
d1 = (np.log(price / strike) + (0.05 + 0.045) * years) / spread
expected = price * scipy.special.ndtr(d1) - strike * np.exp(-0.05 * years) * scipy.special.ndtr(d1 - spread)
np.testing.assert_allclose(on_host, expected, atol=1e-9)
np.testing.assert_allclose(on_device.asnumpy(), expected, atol=1e-9)

figure, axes = plt.subplots(figsize=(6.4, 3.6))
points = axes.scatter(price, on_device.asnumpy(), s=1, c=years, cmap="viridis")
figure.colorbar(points, label="years left")
axes.plot([20, 100, 180], [0, 0, 80], color="#f26419", label="at the end")
axes.set(xlabel="price of the share", ylabel="value of the option to buy at 100")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()
