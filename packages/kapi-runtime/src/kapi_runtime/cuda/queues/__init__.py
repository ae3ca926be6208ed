"""Queues of CUDA devices, which are streams: events, times, and what work in flight keeps alive."""
