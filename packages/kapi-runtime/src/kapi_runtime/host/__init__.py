"""The host's API on every platform: devices, queues, marks, contexts and copies."""
