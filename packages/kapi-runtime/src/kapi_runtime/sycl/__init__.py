"""SYCL devices through dpctl: what they are, their queues, events, memory and programs."""
