"""
Signatures of a network's inputs and outputs: a tensor, a sequence of signatures, or None (an optional without a value).

A program has only tensors: those of a sequence `x` are `x.0`, `x.1` and so on; an optional without a value has none.
Nested tuples (or lists) represent sequences, None an optional without a value, and other objects a tensor: its
signature, or its elements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

import numpy as np
import onnx

from ..support.errors import InputError
from .strings import encode, is_text
from .tensors import Array, Dtype, NodeError, Shape


@dataclass(frozen=True)
class TensorSignature:
    """Shape and element type of a tensor; strings have numpy's type `S` with a width."""

    shape: Shape
    dtype: Dtype


Signature: TypeAlias = "TensorSignature | tuple[Signature, ...] | None"


def leaves(name: str, tree: Any) -> Iterator[tuple[str, Any]]:
    """The tensors of an input or output, with their names in the program."""
    if isinstance(tree, tuple | list):
        for position, item in enumerate(cast("tuple[Any, ...]", tree)):
            yield from leaves(member(name, position), item)
    elif tree is not None:
        yield name, tree


def member(name: str, position: int) -> str:
    """The name of the element at a position of a sequence."""
    return f"{name}.{position}"


def signature_of(tree: Any) -> Signature:
    """The signature of a tree of arrays."""
    if isinstance(tree, tuple | list):
        return tuple(signature_of(item) for item in cast("tuple[Any, ...]", tree))
    return None if tree is None else TensorSignature(tree.shape, tree.dtype)


def assemble(
    name: str, signature: Signature, tensors: Mapping[str, Array], finish: Callable[[Array, Dtype], Array]
) -> Any:
    """An output from the tensors of the program: an array, a list, or None; `finish` is applied to each array."""
    if signature is None:
        return None
    if isinstance(signature, tuple):
        return [assemble(member(name, position), item, tensors, finish) for position, item in enumerate(signature)]
    return finish(tensors[name], signature.dtype)


def conform(name: str, declared: onnx.TypeProto, value: Any) -> Any:
    """
    The value given for an input as arrays, tuples of arrays, or None, with strings encoded.

    Raises InputError if the structure is not the declared one; element types and shapes are not checked.
    """
    kind = declared.WhichOneof("value")
    if kind == "optional_type":
        return None if value is None else conform(name, declared.optional_type.elem_type, value)
    if value is None:
        raise InputError(f"input {name!r} has no value")
    if kind == "sequence_type":
        if not isinstance(value, tuple | list):
            raise InputError(f"input {name!r} is a sequence: give a list of arrays")
        items = cast("list[Any]", value)
        inner = declared.sequence_type.elem_type
        return tuple(conform(member(name, position), inner, item) for position, item in enumerate(items))
    array = np.asarray(value)
    if declared.tensor_type.elem_type != onnx.TensorProto.STRING:
        return array
    if array.size and not (is_text(array.dtype) or array.dtype.kind == "S"):
        raise InputError(f"input {name!r} has elements of type {array.dtype}, expected strings")
    try:
        return encode(array)
    except NodeError as error:
        raise InputError(f"input {name!r}: {error}") from error
