"""
Edit distances of words
=======================

How many letters must you insert, delete or exchange to turn one word into another? A table answers it. Each cell
needs three neighbours above and to the left, so the cells of one *diagonal* are independent. A work-group owns a pair
of words. Its work-items walk the diagonals together, with a barrier after each.
"""

import matplotlib.pyplot as plt
import numpy as np

import kapi_runtime as kapi

WIDTH = 16  # work-items of a group; words have less letters than that


@kapi.kernel(work_group_size=WIDTH)
def edit_distance(item: kapi.NdItem, letters, lengths, distance, table):
    group = item.get_group()
    pair = group.get_group_id(0)
    left, right = pair // lengths.shape[0], pair % lengths.shape[0]
    rows, columns = lengths[left] + 1, lengths[right] + 1
    i = item.get_local_id(0)
    for diagonal in range(rows + columns - 1):
        j = diagonal - i
        if i < rows and 0 <= j and j < columns:
            if i == 0 or j == 0:
                table[i, j] = i + j
            else:
                differs = 0 if letters[left, i - 1] == letters[right, j - 1] else 1
                table[i, j] = min(table[i - 1, j] + 1, table[i, j - 1] + 1, table[i - 1, j - 1] + differs)
        kapi.group_barrier(group)
    if group.leader:
        distance[left, right] = table[rows - 1, columns - 1]


# %%
# Words become rows of a matrix. One launch handles all pairs, with one group for each pair.

words = """
    kernel kennel channel chancel cancel camel caramel barrel barrier carrier courier
    queue query quarry quarrel squirrel event evening driver diver river rival vial
""".split()
lengths = np.asarray([len(word) for word in words])
letters = np.zeros((len(words), WIDTH), np.uint8)
for row, word in zip(letters, words, strict=True):
    row[: len(word)] = np.frombuffer(word.encode(), np.uint8)
assert lengths.max() < WIDTH

n = len(words)
distance = np.empty((n, n), np.int32)
arguments = letters, lengths, distance, kapi.LocalAccessor((WIDTH, WIDTH), np.int32)
kapi.call_kernel(edit_distance, kapi.NdRange(n * n * WIDTH, WIDTH), *arguments)
found = distance

# %%
# The reference is the table, filled in by rows, in plain Python.


def reference(a, b):
    above = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        row = [i]
        for j, y in enumerate(b, 1):
            row.append(min(above[j] + 1, row[j - 1] + 1, above[j - 1] + (x != y)))
        above = row
    return above[-1]


np.testing.assert_array_equal(found, [[reference(a, b) for b in words] for a in words])
print("from kernel to", ", ".join(f"{word} {count}" for word, count in zip(words[1:6], found[0, 1:6], strict=True)))

figure, axes = plt.subplots(figsize=(6.4, 5.6))
image = axes.imshow(found, cmap="viridis_r")
axes.set_xticks(range(n), words, rotation=90)
axes.set_yticks(range(n), words)
figure.colorbar(image, label="edits")
figure.tight_layout()
plt.show()
