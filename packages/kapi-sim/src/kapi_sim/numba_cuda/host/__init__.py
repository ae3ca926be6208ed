"""The host's view of the device: arrays, context, streams and events."""
