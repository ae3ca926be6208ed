"""
Handwritten digits by nearest neighbours
========================================

Which digit does an image show? The program takes the most similar image of a known digit. Each work-item compares one
unknown digit with all known ones, and keeps the best.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier

import kapi_runtime as kapi


@kapi.kernel
def classify(item: kapi.Item, known, classes, unknown, predicted):
    i = item.get_id(0)
    least = known.dtype.type(1e30)
    nearest = 0
    for j in range(known.shape[0]):
        distance = known.dtype.type(0.0)
        for k in range(known.shape[1]):
            t = known[j, k] - unknown[k, i]
            distance += t * t
        if distance < least:
            least = distance
            nearest = j
    predicted[i] = classes[nearest]


# %%
# The unknown digits are transposed. So neighbouring work-items read neighbouring elements in every step of the loop,
# and memory is fast.

digits = load_digits()
pixels, classes = digits.data.astype(np.float32), digits.target
known, unknown = slice(0, 1200), slice(1200, None)
transposed = np.ascontiguousarray(pixels[unknown].T)
predicted = np.empty(len(classes) - 1200, classes.dtype)
kapi.call_kernel(classify, kapi.Range(predicted.size), pixels[known], classes[known], transposed, predicted)

# %%
# scikit-learn finds the same, with the same mistakes.

reference = KNeighborsClassifier(n_neighbors=1).fit(pixels[known], classes[known])
np.testing.assert_array_equal(predicted, reference.predict(pixels[unknown]))
wrong = np.flatnonzero(predicted != classes[unknown])
print(f"{1 - len(wrong) / predicted.size:.1%} right; these are wrong:")

figure, panels = plt.subplots(2, 8, figsize=(9, 2.6))
for axes, k in zip(panels.flat, wrong, strict=False):
    axes.imshow(pixels[1200 + k].reshape(8, 8), cmap="gray_r")
    axes.set_title(f"{classes[1200 + k]}, not {predicted[k]}", fontsize=8)
for axes in panels.flat:
    axes.set_axis_off()
figure.tight_layout()
plt.show()
