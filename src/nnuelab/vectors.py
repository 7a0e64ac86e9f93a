"""What intrinsics of LLVM vectors are written with; as in the modules `simd`.

Addresses are integers (LLVM's i64), since that is what jitted code hands over.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils

I1, I8, I16, I32, I64 = (ir.IntType(bits) for bits in (1, 8, 16, 32, 64))


def load(builder: Any, place: Any, kind: Any, align: int) -> Any:
    return builder.load(builder.inttoptr(place, kind.as_pointer()), align=align)


def store(builder: Any, value: Any, place: Any, align: int) -> None:
    builder.store(value, builder.inttoptr(place, value.type.as_pointer()), align=align)


def element(builder: Any, base: Any, index: Any, kind: Any) -> Any:
    """The element ``index`` of the array of integers at ``base``."""
    return builder.load(builder.gep(builder.inttoptr(base, kind.as_pointer()), [index]))


def splat(builder: Any, value: Any, lanes: int) -> Any:
    vector = ir.VectorType(value.type, lanes)
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, I32(0))
    zeros = ir.Constant(ir.VectorType(I32, lanes), [0] * lanes)
    return builder.shuffle_vector(first, ir.Constant(vector, ir.Undefined), zeros)


def declared(builder: Any, name: str, result: Any, *arguments: Any) -> Any:
    return cgutils.get_or_insert_function(builder.module, ir.FunctionType(result, arguments), name)


def clamped(builder: Any, value: Any, low: Any, high: Any, compare: Any) -> Any:
    value = builder.select(compare(">", value, low), value, low)
    return builder.select(compare("<", value, high), value, high)


def shuffled(builder: Any, vector: Any, lanes: list[int]) -> Any:
    """The elements of a vector with these numbers."""
    numbers = ir.Constant(ir.VectorType(I32, len(lanes)), lanes)
    return builder.shuffle_vector(vector, vector, numbers)


def compressed(builder: Any, values: Any, bits: Any) -> Any:
    """The elements of <n x i8> or <n x i32> that n bits select, side by side; anything is behind.

    An instruction of AVX-512; for bytes, of VBMI2.
    """
    kind, mask = values.type, ir.VectorType(I1, values.type.count)
    name = f"llvm.x86.avx512.mask.compress.v{kind.count}i{kind.element.width}"
    compress = declared(builder, name, kind, kind, kind, mask)
    # With zeros for what is behind, CPUs wait for whatever the target register held before.
    return builder.call(compress, [values, values, builder.bitcast(bits, mask)])


def joined(builder: Any, vectors: list[Any]) -> Any:
    """Vectors of one type, as many as a power of two, one behind the other."""
    while len(vectors) > 1:
        both = range(2 * vectors[0].type.count)
        order = ir.Constant(ir.VectorType(I32, len(both)), list(both))
        pairs = zip(vectors[::2], vectors[1::2], strict=True)
        vectors = [builder.shuffle_vector(one, other, order) for one, other in pairs]
    return vectors[0]
