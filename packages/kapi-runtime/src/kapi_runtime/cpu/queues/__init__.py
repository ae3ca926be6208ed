"""Queues of the CPU: in-order work of a thread, its events and times, and what work in flight keeps alive."""
