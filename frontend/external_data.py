"""A check of a model's external data files."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import onnx

from ..support.errors import InputError
from ..support.input_files import check_regular


def check_external_data(model: onnx.ModelProto, folder: str) -> None:
    """
    Raises InputError if a tensor's external data is not a regular file.

    To be called before these files are opened: ONNX, ONNX Runtime and this importer would wait on a pipe forever.
    Missing files are not reported, because not all of them may be needed.
    """
    nodes = [node for function in model.functions for node in function.node]
    for location in dict.fromkeys(_locations(model.graph, nodes)):
        try:
            check_regular(Path(folder) / location)
        except InputError as error:
            raise InputError(f"external data of the model: {error}") from None


def _locations(graph: onnx.GraphProto, nodes: Iterable[onnx.NodeProto]) -> Iterator[str]:
    yield from _of_tensors(graph.initializer)
    for sparse in graph.sparse_initializer:
        yield from _of_tensors((sparse.values, sparse.indices))
    for node in (*graph.node, *nodes):
        for attribute in node.attribute:
            yield from _of_tensors((attribute.t, *attribute.tensors))
            for sparse in (attribute.sparse_tensor, *attribute.sparse_tensors):
                yield from _of_tensors((sparse.values, sparse.indices))
            for inner in (attribute.g, *attribute.graphs):
                yield from _locations(inner, ())


def _of_tensors(tensors: Iterable[onnx.TensorProto]) -> Iterator[str]:
    for tensor in tensors:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            yield from (entry.value for entry in tensor.external_data if entry.key == "location")
