"""LLVM IR of one work-item, with calls that `kapi_cpu.emission` replaces where work-items ask, wait or exchange."""
