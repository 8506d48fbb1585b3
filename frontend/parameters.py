"""Import of a network for training: its weights become inputs that are marked as parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import onnx
from onnx import helper
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, UnitAttr

from ..dialects.dataflow.entry_function import argument_names, find_main
from ..support.warn import warn
from .model_file import ModelLike, read_model
from .node import array_of
from .onnx_import import ValuesNeededError, import_onnx
from .tensors import Array, NodeError

PARAMETER = "dataflow.parameter"
"""Unit attribute of the arguments of `@main` that were weights."""

_FLOATS = (onnx.TensorProto.FLOAT, onnx.TensorProto.DOUBLE, onnx.TensorProto.FLOAT16, onnx.TensorProto.BFLOAT16)


def import_with_parameters(
    model: ModelLike,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    values: Mapping[str, Any] | None = None,
    on_note: Callable[[str], None] = warn,
) -> tuple[ModuleOp, dict[str, Array]]:
    """
    As `import_onnx`, but the model's float initialisers (and Constant nodes) of two or more elements are inputs, marked
    `dataflow.parameter`, so that they are not folded. Also returns their values by name. Those that the import must
    know, such as the scales of a resize, stay constants. Raises the exceptions of `import_onnx`.
    """
    proto, path, _ = read_model(model)
    folder = str(path.parent) if path else ""
    wanted = {
        name: tensor
        for name, tensor in _known_tensors(proto.graph)
        if tensor.data_type in _FLOATS and math.prod(tensor.dims) > 1
    }
    while True:
        try:
            module = import_onnx(_with_inputs(proto, wanted, folder), shapes, values, on_note)
            break
        except ValuesNeededError as error:
            needed = [name for name in error.inputs if wanted.pop(name, None) is not None]
            if not needed:
                raise
    main = find_main(module)
    names = argument_names(main)
    used = {name for name, value in zip(names, main.body.block.args, strict=True) if value.first_use is not None}
    entries = main.arg_attrs.data if main.arg_attrs is not None else ()
    main.arg_attrs = ArrayAttr(
        DictionaryAttr({**entry.data, PARAMETER: UnitAttr()}) if name in wanted and name in used else entry
        for name, entry in zip(names, entries, strict=True)
    )
    return module, {name: array_of(tensor, folder) for name, tensor in wanted.items()}


def _known_tensors(graph: onnx.GraphProto) -> Iterator[tuple[str, onnx.TensorProto]]:
    """Initialisers and Constant nodes by name."""
    for tensor in graph.initializer:
        yield tensor.name, tensor
    for node in graph.node:
        if node.op_type == "Constant" and node.attribute and node.attribute[0].name == "value":
            yield node.output[0], node.attribute[0].t


def _with_inputs(model: onnx.ModelProto, wanted: Mapping[str, onnx.TensorProto], folder: str) -> onnx.ModelProto:
    """The model with these initialisers as inputs, and all others inside it."""
    changed = onnx.ModelProto()
    changed.CopyFrom(model)
    graph = changed.graph
    kept = [tensor for tensor in graph.initializer if tensor.name not in wanted]
    inputs = [info for info in graph.input if info.name not in wanted]
    nodes = [node for node in graph.node if not (node.op_type == "Constant" and node.output[0] in wanted)]
    del graph.initializer[:], graph.input[:], graph.node[:]
    graph.node.extend(nodes)
    for tensor in kept:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            try:
                inner = onnx.numpy_helper.from_array(array_of(tensor, folder), tensor.name)
            except NodeError:
                inner = tensor  # the import reports the error
            graph.initializer.append(inner)
        else:
            graph.initializer.append(tensor)
    graph.input.extend(inputs)
    graph.input.extend(
        helper.make_tensor_value_info(name, tensor.data_type, list(tensor.dims)) for name, tensor in wanted.items()
    )
    return changed
