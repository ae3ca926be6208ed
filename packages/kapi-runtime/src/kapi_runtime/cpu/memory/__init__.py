"""Arrays in the host's memory, and `kapi_runtime.memory` for them."""
