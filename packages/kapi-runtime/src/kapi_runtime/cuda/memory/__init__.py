"""Memory of CUDA devices: kapi's own arrays, those of other libraries, and what `kapi_runtime.memory` asks for."""
