"""Bodies of operators that ONNX or the model defines as functions, for import in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import onnx

from .node import Node
from .refusals import advice
from .tensors import FLOAT32, Absent, Dtype, NodeError, Tensor, TensorSequence, is_string


def has_body(name: str, domain: str, opset: int) -> bool:
    """Whether ONNX defines an operator as a function of other operators."""
    try:
        schema: Any = onnx.defs.get_schema(name, max(opset, 1), domain)
    except onnx.defs.SchemaError:
        return False
    return schema.has_function or schema.has_context_dependent_function


def body_of(node: Node, domain: str) -> onnx.FunctionProto:
    """The function body that ONNX gives for an operator, with the node's attributes and types."""
    schema: Any = onnx.defs.get_schema(node.proto.op_type, node.opset, domain)
    if schema.has_function:
        versions = [v for v in schema.function_opset_versions if v <= node.opset]
        if versions:
            data = schema.get_function_with_opset_version(max(versions))
            return onnx.FunctionProto.FromString(data)
    types = [b"" if one is None or isinstance(one, Absent) else type_of(one).SerializeToString() for one in node.inputs]
    versions = [v for v in schema.context_dependent_function_opset_versions if v <= node.opset]
    if not versions:
        raise NodeError(advice(node.proto.op_type, domain, node.opset))
    data = schema.get_context_dependent_function_with_opset_version(
        max(versions), node.proto.SerializeToString(), types
    )
    return onnx.FunctionProto.FromString(data)


def default_attributes(node: Node, domain: str) -> dict[str, onnx.AttributeProto]:
    """ONNX's default values of the attributes that a node omits; none for operators of other domains."""
    try:
        schema: Any = onnx.defs.get_schema(node.proto.op_type, max(node.opset, 1), domain)
    except onnx.defs.SchemaError:
        return {}
    defaults = ((name, attribute.default_value) for name, attribute in schema.attributes.items())
    return {name: value for name, value in defaults if value.type != onnx.AttributeProto.UNDEFINED}


def type_of(tensor: Tensor) -> onnx.TypeProto:
    """The ONNX type of a value; the tensors of a sequence have shapes of their own."""
    if isinstance(tensor, TensorSequence):
        first = tensor.items[0].dtype if tensor.items else FLOAT32
        return onnx.helper.make_sequence_type_proto(onnx.helper.make_tensor_type_proto(_element(first), None))
    return onnx.helper.make_tensor_type_proto(_element(tensor.dtype), tensor.shape)


def _element(dtype: Dtype) -> int:
    return onnx.TensorProto.STRING if is_string(dtype) else onnx.helper.np_dtype_to_tensor_dtype(dtype)


def substitute(node: onnx.NodeProto, given: Mapping[str, onnx.AttributeProto]) -> onnx.NodeProto:
    """A node of a function body with references to the function's attributes replaced by the caller's values."""
    if not any(attribute.ref_attr_name or attribute.HasField("g") for attribute in node.attribute):
        return node
    result = onnx.NodeProto()
    result.CopyFrom(node)
    del result.attribute[:]
    for attribute in node.attribute:
        if attribute.ref_attr_name:
            value = given.get(attribute.ref_attr_name)
            if value is not None:
                added = result.attribute.add()
                added.CopyFrom(value)
                added.name = attribute.name
        else:
            added = result.attribute.add()
            added.CopyFrom(attribute)
            for position, inner in enumerate(attribute.g.node):
                added.g.node[position].CopyFrom(substitute(inner, given))
    return result
