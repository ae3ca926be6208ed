"""Memory of SYCL devices: arrays without dpnp, and what `kapi_runtime.memory` asks for."""
