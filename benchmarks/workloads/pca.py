"""Principal components: covariance and projection on the device, eigenvectors by LAPACK on the host in all columns."""

from __future__ import annotations

from typing import Any

import dpnp
import numba
import numpy as np
from opencl_peer import Peer

import kapi_runtime as kapi
from workloads import Column, Launch, Workload, kapi_columns, on_host, opencl_columns, wait_for

__all__ = ["build"]

DIMENSIONS = 128

OPENCL_C = """
kernel void centre(global const double* restrict data, global double* restrict centred, const long n) {
    const size_t j = get_global_id(0), dims = get_global_size(0);
    double sum = 0.0;
    for (long i = 0; i < n; i++) sum += data[i * dims + j];
    const double mean = sum / n;
    for (long i = 0; i < n; i++) centred[i * dims + j] = data[i * dims + j] - mean;
}

kernel void covariance(global const double* restrict centred, global double* restrict result, const long n) {
    const size_t k = get_global_id(0), j = get_global_id(1), dims = get_global_size(0);
    double sum = 0.0;
    for (long i = 0; i < n; i++) sum += centred[i * dims + j] * centred[i * dims + k];
    result[j * dims + k] = sum / (n - 1);
}

kernel void project(global const double* restrict centred, global const double* restrict vectors,
                    global double* restrict result) {
    const size_t k = get_global_id(0), i = get_global_id(1), dims = get_global_size(0);
    double sum = 0.0;
    for (size_t j = 0; j < dims; j++) sum += centred[i * dims + j] * vectors[j * dims + k];
    result[i * dims + k] = sum;
}
"""


@kapi.kernel
def centre(item: kapi.Item, data, centred):
    j = item.get_id(0)
    total = 0.0
    for i in range(data.shape[0]):
        total += data[i, j]
    mean = total / data.shape[0]
    for i in range(data.shape[0]):
        centred[i, j] = data[i, j] - mean


@kapi.kernel
def covariance(item: kapi.Item, centred, result):
    j = item.get_id(0)
    k = item.get_id(1)
    total = 0.0
    for i in range(centred.shape[0]):
        total += centred[i, j] * centred[i, k]
    result[j, k] = total / (centred.shape[0] - 1)


@kapi.kernel
def project(item: kapi.Item, centred, vectors, result):
    i = item.get_id(0)
    k = item.get_id(1)
    total = 0.0
    for j in range(centred.shape[1]):
        total += centred[i, j] * vectors[j, k]
    result[i, k] = total


@numba.njit(parallel=True)
def centre_numba(data, centred):
    for j in numba.prange(data.shape[1]):
        total = 0.0
        for i in range(data.shape[0]):
            total += data[i, j]
        mean = total / data.shape[0]
        for i in range(data.shape[0]):
            centred[i, j] = data[i, j] - mean


@numba.njit(parallel=True)
def covariance_numba(centred, result):
    for j in numba.prange(result.shape[0]):
        for k in numba.prange(result.shape[1]):
            total = 0.0
            for i in range(centred.shape[0]):
                total += centred[i, j] * centred[i, k]
            result[j, k] = total / (centred.shape[0] - 1)


@numba.njit(parallel=True)
def project_numba(centred, vectors, result):
    for i in numba.prange(result.shape[0]):
        for k in numba.prange(result.shape[1]):
            total = 0.0
            for j in range(centred.shape[1]):
                total += centred[i, j] * vectors[j, k]
            result[i, k] = total


def build(scale: float) -> Workload:
    """The workload with 1024 points of 128 dimensions at scale 1."""
    n = max(64, int(1024 * scale) // 64 * 64)
    # scales that differ keep the eigenvalues apart, so that the vectors are the same but for their signs
    data = np.random.default_rng(0).standard_normal((n, DIMENSIONS)) * np.linspace(1.0, 10.0, DIMENSIONS)
    on_device = dpnp.asarray(data)
    square, rows = (DIMENSIONS, DIMENSIONS), (n, DIMENSIONS)
    kept = {}

    def results(name: object):
        values, projected = kept[name]
        projected = projected.asnumpy() if hasattr(projected, "asnumpy") else np.asarray(projected)
        return [values, np.abs(projected)]

    def by_numpy() -> None:
        centred = data - data.mean(axis=0)
        values, vectors = np.linalg.eigh(centred.T @ centred / (n - 1))
        kept["numpy"] = values, centred @ vectors

    def by_dpnp() -> None:
        centred = on_device - on_device.mean(axis=0)
        values, vectors = np.linalg.eigh((centred.T @ centred / (n - 1)).asnumpy())
        kept["dpnp"] = values, wait_for(centred @ dpnp.asarray(vectors))

    host = [np.empty(rows), np.empty(square), np.empty(rows)]

    def by_numba() -> None:
        centred, result, projected = host
        centre_numba(data, centred)
        covariance_numba(centred, result)
        values, vectors = np.linalg.eigh(result)
        project_numba(centred, vectors, projected)
        kept["numba"] = values, projected

    device = [dpnp.empty(rows), dpnp.empty(square), dpnp.empty(rows)]

    def offloaded() -> None:
        centred, result, projected = device
        centre_numba(on_device, centred)
        covariance_numba(centred, result)
        values, vectors = np.linalg.eigh(result.asnumpy())
        project_numba(centred, dpnp.asarray(vectors), projected)
        kept["offload"] = values, wait_for(projected)

    def opencl(peer: Peer) -> Column:
        centred, result, vectors, projected = (peer.empty(each, np.float64) for each in (rows, square, square, rows))
        centring = peer.kernel("centre", peer.array(data), centred, np.int64(n))
        covarying = peer.kernel("covariance", centred, result, np.int64(n))
        projecting = peer.kernel("project", centred, vectors, projected)

        def run() -> None:
            peer.start(centring, (DIMENSIONS,))
            peer.run(covarying, square)
            values, found = np.linalg.eigh(result.get())
            vectors.set(np.ascontiguousarray(found))
            peer.run(projecting, (DIMENSIONS, n))
            kept[peer] = values, projected

        return Column(run, lambda: [kept[peer][0], np.abs(projected.get())])

    def in_kapi(xp: Any, centring: kapi.Kernel, covarying: kapi.Kernel, projecting: kapi.Kernel) -> Column:
        centred, result, projected = xp.empty(rows), xp.empty(square), xp.empty(rows)
        centre_all = Launch(centring, kapi.Range(DIMENSIONS), xp.asarray(data), centred)
        covary = Launch(covarying, kapi.Range(*square), centred, result)

        def run() -> None:
            centre_all.start()
            covary.run()
            values, vectors = np.linalg.eigh(on_host(result))
            on = xp.asarray(np.ascontiguousarray(vectors))
            kapi.call_kernel(projecting, kapi.Range(*rows), centred, on, projected)
            kept[xp, centring] = values, projected

        return Column(run, lambda: results((xp, centring)))

    columns = {
        "NumPy": Column(by_numpy, lambda: results("numpy")),
        "Numba parallel": Column(by_numba, lambda: results("numba")),
        "dpnp": Column(by_dpnp, lambda: results("dpnp")),
        **opencl_columns(OPENCL_C, opencl),
        **kapi_columns(in_kapi, centre, covariance, project),
        "kapi offload": Column(offloaded, lambda: results("offload")),
    }
    return Workload("pca", f"{n} points, {DIMENSIONS} float64", columns, rtol=1e-6, atol=1e-6)
