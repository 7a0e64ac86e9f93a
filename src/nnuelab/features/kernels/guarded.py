"""The list that a function of a user's writes its features into: nothing is written beyond its end.

Its length is part of its type, so a comparison with a constant is all that it costs.
"""

from __future__ import annotations

import operator
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic, models, overload, register_model

_INT32 = ir.IntType(32)
_NONE = ir.Constant(_INT32, -1)


class Guarded(types.Type):
    """int32[length] by address: beyond its end writes are lost, and -1 is read."""

    def __init__(self, length: int) -> None:
        self.length = length
        super().__init__(f"Guarded({length})")


@register_model(Guarded)
class _Model(models.PrimitiveModel):
    def __init__(self, manager: Any, kind: Guarded) -> None:
        super().__init__(manager, kind, _INT32.as_pointer())


def _is_inside(builder: Any, kind: Guarded, index: Any) -> Any:
    """Negative numbers are large ones without a sign."""
    return builder.icmp_unsigned("<", index, ir.Constant(index.type, kind.length))


@intrinsic
def _write(typing_context: Any, out: Any, index: Any, value: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, index, value = args
        with builder.if_then(_is_inside(builder, out, index), likely=True):
            builder.store(value, builder.gep(place, [index]))
        return context.get_dummy_value()

    return types.void(out, types.int64, types.int32), generate


@intrinsic
def _read(typing_context: Any, out: Any, index: Any) -> Any:
    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        place, index = args
        inside = _is_inside(builder, out, index)
        there = builder.select(inside, index, ir.Constant(index.type, 0))
        return builder.select(inside, builder.load(builder.gep(place, [there])), _NONE)

    return types.int32(out, types.int64), generate


@overload(operator.setitem)
def _set(out, index, value):  # type: ignore[no-untyped-def]
    if isinstance(out, Guarded) and isinstance(index, types.Integer):
        return lambda out, index, value: _write(out, index, value)
    return None


@overload(operator.getitem)
def _get(out, index):  # type: ignore[no-untyped-def]
    if isinstance(out, Guarded) and isinstance(index, types.Integer):
        return lambda out, index: _read(out, index)
    return None
