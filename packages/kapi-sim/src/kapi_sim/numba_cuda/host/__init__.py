"""What the host has of the device: its arrays, its context, streams and events."""
