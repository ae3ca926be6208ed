"""Arrays of CuPy, PyTorch and JAX in plain njit functions: doubles of their classes stand over NumPy's memory."""

from __future__ import annotations

import gc
import subprocess
import sys
from types import SimpleNamespace

import numba
import numpy as np
import pytest

import _kapi_types_hooks
import kapi_types
from kapi_sim import KapiError
from kapi_sim.errors import DtypeError
from kapi_sim.testing.reports import raises
from kapi_types import DeviceArrayType, UsmArrayType, array_fields
from kapi_types.device_arrays.libraries import LIBRARIES

pytestmark = pytest.mark.usefixtures("registered")

CUPY = '''
import numpy as np

class Pointer:
    """The part of `cupy.cuda.MemoryPointer` that arrays are read by."""

    def __init__(self, ptr, memory, device_id):
        self.ptr, self.memory, self.device_id = ptr, memory, device_id

    def __add__(self, offset):
        return Pointer(self.ptr + offset, self.memory, self.device_id)

class ndarray:
    __module__ = "cupy"

    def __init__(self, shape, dtype=float, memptr=None, strides=None):
        self.shape, self.dtype, self.data, self.strides = shape, np.dtype(dtype), memptr, strides

    @property
    def ndim(self):
        return len(self.shape)

    @property
    def flags(self):
        found = np.lib.stride_tricks.as_strided(np.empty(1, self.dtype), self.shape, self.strides).flags
        return type("Flags", (), {"c_contiguous": found.c_contiguous, "f_contiguous": found.f_contiguous})

def of(array, device_id=0):
    """An array with the memory of one of NumPy's."""
    memory = Pointer(array.__array_interface__["data"][0], array, device_id)
    return ndarray(array.shape, array.dtype, memory, array.strides)
'''
cupy = SimpleNamespace()
exec(CUPY, vars(cupy))


class Tensor:
    """A tensor of PyTorch on a CUDA device: strides are in elements, and the dtype is one of its own."""

    requires_grad = False
    is_cuda = True
    layout = "torch.strided"

    def __init__(self, array, start=0):
        self.array, self.start = array, start
        self.shape, self.dtype = array.shape, f"torch.{array.dtype}"

    def data_ptr(self):
        return self.array.__array_interface__["data"][0]

    def stride(self):
        return tuple(stride // self.array.itemsize for stride in self.array.strides)

    def storage_offset(self):
        return self.start

    def get_device(self):
        return 1

    def is_conj(self):
        return False

    def is_neg(self):
        return False


Tensor.__module__ = "torch"


def jax_array(array, is_on_device=True):
    """An array of JAX; one on the host has no such interface, though its class has the property."""

    def interface(self):
        if not is_on_device:
            raise AttributeError("only for GPUs")
        return {
            "data": (array.__array_interface__["data"][0], False),
            "shape": array.shape,
            "strides": None if array.flags.c_contiguous else array.strides,
            "typestr": array.dtype.str,
            "version": 2,
        }

    cls = type("ArrayImpl", (), {"__module__": "jaxlib._jax", "__cuda_array_interface__": property(interface)})
    return cls()


MAKERS = {"cupy": cupy.of, "torch": Tensor, "jax": jax_array}
every_library = pytest.mark.parametrize("library", MAKERS)


@numba.njit
def same(value):
    return value


@numba.njit
def describe(array):
    return array.shape, array.strides, array.ndim, array.size, array.itemsize, array.nbytes, len(array)


@numba.njit
def fails(array):
    if array.shape[0] > 0:
        raise ValueError("as asked")
    return array


DTYPES = ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "c8", "c16"]
CUBE = np.zeros((4, 6, 2))
VIEWS = {"dense": ("C", CUBE), "transposed": ("F", CUBE.T), "stepped": ("A", CUBE[::2, ::3]), "empty": ("C", CUBE[4:])}


@every_library
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("rank", range(4))
def test_typeof_has_dtype_and_rank(library, dtype, rank):
    type_ = numba.typeof(MAKERS[library](np.zeros((2, 3, 4)[:rank], dtype)))
    element = numba.from_dtype(np.dtype(dtype))
    assert type_ == DeviceArrayType(library, element, rank, "C", readonly=library == "jax")
    assert type_.in_kernel() == kapi_types.ArrayType(element, rank, "C", readonly=library == "jax")


@every_library
@pytest.mark.parametrize(("layout", "view"), VIEWS.values(), ids=VIEWS)
def test_host_function_sees_what_numpy_says(library, layout, view):
    """The layout in the type, and shape, strides in bytes and sizes in the function."""
    array = MAKERS[library](view)
    assert numba.typeof(array).layout == layout
    assert describe(array) == (view.shape, view.strides, 3, view.size, 8, view.nbytes, len(view))


@every_library
def test_host_function_returns_the_same_object(library):
    """Alone, in tuples, of rank zero and of elements that Numba lacks on the host."""
    for view in (CUBE, CUBE[::2, ::3], np.array(3.0), np.zeros(3, np.float16)):
        array = MAKERS[library](view)
        assert same(array) is array
        assert same((array, (array, 1)))[1][0] is array


@every_library
def test_host_function_holds_either_of_two_arrays(library):
    """Arrays of one library unify to the weaker layout; those of two libraries do not."""

    @numba.njit
    def either(a, b, condition):
        chosen = a if condition else b
        return chosen

    dense, stepped = MAKERS[library](np.zeros(3)), MAKERS[library](np.zeros(6)[::2])
    assert either(dense, stepped, False) is stepped
    assert either(dense, stepped, True) is dense
    other = MAKERS["cupy" if library == "torch" else "torch"](np.zeros(3))
    with pytest.raises(numba.TypingError, match="Cannot unify"):
        either(dense, other, True)


COPIES = {"cupy": "`cupy.asnumpy(array)`", "torch": "`array.cpu()`", "jax": "`numpy.asarray(array)`"}


@every_library
@pytest.mark.parametrize("touch", [lambda array: array[0], lambda array: array.sum(), lambda array: list(array)])
def test_elements_are_out_of_reach_on_the_host(library, touch):
    with raises(KapiError, "host-memory-access") as caught:
        numba.njit(touch)(MAKERS[library](np.zeros(3)))
    text = str(caught.value)
    assert f"{__file__}:{touch.__code__.co_firstlineno}: " in text
    assert f"got {library}_array(float64, 1d, C, device" in text
    assert COPIES[library] in text


@pytest.mark.parametrize("library", ["cupy", "torch"])
def test_host_function_makes_no_device_array(library):
    """A new array would need the library; nothing becomes a NumPy array in silence."""

    @numba.njit
    def make(array):
        return np.empty_like(array)

    with raises(KapiError, "host-allocation", line="return np.empty_like(array)"):
        make(MAKERS[library](np.zeros(3)))


@every_library
@pytest.mark.parametrize("compute", [lambda array: array + 1, lambda array: np.sin(array)])
def test_host_function_computes_no_expression(library, compute):
    """The elements are out of reach before there is a result."""
    with raises(KapiError, "host-memory-access"):
        numba.njit(compute)(MAKERS[library](np.zeros(3)))


GLOBAL = None


@every_library
def test_host_function_takes_no_global_array(library, monkeypatch):
    monkeypatch.setitem(globals(), "GLOBAL", MAKERS[library](np.zeros(3)))

    @numba.njit
    def read():
        return GLOBAL

    with pytest.raises(numba.TypingError, match=r"array\(.*\) must be an argument .*; add a parameter for it"):
        read()


@pytest.mark.parametrize(
    ("attribute", "value", "code", "hint"),
    [
        ("requires_grad", True, "tensor-form", "tensor.detach()"),
        ("layout", "torch.sparse_coo", "tensor-form", "tensor.to_dense()"),
        ("is_conj", lambda: True, "tensor-form", "tensor.resolve_conj()"),
        ("dtype", "torch.bfloat16", "argument-dtype", "tensor.to(dtype)"),
    ],
)
def test_tensor_that_kernels_refuse_is_refused_here(attribute, value, code, hint):
    tensor = Tensor(np.zeros(3))
    same(tensor)
    setattr(tensor, attribute, value)
    with raises(DtypeError, code) as caught:
        same(tensor)
    assert hint in str(caught.value)


def test_arrays_on_the_host_stay_what_they_are():
    """A CPU tensor and a CPU array of JAX have no type of kapi's, whatever was passed before."""
    same(Tensor(np.zeros(3)))
    tensor = Tensor(np.zeros(3))
    tensor.is_cuda = False
    for array in (tensor, jax_array(np.zeros(3), is_on_device=False)):
        with pytest.raises(ValueError, match="Cannot determine Numba type"):
            numba.typeof(array)
        with pytest.raises(numba.TypingError, match="pyobject"):
            same(array)


def test_only_the_class_itself_is_known():
    """A class that derives from a library's, or has its name, may be anything."""
    derived = type("Derived", (cupy.ndarray,), {"__module__": "cupy"})
    stranger = type("ndarray", (), {"__module__": "stranger"})
    for array in (derived((3,), float, cupy.of(np.zeros(3)).data, (8,)), stranger()):
        with pytest.raises(ValueError, match="Cannot determine Numba type"):
            numba.typeof(array)


def test_hooks_know_the_classes_of_the_table():
    assert {(package, name) for name, package in _kapi_types_hooks._LIBRARY_CLASSES.items()} == LIBRARIES.keys()
    assert {each.name for each in LIBRARIES.values()} == MAKERS.keys()


@pytest.mark.parametrize(("module", "is_known"), [("program", True), ("numba.cuda.dispatcher", False)])
def test_numba_cuda_keeps_its_own_type(module, is_known):
    """Numba's CUDA target asks the same `typeof`, and takes arrays by their interface where that knows no type."""
    ask = eval("lambda value: typeof(value)", {"__name__": module, "typeof": numba.typeof})
    for value in (cupy.of(np.zeros(3)), (1, (cupy.of(np.zeros(3)), 2))):
        if is_known:
            assert "cupy_array(float64, 1d, C, device)" in str(ask(value))
        else:
            with pytest.raises(ValueError, match="Cannot determine Numba type"):
                ask(value)


def test_unregistered_types_are_unknown():
    array = cupy.of(np.zeros(3))
    numba.typeof(array)
    kapi_types.unregister()
    with pytest.raises(ValueError, match="Cannot determine Numba type"):
        numba.typeof(array)


def test_views_are_made_by_cupy():
    """A description by compiled code becomes an array of the same memory and device."""
    from kapi_types.device_arrays.views import view_of

    host = np.arange(24, dtype=np.int32).reshape(4, 6)
    owner, part = cupy.of(host[1:], 3), host[1:][1::2, ::-2]
    view = view_of(owner, part.dtype, part.__array_interface__["data"][0], *part.shape, *part.strides)
    assert type(view) is cupy.ndarray
    assert (view.shape, view.strides, view.dtype) == (part.shape, part.strides, part.dtype)
    assert (view.data.ptr, view.data.device_id) == (part.__array_interface__["data"][0], 3)
    assert view.data.memory is owner.data.memory
    assert view_of(owner, host.dtype, owner.data.ptr, *owner.shape, *owner.strides) is owner


def test_views_are_made_by_pytorch():
    """It counts from the start of the storage, and has no negative strides."""
    from kapi_types.device_arrays.views import view_of

    host = np.arange(24.0).reshape(4, 6)
    owner, part = Tensor(host[1:], 6), host[2::2, ::3]
    owner.as_strided = lambda *fields: fields
    address = part.__array_interface__["data"][0]
    assert view_of(owner, part.dtype, address, *part.shape, *part.strides) == (part.shape, (12, 3), 12)
    for view in (part[::-1], part.view(np.int64)):
        with pytest.raises(TypeError, match="returned part of a tensor must have its dtype and no negative strides"):
            view_of(owner, view.dtype, view.__array_interface__["data"][0], *view.shape, *view.strides)


def test_jax_makes_no_views():
    from kapi_types.device_arrays.views import view_of

    host = np.zeros(6)
    with pytest.raises(TypeError, match="JAX must be one that was passed in"):
        view_of(jax_array(host), host.dtype, host.__array_interface__["data"][0], 3, 16)


def test_array_fields_reads_arrays_of_each_library(usm_array):
    host = np.zeros((3, 4), np.float32)[:, ::2]
    address = host.__array_interface__["data"][0]
    for make, readonly in ((cupy.of, False), (Tensor, False), (jax_array, True), (usm_array, False)):
        fields = array_fields(make(host))
        assert (fields.pointer, fields.shape, fields.strides, fields.dtype) == (address, (3, 2), (4, 2), np.float32)
        assert fields.readonly == readonly


def test_strides_between_elements_are_refused():
    host = np.zeros(3, "f4,i1")["f0"]
    for make in (cupy.of, jax_array):
        with raises(DtypeError, "array-misaligned"):
            same(make(host))


def test_expressions_have_the_type_of_the_library():
    """Numba makes an expression's type by the class that `__array_ufunc__` gives, from dtype, rank and layout."""
    made = DeviceArrayType("cupy", numba.float32, 1, "C").__array_ufunc__()(dtype=numba.int8, ndim=2, layout="C")
    assert made == DeviceArrayType("cupy", numba.int8, 2, "C")
    assert type(made) is DeviceArrayType
    usm = UsmArrayType(numba.float32, 1, "C", usm_type="shared").__array_ufunc__()(numba.int8, 2, "C")
    assert usm == UsmArrayType(numba.int8, 2, "C")


def test_host_function_notices_an_array_that_changes_during_the_call():
    """The type is asked for first and the memory later; what no longer fits is refused."""

    class Changing:
        """A tensor that has its shape for a number of reads, and then loses an axis."""

        def __init__(self, reads):
            self.reads = reads

        @property
        def shape(self):
            self.reads -= 1
            return (3, 2) if self.reads >= 0 else (3,)

        def __getattr__(self, name):
            return getattr(Tensor(np.zeros((3, 2) if self.reads >= 0 else 3)), name)

    Changing.__module__, Changing.__name__ = "torch", "Tensor"
    same(Changing(100))
    with pytest.raises(ValueError, match="array must have rank 2, got 1; it was changed during the call"):
        same(Changing(1))


@every_library
@pytest.mark.parametrize("function", [same, fails], ids=["same", "fails"])
def test_host_function_balances_references(library, function):
    """Nothing is left of many calls: neither of the array nor of memory, exceptions included."""
    array, calls = MAKERS[library](np.zeros(3)), 10_000

    def call():
        try:
            function(array)
        except ValueError:
            pass

    call()
    gc.collect()
    references, blocks = sys.getrefcount(array), sys.getallocatedblocks()
    for _ in range(calls):
        call()
    assert sys.getrefcount(array) == references
    assert sys.getallocatedblocks() - blocks < calls / 2


PROGRAM = (
    CUPY
    + """
import numba

@numba.njit(cache=True)
def rows(array):
    return array.shape[0], array

if __name__ == "__main__":
    array = of(np.zeros((3, 4)))
    count, returned = rows(array)
    print(count, returned is array, sum(rows.stats.cache_hits.values()))
"""
)


def test_compiled_code_is_cached(program_for_the_host):
    """The next process finds it, and reads its own arrays by it."""
    code = program_for_the_host(PROGRAM)
    for hits in (0, 1):
        done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=300)
        assert (done.returncode, done.stdout.strip()) == (0, f"3 True {hits}"), done.stderr


SLICES = {
    "row": lambda a: a[1],
    "last": lambda a: a[-1],
    "rows": lambda a: a[1:],
    "steps": lambda a: a[1::2, ::2],
    "column": lambda a: a[:, 2],
    "new axis": lambda a: a[None, ..., 3:],
    "slice of a slice": lambda a: a[1:, 1:][1:, 2],
}


@pytest.mark.parametrize("part", SLICES.values(), ids=SLICES)
@pytest.mark.parametrize("kind", ["cupy", "torch", "usm"])
def test_slices_are_views_of_device_memory(usm_array, kind, part):
    """The same address, shape and strides as NumPy's; no element is read, and references balance."""
    host = np.arange(24.0).reshape(4, 6)
    expected = part(host)

    class Sliced(Tensor):
        def as_strided(self, shape, strides, start):
            return np.lib.stride_tricks.as_strided(self.array.ravel()[start:], shape, [8 * each for each in strides])

    Sliced.__module__, Sliced.__name__ = "torch", "Tensor"
    make = {"cupy": cupy.of, "torch": Sliced, "usm": lambda array: usm_array(array, usm_type="device")}[kind]
    owner, sliced = make(host), numba.njit(part)
    view = sliced(owner)
    fields = array_fields(view) if kind != "torch" else array_fields(Tensor(view))
    assert (fields.pointer, fields.shape) == (expected.__array_interface__["data"][0], expected.shape)
    assert tuple(8 * stride for stride in fields.strides) == expected.strides
    del view, fields
    gc.collect()
    references = sys.getrefcount(owner)
    for _ in range(1000):
        sliced(owner)
    gc.collect()
    assert sys.getrefcount(owner) == references


@pytest.mark.parametrize(
    "index",
    [lambda a: a[1, 2], lambda a: a[np.array([1, 2])], lambda a: a[1, np.array([1, 2])], lambda a: a[a.shape[0] > 1]],
    ids=["element", "array", "row and array", "bool"],
)
def test_indices_that_read_elements_are_refused(index):
    with pytest.raises((KapiError, numba.TypingError)) as caught:
        numba.njit(index)(cupy.of(np.zeros((3, 4))))
    assert caught.type is numba.TypingError or caught.value.code == "host-memory-access"
