"""numba in one place: compiler flags, bit tricks, raw memory.

Every jitted function of the project is made by :data:`jit` or :data:`inline`, so that flags live
here and nowhere else; :mod:`nnuelab.build` says which build they make, and keeps it.
"""

from __future__ import annotations

from functools import cache, cached_property
from typing import Any

import llvmlite.binding
import numba
import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.registry import CPUDispatcher
from numba.extending import intrinsic
from numba.np.arrayobj import populate_array

from nnuelab.build import CHECKED, SIMD

CACHE_LINE = 64  # bytes

_FLAGS: dict[str, Any] = {
    "cache": True,
    "nogil": True,
    "error_model": "numpy",  # no check for division by zero in kernels
    "boundscheck": CHECKED,
    "no_cfunc_wrapper": True,  # it is for functions that are passed as values
}

jit = numba.njit(**_FLAGS)
"""Compiles a function without Python objects; it releases the GIL while it runs."""


class _Inline(CPUDispatcher):
    """Without the wrapper for calls from Python: they go to a twin that has one."""

    @cached_property
    def _alone(self) -> Any:
        return numba.njit(**{**_FLAGS, "cache": False})(self.py_func)

    def _insert(self, *arguments: Any, **named: Any) -> None:
        """Keeps from calls from Python what is compiled: they find nothing and ask for it."""

    def _compile_for_args(self, *arguments: Any, **named: Any) -> Any:
        return self._alone  # numba calls it with the same arguments


def inline(function: Any) -> Any:
    """The same for small functions of the hot path: LLVM puts them into their callers.

    They lack the wrapper for calls from Python, into which LLVM would put them once more: it took
    a sixth of the time of compiling. A call from Python compiles the function anew in each
    process, which is good for tests (not of one that calls itself or takes ``*arguments``);
    ``py_func`` is the function that isn't compiled.
    """
    made = numba.njit(**_FLAGS, forceinline=True, no_cpython_wrapper=True)(function)
    made.__class__ = _Inline
    return made


# Calls by address ---------------------------------------------------------------------------------
# What depends on a feature set is compiled apart and reached through an address in a record. No set
# and no kernel of a user's makes the search compile again.

record_type = cache(numba.from_dtype)
"""numba's type of a dtype: making it anew takes up to a millisecond where records are nested."""

_ENTRIES: dict[tuple[Any, ...], Any] = {}  # compiled functions live as long as the process


def entry(function: Any, *arguments: Any) -> int:
    """Compiles a plain Python function for :func:`call`; returns its address.

    Parameters
    ----------
    function : function
        Returns an int64; at module level, so that its machine code is cached with its file.
    arguments : numba types
        Records arrive as records, pointers (``types.CPointer``) as what can be indexed.
    """
    key = function, arguments
    if key not in _ENTRIES:
        flags = {name: _FLAGS[name] for name in ("cache", "error_model", "boundscheck")}
        _ENTRIES[key] = numba.cfunc(types.int64(*arguments), **flags)(function)
    return _ENTRIES[key].address


@intrinsic
def call(typing_context: Any, function: Any, *arguments: Any) -> Any:
    """Calls what :func:`entry` compiled: its address (uint64), its arguments; returns int64.

    A pointer may be given as an integer, its address; nothing checks that the types are right.
    """
    for argument in arguments:
        if not isinstance(argument, types.Record | types.Integer | types.CPointer):
            raise numba.TypingError(f"call takes records, integers and pointers, not {argument}")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target, packed = args
        values = [builder.extract_value(packed, i) for i in range(len(arguments))]
        kind = ir.FunctionType(ir.IntType(64), [value.type for value in values])
        return builder.call(builder.inttoptr(target, kind.as_pointer()), values)

    return types.int64(types.uint64, types.StarArgTuple(arguments)), generate


# Bits --------------------------------------------------------------------------------------------
# The results are widened from one byte, so LLVM knows that they are not negative and leaves out the
# wrap-around test of an array index.


def _bit_intrinsic(name: str, python: Any) -> Any:
    @intrinsic
    def function(typing_context: Any, bits: Any) -> Any:
        if bits != types.uint64:
            raise numba.TypingError(f"{name} takes uint64, not {bits}")

        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            (value,) = args
            count = python(builder, value)
            return builder.zext(builder.trunc(count, ir.IntType(8)), ir.IntType(64))

        return types.int64(types.uint64), generate

    return function


def _zero_undefined(builder: Any) -> Any:
    return ir.Constant(ir.IntType(1), 1)


popcount = _bit_intrinsic("popcount", lambda builder, v: builder.ctpop(v))
"""Number of bits set: uint64 -> int64."""

lsb = _bit_intrinsic("lsb", lambda builder, v: builder.cttz(v, _zero_undefined(builder)))
"""Index of the lowest bit set: uint64 (not zero) -> int64."""

msb = _bit_intrinsic(
    "msb",
    lambda builder, v: builder.xor(
        builder.ctlz(v, _zero_undefined(builder)), ir.Constant(ir.IntType(64), 63)
    ),
)
"""Index of the highest bit set: uint64 (not zero) -> int64."""


@intrinsic
def byteswap(typing_context: Any, bits: Any) -> Any:
    """The bytes of a uint64 in reverse order: a bitboard turned over, rank 1 for rank 8."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bswap(args[0])

    return types.uint64(types.uint64), generate


BMI2 = (
    SIMD != "portable"
    and bool(llvmlite.binding.get_host_cpu_features().get("bmi2"))
    and llvmlite.binding.get_host_cpu_name() not in ("bdver4", "znver1", "znver2")
)
"""Whether gathering and scattering bits takes an instruction that isn't a slow loop inside."""


def _bmi2(name: str) -> Any:
    @intrinsic
    def function(typing_context: Any, bits: Any, mask: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            word = ir.IntType(64)
            kind = ir.FunctionType(word, [word, word])
            called = cgutils.get_or_insert_function(builder.module, kind, f"llvm.x86.bmi.{name}.64")
            return builder.call(called, args)

        return types.uint64(types.uint64, types.uint64), generate

    return function


_pext, _pdep = _bmi2("pext"), _bmi2("pdep")


@jit
def _gather_bits(bits, mask):  # type: ignore[no-untyped-def]
    found, place = np.uint64(0), np.uint64(1)
    while mask:
        if bits & mask & (~mask + np.uint64(1)):
            found |= place
        place <<= np.uint64(1)
        mask &= mask - np.uint64(1)
    return found


@jit
def _scatter_bits(bits, mask):  # type: ignore[no-untyped-def]
    found = np.uint64(0)
    while mask:
        if bits & np.uint64(1):
            found |= mask & (~mask + np.uint64(1))
        bits >>= np.uint64(1)
        mask &= mask - np.uint64(1)
    return found


@inline
def gather_bits(bits, mask):  # type: ignore[no-untyped-def]
    """The bits of a uint64 where a mask has ones, moved together at the low end."""
    return _pext(bits, mask) if BMI2 else _gather_bits(bits, mask)


@inline
def scatter_bits(bits, mask):  # type: ignore[no-untyped-def]
    """The low bits of a uint64, moved to where a mask has ones; the inverse of ``gather_bits``."""
    return _pdep(bits, mask) if BMI2 else _scatter_bits(bits, mask)


# Raw memory --------------------------------------------------------------------------------------
# A record holds addresses of memory whose size is known only at run time (weights, tables); a
# record is passed through recursion as one pointer, an array as seven words.


@intrinsic
def view(typing_context: Any, address: Any, shape: Any, dtype: Any) -> Any:
    """An array over the memory at ``address`` (64 bits), C order, not owned.

    Its owner is a Python object that outlives the call; ``shape`` is an int or a tuple.
    """
    several = isinstance(shape, types.BaseTuple)
    sizes = list(shape) if several else [shape]
    if not all(isinstance(kind, types.Integer) for kind in (address, *sizes)):
        raise numba.TypingError(f"view takes an address and integer sizes, not {address}, {shape}")
    kind = types.Array(dtype.dtype, len(sizes), "C")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, size, _ = args
        dims = cgutils.unpack_tuple(builder, size) if several else [size]
        dims = [context.cast(builder, n, t, types.intp) for n, t in zip(dims, sizes, strict=True)]
        return _array(context, builder, kind, builder.inttoptr(place, cgutils.voidptr_t), dims)

    return kind(address, shape, dtype), generate


def _array(context: Any, builder: Any, kind: Any, data: Any, shape: list[Any]) -> Any:
    """An array of the numba type ``kind`` over memory that it doesn't own, as LLVM's value."""
    made = context.make_array(kind)(context, builder)
    itemsize = context.get_abi_sizeof(context.get_data_type(kind.dtype))
    strides = [context.get_constant(types.intp, itemsize)]
    for size in shape[:0:-1]:
        strides.insert(0, builder.mul(strides[0], size))
    populate_array(
        made,
        data=builder.bitcast(data, made.data.type),
        shape=shape,
        strides=strides[: len(shape)],  # none of an array without dimensions
        itemsize=context.get_constant(types.intp, itemsize),
        meminfo=None,
    )
    return made._getvalue()


@intrinsic
def word_at(typing_context: Any, text: Any, place: Any) -> Any:
    """Eight bytes of an array of bytes from any place on as one uint64, the first one lowest."""
    if text.dtype != types.uint8:
        raise numba.TypingError(f"word_at takes an array of uint8, not {text}")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        start = builder.gep(array.data, [args[1]])
        return builder.load(builder.bitcast(start, ir.IntType(64).as_pointer()), align=1)

    return types.uint64(text, place), generate


@inline
def at(index):  # type: ignore[no-untyped-def]
    """An index (int64) that is never negative: LLVM leaves out the test for counting from the end.

    Without it a loop over an array can't become vector code.
    """
    return np.uint64(index)


def address(array: np.ndarray) -> int:
    """The address of an array's first element, to be stored in a record's field.

    Raises
    ------
    ValueError
        When the array is not C-contiguous: jitted code would read the wrong elements.
    """
    if not array.flags.c_contiguous:
        raise ValueError("only C-contiguous arrays can be handed to kernels by address")
    return array.ctypes.data


def aligned(shape: int | tuple[int, ...], dtype: Any) -> np.ndarray:
    """Zeros that begin on a cache line, so that no vector lies on two."""
    dtype = np.dtype(dtype)
    size = int(np.prod(shape)) * dtype.itemsize
    memory = np.zeros(size + CACHE_LINE, np.uint8)
    start = -address(memory) % CACHE_LINE
    return memory[start : start + size].view(dtype).reshape(shape)


class _Owning(np.ndarray):
    owned: tuple[object, ...]


def owning(dtype: np.dtype, *owned: object) -> np.ndarray:
    """One record of zeros, [1], that keeps alive what its addresses will point to.

    So does a record taken out of it.
    """
    records = np.zeros(1, dtype).view(_Owning)
    records.owned = owned
    return records


def local_record(dtype: np.dtype) -> Any:
    """Makes a function for jitted code that returns a record on the stack, not initialised.

    It is valid in the function that calls it and in those that are called from there.
    """
    record = numba.from_dtype(dtype)

    @intrinsic
    def function(typing_context: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            kind = context.get_data_type(record)
            place = cgutils.alloca_once(builder, kind)
            return builder.bitcast(place, context.get_value_type(record))

        return record(), generate

    return function


@intrinsic
def copy_record(typing_context: Any, target: Any, source: Any) -> Any:
    """Copies all bytes of one record over another of the same type."""
    if not isinstance(target, types.Record) or target != source:
        raise numba.TypingError("copy_record takes two records of one type")

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        size = ir.Constant(ir.IntType(64), target.size)
        cgutils.raw_memcpy(builder, args[0], args[1], size, 1)
        return context.get_dummy_value()

    return types.void(target, source), generate


_TABLES: list[np.ndarray] = []  # tables live as long as the process: compiled code points into them


def symbol(builder: Any, name: str) -> Any:
    """The memory of the :func:`table` called ``name`` as LLVM's pointer to bytes."""
    name = f"nnuelab_{name}"
    if name in builder.module.globals:
        return builder.module.globals[name]
    return cgutils.add_global_variable(builder.module, ir.IntType(8), name)


def table(name: str, array: np.ndarray) -> Any:
    """Makes a read-mostly array reachable from jitted code without baking it in.

    numba copies a global array into every function that uses it; this one is an external symbol,
    resolved when compiled code is loaded, so it costs nothing and compiled code stays cacheable.

    Parameters
    ----------
    name : str
        Unique in the process.
    array : ndarray, C-contiguous

    Returns
    -------
    A function of no arguments for jitted code, that returns the array: ``KNIGHT()[square]``.
    """
    _TABLES.append(array)
    llvmlite.binding.add_symbol(f"nnuelab_{name}", address(array))
    array_type = types.Array(numba.from_dtype(array.dtype), array.ndim, "C")

    @intrinsic
    def function(typing_context: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            shape = [context.get_constant(types.intp, n) for n in array.shape]
            return _array(context, builder, array_type, symbol(builder, name), shape)

        return array_type(), generate

    return function
