"""Class of each point by its five nearest neighbours: a private list kept sorted, branches that diverge."""

from __future__ import annotations

import math
from typing import Any

import dpnp
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, opencl_columns, wait_for

__all__ = ["build"]

K, CLASSES, DIMENSIONS = 5, 3, 16

OPENCL_C = """
kernel void knn(global const double* restrict train, global const long* restrict labels,
                global const double* restrict test, global long* restrict predicted, const long n) {
    const size_t i = get_global_id(0);
    double nearest[5] = {INFINITY, INFINITY, INFINITY, INFINITY, INFINITY};
    long label[5] = {0, 0, 0, 0, 0};
    for (long j = 0; j < n; j++) {
        double distance = 0.0;
        for (int d = 0; d < 16; d++) {
            const double t = train[j * 16 + d] - test[i * 16 + d];
            distance += t * t;
        }
        long its = labels[j];
        for (int k = 0; k < 5; k++) {
            const int nearer = distance < nearest[k];
            const double kept = nearest[k];
            const long of_kept = label[k];
            nearest[k] = nearer ? distance : kept;
            label[k] = nearer ? its : of_kept;
            distance = nearer ? kept : distance;
            its = nearer ? of_kept : its;
        }
    }
    long votes[3] = {0, 0, 0};
    for (int c = 0; c < 3; c++)
        for (int k = 0; k < 5; k++) votes[c] += label[k] == c;
    long best = 0;
    for (int c = 1; c < 3; c++) best = votes[c] > votes[best] ? c : best;
    predicted[i] = best;
}
"""


@kapi.kernel
def knn(item: kapi.Item, train, labels, test, predicted):
    i = item.get_id(0)
    nearest = kapi.PrivateArray(K, np.float64)
    label = kapi.PrivateArray(K, np.int64)
    for k in range(K):
        nearest[k] = math.inf
        label[k] = 0
    for j in range(train.shape[0]):
        distance = 0.0
        for d in range(DIMENSIONS):
            t = train[j, d] - test[i, d]
            distance += t * t
        its = labels[j]
        for k in range(K):
            kept = nearest[k]
            of_kept = label[k]
            nearer = distance < kept
            nearest[k] = distance if nearer else kept
            label[k] = its if nearer else of_kept
            distance = kept if nearer else distance
            its = of_kept if nearer else its
    best = 0
    most = 0
    for c in range(CLASSES):
        votes = 0
        for k in range(K):
            votes += 1 if label[k] == c else 0
        best = c if votes > most else best
        most = votes if votes > most else most
    predicted[i] = best


@numba.njit(parallel=True)
def knn_numba(train, labels, test, predicted):
    for i in numba.prange(test.shape[0]):
        nearest = np.full(K, np.inf)
        label = np.zeros(K, np.int64)
        for j in range(train.shape[0]):
            distance = 0.0
            for d in range(DIMENSIONS):
                t = train[j, d] - test[i, d]
                distance += t * t
            if distance < nearest[K - 1]:
                k = K - 1
                while k > 0 and distance < nearest[k - 1]:
                    nearest[k] = nearest[k - 1]
                    label[k] = label[k - 1]
                    k -= 1
                nearest[k] = distance
                label[k] = labels[j]
        votes = np.zeros(CLASSES, np.int64)
        for k in range(K):
            votes[label[k]] += 1
        best = 0
        for c in range(1, CLASSES):
            if votes[c] > votes[best]:
                best = c
        predicted[i] = best


def expressions(module, train, labels, test):
    """The same, as array expressions of NumPy or dpnp."""
    differences = train[None, :, :] - test[:, None, :]
    order = module.argsort((differences * differences).sum(axis=2), axis=1)[:, :K]
    chosen = labels[order]
    votes = module.stack([(chosen == c).sum(axis=1) for c in range(CLASSES)], axis=1)
    return module.argmax(votes, axis=1)


def build(scale: float) -> Workload:
    """The workload with 1024 points to class and 1024 to learn from, of 16 dimensions, at scale 1."""
    n = max(64, int(1024 * math.sqrt(scale)) // 64 * 64)
    random = np.random.default_rng(0)
    inputs = [random.random((n, DIMENSIONS)), random.integers(0, CLASSES, n), random.random((n, DIMENSIONS))]
    on_device = [dpnp.asarray(each) for each in inputs]
    kept = {}

    def by_numpy() -> None:
        kept["numpy"] = expressions(np, *inputs)

    def by_dpnp() -> None:
        kept["dpnp"] = wait_for(expressions(dpnp, *on_device))

    def opencl(peer: Peer) -> Column:
        predicted = peer.empty(n, np.int64)
        kernel = peer.kernel("knn", *map(peer.array, inputs), predicted, np.int64(n))
        return Column(lambda: peer.run(kernel, (n,)), lambda: [predicted])

    def in_kapi(xp: Any, kernel: kapi.Kernel) -> Column:
        predicted = xp.empty(n, dtype=np.int64)
        arguments = (*map(xp.asarray, inputs), predicted)
        return Column(Launch(kernel, kapi.Range(n), *arguments).run, lambda: [predicted])

    predicted = np.empty(n, np.int64)
    columns = {
        "NumPy": Column(by_numpy, lambda: [kept["numpy"]]),
        "Numba parallel": Column(lambda: knn_numba(*inputs, predicted), lambda: [predicted]),
        "dpnp": Column(by_dpnp, lambda: [kept["dpnp"]]),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, knn),
    }
    return Workload("knn", f"{n} of {n} points, {DIMENSIONS} float64", columns)
