"""Languages whose programs handle a block of elements: Triton, JAX with Pallas, cuTile."""

from __future__ import annotations

from kapi_sim.language.other_systems.system import (
    ATOMIC_EXCHANGE,
    BARRIER,
    BROADCAST,
    CLAMP,
    DERIVATIVE,
    ELEMENT,
    EXCHANGE,
    GROUP_ID,
    GROUP_RANGE,
    GUARD,
    LAUNCH,
    LOCAL_MEMORY,
    LOOP,
    MAXIMUM,
    MINIMUM,
    NUMBER,
    PRINT,
    PRIVATE_MEMORY,
    REINTERPRET,
    SCAN,
    SUM,
    TUNING,
    UNIFORM,
    UPDATES,
    System,
    fetch,
)

__all__ = ["CUTILE", "JAX", "TRITON"]

_BLOCK = f"{GROUP_ID} for the block, `item.get_id(0)` for each of its elements"
_ACCESS = f"{ELEMENT}; in place of a mask write {GUARD}"
_INDEX = "the index of the work-item, `item.get_id(0)`: a kernel is written for one element of the block"
_SHAPE = "the index alone: a work-item has no shapes"
_DOT = "a loop over the inner axis"
_CEILING = "`-(-n // size)`"
_CHOICE = "`a if condition else b`"
_CONDITION = "`if condition:`"
_PRECISION = "a number's type, such as `np.float32(x)`"
_POINTER = f"{ELEMENT}, with an index for each axis"
_UNNEEDED = "nothing: the compiler finds it out"
_EXTREME = "a loop that keeps the index of the largest element"

_UPDATES = {f"atomic_{each}": fetch(each) for each in UPDATES}
_EXCHANGES = {"atomic_xchg": ATOMIC_EXCHANGE, "atomic_cas": EXCHANGE}
_REDUCTIONS = {
    "sum": SUM,
    "max": MAXIMUM,
    "min": MINIMUM,
    "reduce": SUM,
    "xor_sum": "`kapi.reduce_over_group(group, value, kapi.bit_xor)`",
    "cumsum": SCAN,
    "cumprod": "`kapi.inclusive_scan_over_group(group, value, kapi.multiplies)`",
    "associative_scan": SCAN,
    "argmax": _EXTREME,
    "argmin": _EXTREME,
    "histogram": f"{fetch('add')} for each value",
    "sort": "a kernel that sorts, as the gallery's",
    "where": _CHOICE,
    "dot": _DOT,
    "cdiv": _CEILING,
    "clamp": CLAMP,
    "cast": _PRECISION,
    "rsqrt": "`1 / math.sqrt(x)`",
}

TRITON = System(
    "Triton",
    ("triton.language", "triton", "tl"),
    {
        "program_id": _BLOCK,
        "num_programs": GROUP_RANGE,
        "constexpr": NUMBER,
        "debug_barrier": BARRIER,
        "static_range": "`range(n)`",
        "static_assert": "`assert x > 0` under `@kapi.kernel(debug=True)`",
        "device_assert": "`assert x > 0` under `@kapi.kernel(debug=True)`",
        "static_print": "`print(x)` outside of the kernel",
        "device_print": PRINT,
        "next_power_of_2": "`1 << (n - 1).bit_length()` outside of the kernel",
    },
    {
        **_REDUCTIONS,
        **_UPDATES,
        **_EXCHANGES,
        "load": _ACCESS,
        "store": _ACCESS,
        "arange": _INDEX,
        "range": "`range(n)`",
        "zeros": PRIVATE_MEMORY,
        "ones": PRIVATE_MEMORY,
        "full": PRIVATE_MEMORY,
        "zeros_like": PRIVATE_MEMORY,
        **dict.fromkeys(("float16", "float32", "float64", "int8", "int16", "int32", "int64", "uint32"), _PRECISION),
        "jit": "`@kapi.kernel`",
        "autotune": TUNING,
        "heuristics": TUNING,
        "rand": UNIFORM,
        "randn": "`kapi.random.normal(seed, counter, stream)`",
        "randint": "`kapi.random.randint(seed, counter, low, high)`",
        "philox": "`kapi.random.philox(seed, counter)`",
        "sigmoid": "`1 / (1 + math.exp(-x))`",
        "softmax": "`kapi.reduce_over_group(group, value, kapi.maximum)`, `math.exp(x)`, and a sum over the group",
        "umulhi": "`kapi.mul_hi(x, y)`",
        **dict.fromkeys(("make_block_ptr", "make_tensor_descriptor", "advance"), _POINTER),
        **dict.fromkeys(("max_contiguous", "multiple_of", "max_constancy", "assume"), _UNNEEDED),
        **dict.fromkeys(("broadcast_to", "broadcast", "expand_dims", "reshape", "view", "ravel"), _SHAPE),
        **dict.fromkeys(("trans", "permute"), "the indices in another order, `array[j, i]`"),
        **dict.fromkeys(("cat", "join", "split", "interleave", "gather", "flip"), LOCAL_MEMORY),
        "inline_asm_elementwise": "functions of `math` and NumPy",
    },
)

JAX = System(
    "JAX",
    (
        "jax.experimental.pallas.tpu",
        "jax.experimental.pallas.triton",
        "jax.experimental.pallas",
        "jax.numpy",
        "jax.lax",
        "jax",
        "pltpu",
        "plgpu",
        "pl",
        "jnp",
        "lax",
    ),
    {
        "pallas_call": LAUNCH,
        "BlockSpec": "`kapi.NdRange(global_range, local_range)`, and indices that the kernel computes",
        "fori_loop": "`for i in range(n):`",
        "while_loop": "`while condition:`",
    },
    {
        **_REDUCTIONS,
        **_UPDATES,
        **_EXCHANGES,
        "program_id": _BLOCK,
        "num_programs": GROUP_RANGE,
        "load": _ACCESS,
        "store": _ACCESS,
        "swap": ATOMIC_EXCHANGE,
        "ds": "a loop over `range(start, start + size)`",
        "dslice": "a loop over `range(start, start + size)`",
        "when": _CONDITION,
        "cond": _CONDITION,
        "loop": "`for i in range(n):`",
        "scan": LOOP,
        "select": _CHOICE,
        "arange": _INDEX,
        "zeros": PRIVATE_MEMORY,
        "ones": PRIVATE_MEMORY,
        "full": PRIVATE_MEMORY,
        "debug_print": PRINT,
        "debug.print": PRINT,
        "run_scoped": LOCAL_MEMORY,
        "VMEM": LOCAL_MEMORY,
        "SMEM": LOCAL_MEMORY,
        "make_async_copy": "a loop in which each work-item copies elements, and a barrier",
        "axis_index": GROUP_ID,
        "psum": SUM,
        "jit": "`@kapi.kernel`",
        "vmap": LAUNCH,
        "kernel": "`@kapi.kernel`",
        "grad": DERIVATIVE,
        "numpy.sum": SUM,
        "random.uniform": UNIFORM,
        "random.normal": "`kapi.random.normal(seed, counter, stream)`, which needs no state",
        "random.PRNGKey": "a seed as an argument",
        "random.key": "a seed as an argument",
        "bitcast_convert_type": REINTERPRET,
        "devices": "`kapi_runtime.devices()`",
        "device_put": "`kapi_runtime.memory.asarray(values)`",
        "block_until_ready": "nothing after `kapi.call_kernel`, which waits",
    },
)

CUTILE = System(
    "cuTile",
    ("cuda.tile", "ct"),
    {},
    {
        **_REDUCTIONS,
        **_UPDATES,
        **_EXCHANGES,
        "bid": GROUP_ID,
        "num_blocks": GROUP_RANGE,
        "load": _ACCESS,
        "store": _ACCESS,
        "gather": ELEMENT,
        "scatter": ELEMENT,
        "arange": _INDEX,
        "zeros": PRIVATE_MEMORY,
        "full": PRIVATE_MEMORY,
        "mma": _DOT,
        "broadcast_to": BROADCAST,
        "Constant": NUMBER,
        "kernel": "`@kapi.kernel`",
        "launch": LAUNCH,
    },
)
