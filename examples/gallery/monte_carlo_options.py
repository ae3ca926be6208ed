"""
Price of an Asian option by Monte Carlo
=======================================

The value of an option that pays on the mean of a price has no closed form. Each work-item follows its own paths, with
its own random numbers. They are a function of a seed and a counter, and need no memory. Each group adds up its
results, and one of its work-items writes them.
"""

import math

import matplotlib.pyplot as plt
import numpy as np

import kapi_runtime as kapi

WIDTH, GROUPS, PATHS, MONTHS, SEED = 64, 64, 16, 12, 2026
SPOT, STRIKE, RATE, VOLATILITY = 100.0, 105.0, 0.05, 0.3


# %%
# Each path is a stream of the seed, and each month a counter. Every device draws the same numbers for a path.


@kapi.kernel
def value(item: kapi.NdItem, sums, squares):
    group = item.get_group()
    first = item.get_global_id(0) * PATHS
    month = 1.0 / MONTHS
    drift = (RATE - 0.5 * VOLATILITY * VOLATILITY) * month
    total = 0.0
    square = 0.0
    for path in range(PATHS):
        price = SPOT
        mean = 0.0
        for k in range(MONTHS):
            shock = kapi.random.normal(SEED, k, first + path, np.float64)
            price *= math.exp(drift + VOLATILITY * math.sqrt(month) * shock)
            mean += price
        worth = math.exp(-RATE) * max(mean / MONTHS - STRIKE, 0.0)
        total += worth
        square += worth * worth
    total = kapi.reduce_over_group(group, total, kapi.plus)
    square = kapi.reduce_over_group(group, square, kapi.plus)
    if group.leader:
        sums[group.get_group_id(0)] = total
        squares[group.get_group_id(0)] = square


sums, squares = np.empty(GROUPS), np.empty(GROUPS)
kapi.call_kernel(value, kapi.NdRange(WIDTH * GROUPS, WIDTH), sums, squares)
count = WIDTH * GROUPS * PATHS
estimate = float(sums.sum()) / count
error = math.sqrt((float(squares.sum()) / count - estimate**2) / count)
print(f"{estimate:.3f} +- {error:.3f} from {count} paths")

# %%
# The same functions on the host give the same numbers, to the last bit.

shocks = np.array(
    [[kapi.random.normal(SEED, k, path, np.float64) for k in range(MONTHS)] for path in range(WIDTH * PATHS)]
)
steps = (RATE - VOLATILITY**2 / 2) / MONTHS + VOLATILITY * math.sqrt(1 / MONTHS) * shocks
means = (SPOT * np.exp(np.cumsum(steps, axis=1))).mean(axis=1)
worths = math.exp(-RATE) * np.maximum(means - STRIKE, 0.0)
np.testing.assert_allclose(worths.sum(), float(sums[0]), rtol=1e-12)

# %%
# NumPy's own generator, by the same model, agrees within the errors.

normals = np.random.default_rng(11).standard_normal((200_000, MONTHS))
steps = (RATE - VOLATILITY**2 / 2) / MONTHS + VOLATILITY * math.sqrt(1 / MONTHS) * normals
means = (SPOT * np.exp(np.cumsum(steps, axis=1))).mean(axis=1)
worths = math.exp(-RATE) * np.maximum(means - STRIKE, 0.0)
assert abs(estimate - worths.mean()) < 4 * math.hypot(error, worths.std() / math.sqrt(len(worths)))

running = np.cumsum(sums) / (np.arange(1, GROUPS + 1) * WIDTH * PATHS)
figure, axes = plt.subplots(figsize=(6.4, 3.2))
axes.plot(np.arange(1, GROUPS + 1) * WIDTH * PATHS, running, color="#33658a")
axes.axhspan(estimate - error, estimate + error, color="#86bbd8", alpha=0.4)
axes.set(xlabel="paths", ylabel="value of the option")
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()
