"""Queues of SYCL devices: events, waiting, and what work in flight keeps alive."""
