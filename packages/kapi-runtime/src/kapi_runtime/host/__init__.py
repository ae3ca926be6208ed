"""What programs do on the host, on every platform: devices, queues, marks, contexts and copies."""
