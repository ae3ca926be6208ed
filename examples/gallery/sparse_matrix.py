"""
PageRank by sparse matrix times vector
======================================

PageRank multiplies a vector by the same sparse matrix over and over. The matrix is in compressed rows, and each
work-item sums one row. So the lengths of the rows decide how evenly the work is spread.
"""

import matplotlib.pyplot as plt
import numpy as np
import scipy.sparse

import kapi_runtime as kapi


@kapi.kernel
def damped_product(item: kapi.Item, data, indices, starts, ranks, damping, result):
    row = item.get_id(0)
    total = data.dtype.type(0.0)
    for k in range(starts[row], starts[row + 1]):
        total += data[k] * ranks[indices[k]]
    result[row] = damping * total + (1 - damping) / ranks.shape[0]


# %%
# In this web, well-known pages get more links.

n, links = 5000, 12
random = np.random.default_rng(5)
targets = (n * random.power(0.3, (n, links))).astype(np.int64) % n
sources = np.repeat(np.arange(n), links)
web = scipy.sparse.coo_array((np.full(n * links, 1.0 / links), (targets.ravel(), sources)), shape=(n, n)).tocsr()

matrix = web.data, web.indices, web.indptr
ranks, following = np.full(n, 1.0 / n), np.empty(n)
for _ in range(60):
    kapi.call_kernel(damped_product, kapi.Range(n), *matrix, ranks, 0.85, following)
    ranks, following = following, ranks

# %%
# SciPy multiplies by the same matrix, equally often.

expected = np.full(n, 1.0 / n)
for _ in range(60):
    expected = 0.85 * (web @ expected) + 0.15 / n
np.testing.assert_allclose(ranks, expected, rtol=1e-10)

found = ranks
figure, axes = plt.subplots(figsize=(6, 3.6))
axes.loglog(np.bincount(targets.ravel(), minlength=n) + 1, found, ".", markersize=3, color="#33658a")
axes.set(xlabel="links to the page, and one", ylabel="its rank")
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()
