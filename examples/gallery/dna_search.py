"""
Approximate search for a gene
=============================

The program compares a short sequence with every place of a long one, and reports the places with few differences.
Each work-item takes one place. Work-items that find something draw a ticket from an atomic counter.
"""

import matplotlib.pyplot as plt
import numpy as np

import kapi_runtime as kapi


@kapi.kernel
def search(item: kapi.Item, genome, gene, most, differences, found, count):
    start = item.get_id(0)
    different = 0
    for k in range(gene.shape[0]):
        if genome[start + k] != gene[k]:
            different += 1
    differences[start] = different
    if different <= most:
        slot = kapi.AtomicRef(count, 0).fetch_add(1)
        if slot < found.shape[0]:
            found[slot] = start


# %%
# The genome is made up. The gene is planted in five places, and mutated a little in each.

random = np.random.default_rng(4)
letters = np.frombuffer(b"ACGT", np.uint8)
genome = letters[random.integers(0, 4, 200_000)]
gene = letters[random.integers(0, 4, 48)]
planted = np.sort(random.choice(len(genome) - len(gene), 5, replace=False))
for mutations, place in enumerate(planted):
    copy = gene.copy()
    copy[random.choice(len(gene), mutations, replace=False)] = ord("N")
    genome[place : place + len(gene)] = copy

places = len(genome) - len(gene) + 1
differences = np.empty(places, np.int32)
found, count = np.zeros(64, np.int64), np.zeros(1, np.int32)
arguments = genome, gene, 8, differences, found, count
kapi.call_kernel(search, kapi.Range(places), *arguments)

# %%
# The order of the tickets is not fixed, so the results are sorted before they are compared.

hits = np.sort(found[: int(count[0])])
windows = np.lib.stride_tricks.sliding_window_view(genome, len(gene))
expected = (windows != gene).sum(axis=1)
np.testing.assert_array_equal(differences, expected)
np.testing.assert_array_equal(hits, np.flatnonzero(expected <= 8))
np.testing.assert_array_equal(hits, planted)
print("found at", *hits)

figure, axes = plt.subplots(figsize=(6.4, 3))
axes.hist(expected, bins=np.arange(50) - 0.5, color="#86bbd8", log=True)
axes.plot(expected[hits], np.ones(len(hits)), "v", color="#f26419", label="the planted ones")
axes.set(xlabel="letters that differ", ylabel="places")
axes.legend(frameon=False)
axes.spines[["top", "right"]].set_visible(False)
figure.tight_layout()
plt.show()
