"""
ONNX models to `dataflow` modules.

The importer walks the graph in order. Each operator has a function in the table of `registry`; operators without one
are replaced by their function body, where ONNX (or the model) has one. What does not depend on the network's inputs is
computed on the way. Problems are collected, so that one error names all nodes that cannot be imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from xdsl.builder import Builder as OpBuilder
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp, NameLoc, StringAttr, UnknownLoc
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ..support.errors import InputError
from . import registry
from .builder import Builder
from .builder_values import SMALL
from .function_bodies import body_of, has_body, substitute
from .model_file import ModelLike, describe_shape, read_model, static_size
from .node import Node, array_of, numpy_dtype
from .sources import Sources
from .tensors import Array, NodeError, Shape, Tensor, known, tensor_type

_NAMES_OF_BATCH = ("n", "b", "batch", "batch_size")


def import_onnx(
    model: ModelLike,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    values: Mapping[str, Any] | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> ModuleOp:
    """
    Import a model (a file, its bytes, or a parsed model) as a module with one function `main`.

    `shapes` gives the shapes of inputs with symbolic dimensions; `values` fixes inputs to constants, which then are no
    inputs of the result. A free dimension that looks like a batch is taken as 1, unless `shapes` says otherwise: `tell`
    is told of it, a line an input.

    Raises InputError for files that are not ONNX, and one InputError that lists all nodes that cannot be imported (a
    ValuesNeededError naming inputs, where known values for these would help).
    """
    proto, path, data = read_model(model)
    name = str(path) if path else (proto.graph.name or "model")
    sources = Sources(SMALL)
    if path and data:
        sources.add_model(str(path), data)
    importer = _ModelImporter(proto, name, sources, str(path.parent) if path else "")
    try:
        module = importer.run(dict(shapes or {}), dict(values or {}))
    except MALFORMED as error:
        raise InputError(f"{name} is damaged: {type(error).__name__}: {error}") from error
    for line in importer.assumed:
        tell(line)
    return module


MALFORMED = (ArithmeticError, AttributeError, IndexError, KeyError, MemoryError, TypeError, ValueError)
"""What malformed nodes and names lead to: too few operands, shapes without sense, bytes that are no text."""


class ValuesNeededError(InputError):
    """The model can only be imported with known values for some of its inputs, named by `inputs`."""

    def __init__(self, message: str, inputs: tuple[str, ...]):
        super().__init__(message)
        self.inputs = inputs


@dataclass
class Scope:
    """The names that the nodes of one graph (or function body) see, and how to import more of it."""

    importer: _ModelImporter
    opsets: Mapping[str, int]
    values: dict[str, Tensor | None]
    build: Builder
    uses: dict[str, int] = field(default_factory=dict[str, int])
    outer: Scope | None = None

    def lookup(self, name: str) -> Tensor | None:
        """The tensor of a name, here or in a graph around; None for the empty name. Raises NodeError if undefined."""
        if not name:
            return None
        scope: Scope | None = self
        while scope is not None:
            if name in scope.values:
                return scope.values[name]
            scope = scope.outer
        raise NodeError(f"value {name!r} is used but not defined")

    def array_of(self, proto: onnx.TensorProto) -> Array:
        """The elements of a tensor of the model."""
        return array_of(proto, self.importer.folder)

    def subgraph(self, graph: onnx.GraphProto, inputs: Sequence[Tensor] = ()) -> list[Tensor]:
        """Import a subgraph in place, its inputs bound to these tensors, and return its outputs."""
        scope = Scope(self.importer, self.opsets, {}, self.build, outer=self)
        for info, tensor in zip(graph.input, inputs, strict=False):
            scope.values[info.name] = tensor
        self.importer.run_graph(graph, scope)
        results = [scope.lookup(info.name) for info in graph.output]
        if any(result is None for result in results) or self.importer.is_poisoned(results):
            raise _AlreadyReported
        return [result for result in results if result is not None]


class _AlreadyReported(Exception):
    """The reason why a node cannot be imported is in the list of problems already."""


_POISON = Tensor((), np.dtype(np.float32), name="poison")


class _ModelImporter:
    def __init__(self, model: onnx.ModelProto, name: str, sources: Sources, folder: str) -> None:
        self.model = model
        self.name = name
        self.folder = folder
        self.assumed: list[str] = []
        """What the model leaves open and the import took for granted, a line each."""
        self.sources = sources
        self.problems: list[str] = []
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self._reported: set[tuple[str, str, str]] = set()
        self._needed_values: set[SSAValue] = set()

    # ---- the module ----

    def run(self, shapes: dict[str, Shape], values: dict[str, Any]) -> ModuleOp:
        graph = self.model.graph
        self._check_names(graph)
        opsets = {"" if o.domain == "ai.onnx" else o.domain: o.version for o in self.model.opset_import}
        block = Block()
        build = Builder(OpBuilder(InsertPoint.at_end(block)), self.sources)
        scope = Scope(self, opsets, {}, build)
        inputs = self._inputs(graph, shapes, values, scope)
        for name, tensor in inputs:
            try:
                argument = block.insert_arg(tensor_type(tensor.dtype, tensor.shape), len(block.args))
            except NodeError as error:
                raise InputError(f"{self.name}: input {name!r}: {error}") from error
            argument.name_hint = _hint(name)
            tensor.value = argument
            scope.values[name] = tensor
        self.run_graph(graph, scope)
        outputs: list[tuple[str, SSAValue]] = []
        for info in graph.output:
            try:
                tensor = scope.lookup(info.name)
                if tensor is None or tensor is _POISON:
                    continue
                build.hint = info.name
                outputs.append((info.name, build.value(tensor)))
            except NodeError as error:
                self.problems.append(f"output {info.name!r}: {error}")
        if self.problems:
            message = "\n".join([f"{self.name} cannot be imported:", *("  " + p for p in self.problems)])
            needed = _sources_of(self._needed_values)
            names = tuple(name for name, tensor in inputs if tensor.value in needed)
            raise ValuesNeededError(message, names) if names else InputError(message)
        block.add_op(ReturnOp(*(value for _, value in outputs)))
        _erase_dead(block)
        function = FuncOp(
            "main",
            ([argument.type for argument in block.args], [value.type for _, value in outputs]),
            Region(block),
            arg_attrs=_name_attrs(name for name, _ in inputs),
            res_attrs=_name_attrs(name for name, _ in outputs),
        )
        return ModuleOp([function])

    def _check_names(self, graph: onnx.GraphProto) -> None:
        """Raises InputError where a name stands for two values, or for two outputs."""
        inputs = [info.name for info in graph.input]
        values = [*inputs, *(name for node in graph.node for name in node.output if name)]
        for what, names in (("value", values), ("output", [info.name for info in graph.output])):
            if twice := [name for name, count in Counter(names).items() if count > 1]:
                raise InputError(f"{self.name}: {what} {twice[0]!r} is defined twice: names must be unique")

    def _inputs(
        self, graph: onnx.GraphProto, shapes: dict[str, Shape], values: dict[str, Any], scope: Scope
    ) -> list[tuple[str, Tensor]]:
        initialised = {tensor.name for tensor in graph.initializer}
        infos = [info for info in graph.input if info.name not in initialised]
        names = {info.name for info in infos}
        for name in (*shapes, *values):
            if name not in names:
                listed = ", ".join(sorted(names)) or "none"
                raise InputError(f"{self.name} has no input {name!r}; its inputs are: {listed}")
        symbols: dict[str, int] = {}
        for info in infos:
            if info.name in shapes:
                self._check_given(info, shapes[info.name], symbols)
        result: list[tuple[str, Tensor]] = []
        missing: list[str] = []
        for info in infos:
            if not info.type.HasField("tensor_type"):
                kind = info.type.WhichOneof("value") or "unknown"
                raise InputError(f"{self.name}: input {info.name!r} is not a tensor ({kind}), which is not supported")
            try:
                dtype = numpy_dtype(info.type.tensor_type.elem_type)
            except NodeError as error:
                raise InputError(f"{self.name}: input {info.name!r}: {error}") from error
            shape = shapes.get(info.name) or self._guess(info, symbols, missing)
            if info.name in values:
                scope.values[info.name] = known(np.asarray(values[info.name]).astype(dtype), name=info.name)
            else:
                result.append((info.name, Tensor(tuple(shape), dtype, name=info.name)))
        if missing:
            raise InputError(f"{self.name} has inputs of unknown shape:\n" + "\n".join(missing))
        return result

    def _check_given(self, info: onnx.ValueInfoProto, shape: Shape, symbols: dict[str, int]) -> None:
        if not info.type.tensor_type.HasField("shape"):
            return
        dims = info.type.tensor_type.shape.dim
        if len(dims) != len(shape) or any(
            static_size(dim) not in (None, size) for dim, size in zip(dims, shape, strict=True)
        ):
            raise InputError(
                f"{self.name}: shape {'x'.join(map(str, shape))} does not fit input {info.name!r},"
                f" which is declared as {describe_shape(info)}"
            )
        for dim, size in zip(dims, shape, strict=True):
            if dim.dim_param and dim.dim_param != "?":
                symbols[dim.dim_param] = size

    def _guess(self, info: onnx.ValueInfoProto, symbols: dict[str, int], missing: list[str]) -> Shape:
        """The declared shape, symbolic dimensions bound by other inputs, else 1 for what looks like a batch."""
        if not info.type.tensor_type.HasField("shape"):
            missing.append(f"  {info.name}: no shape declared; give one, e.g. --shape {info.name}=1x3x224x224")
            return ()
        dims = info.type.tensor_type.shape.dim
        sizes: list[int | None] = []
        guessed: list[str] = []
        for axis, dim in enumerate(dims):
            size = static_size(dim)
            if size is None:
                size = symbols.get(dim.dim_param)
            if size is None and (axis == 0 or dim.dim_param.lower() in _NAMES_OF_BATCH):
                size = 1
                guessed.append(f"'{dim.dim_param}'" if dim.dim_param else f"number {axis}")
            sizes.append(size)
        if None in sizes:
            example = "x".join("?" if size is None else str(size) for size in sizes)
            missing.append(f"  {info.name}: {describe_shape(info)}; give it as --shape {info.name}={example}")
        elif guessed:
            example = "x".join(map(str, sizes))
            self.assumed.append(
                f"{self.name}: input {info.name!r} is {describe_shape(info)}, dimension {' and '.join(guessed)} is "
                f"taken as 1; --shape {info.name}={example} says so, or another size"
            )
        return tuple(size or 0 for size in sizes)

    # ---- graphs and nodes ----

    def run_graph(self, graph: onnx.GraphProto, scope: Scope) -> None:
        """Import the initialisers and the needed nodes of a graph into a scope."""
        for tensor in graph.initializer:
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                self.sources.add_external(self.folder, tensor)
            try:
                scope.values[tensor.name] = known(scope.array_of(tensor), name=tensor.name)
            except NodeError as error:
                self.problems.append(f"initialiser {tensor.name!r}: {error}")
                scope.values[tensor.name] = _POISON
        for sparse in graph.sparse_initializer:
            self.problems.append(f"initialiser {sparse.values.name!r}: sparse tensors are not supported")
            scope.values[sparse.values.name] = _POISON
        self.run_nodes(graph.node, [info.name for info in graph.output], scope)

    def run_nodes(self, nodes: Iterable[onnx.NodeProto], outputs: Iterable[str], scope: Scope) -> None:
        """Import the nodes that the outputs need."""
        needed = _needed(list(nodes), set(outputs))
        for node in needed:
            for name in node.input:
                scope.uses[name] = scope.uses.get(name, 0) + 1
        for name in outputs:
            scope.uses[name] = scope.uses.get(name, 0) + 1
        for node in needed:
            results = self._run_node(node, scope)
            for position, name in enumerate(node.output):
                if name:
                    result = _POISON if results is None else results[position] if position < len(results) else None
                    if result is None:
                        self._report(node, scope, f"output {position} is not supported")
                        result = _POISON
                    _name(result, name)
                    scope.values[name] = result

    def is_poisoned(self, tensors: Iterable[Tensor | None]) -> bool:
        """Whether one of the tensors could not be imported."""
        return any(tensor is _POISON for tensor in tensors)

    def _run_node(self, proto: onnx.NodeProto, scope: Scope) -> Sequence[Tensor | None] | None:
        """The outputs of a node, or None after reporting why it cannot be imported."""
        try:
            return self._import_node(proto, scope)
        except _AlreadyReported:
            return None
        except NodeError as error:
            if error.needs is not None:
                self._needed_values.add(error.needs)
            self._report(proto, scope, str(error))
            return None
        except MALFORMED as error:
            words = " ".join(str(error).split())
            self._report(proto, scope, f"malformed ({type(error).__name__}: {words[:300]})")
            return None

    def _import_node(self, proto: onnx.NodeProto, scope: Scope) -> Sequence[Tensor | None]:
        domain = "" if proto.domain == "ai.onnx" else proto.domain
        opset = scope.opsets.get(domain, 0)
        function = registry.find(proto.op_type, opset, domain)
        inputs = [scope.lookup(name) for name in proto.input]
        local = self.functions.get((proto.domain, proto.op_type))
        if local is None and function is None and not has_body(proto.op_type, domain, opset):
            raise NodeError("the operator is not supported")
        if self.is_poisoned(inputs):
            raise _AlreadyReported
        node = Node(proto, inputs, opset, scope)
        before = scope.build.ops.insertion_point.block.last_op
        scope.build.hint = next((name for name in proto.output if name), "")
        if local is not None:
            results = self._call(local, node, {o.domain: o.version for o in local.opset_import})
        elif function is not None:
            result = function(node)
            results = [result] if isinstance(result, Tensor) else list(result)
        else:
            results = self._call(body_of(node, domain), node, scope.opsets)
        self._locate(proto, scope, before)
        return results

    def _locate(self, proto: onnx.NodeProto, scope: Scope, before: Any) -> None:
        """Give the new operations the node's name as location."""
        name = proto.name or next((output for output in proto.output if output), "")
        location = NameLoc(StringAttr(f"{proto.op_type}:{name}"), UnknownLoc())
        op = scope.build.ops.insertion_point.block.last_op
        while op is not None and op is not before:
            if not isinstance(op.location, NameLoc):
                op.location = location
            op = op.prev_op

    def _call(self, function: onnx.FunctionProto, node: Node, opsets: Mapping[str, int]) -> list[Tensor | None]:
        """Inline a function body in place of a node."""
        opsets = {"" if domain == "ai.onnx" else domain: version for domain, version in opsets.items()}
        scope = Scope(self, opsets, {}, node.build)
        for position, name in enumerate(function.input):
            scope.values[name] = node.inputs[position] if position < len(node.inputs) else None
        given = dict(node.attributes())
        for default in function.attribute_proto:
            given.setdefault(default.name, default)
        self.run_nodes([substitute(inner, given) for inner in function.node], function.output, scope)
        # An optional output may be left out by the body; `run_nodes` reports it if the caller wants it.
        results = [scope.values.get(name) for name in function.output]
        if self.is_poisoned(results):
            raise _AlreadyReported
        return results

    def _report(self, proto: onnx.NodeProto, scope: Scope, reason: str) -> None:
        domain = proto.domain or "ai.onnx"
        name = proto.name or "(unnamed, output " + next((o for o in proto.output if o), "?") + ")"
        key = (proto.op_type, name, reason)
        if key not in self._reported:
            self._reported.add(key)
            opset = scope.opsets.get("" if domain == "ai.onnx" else domain, 0)
            self.problems.append(f"operator {proto.op_type} (domain {domain}, opset {opset}), node {name}: {reason}")


def _hint(name: str) -> str | None:
    clean = "".join(c if c.isascii() and (c.isalnum() or c == "_") else "_" for c in name)
    return clean if SSAValue.is_valid_name(clean) else None


def _name(tensor: Tensor, name: str) -> None:
    """Let the IR's value be called as the ONNX value, for who reads it."""
    if tensor is _POISON:
        return
    tensor.name = tensor.name or name
    if tensor.value is not None and tensor.value.name_hint is None:
        tensor.value.name_hint = _hint(name)


def _name_attrs(names: Iterable[str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({"dataflow.name": StringAttr(name)}) for name in names])


def _inner_names(node: onnx.NodeProto) -> Iterable[str]:
    """Names that subgraphs of a node may take from outside."""
    for attribute in node.attribute:
        for graph in (attribute.g, *attribute.graphs):
            for inner in graph.node:
                yield from inner.input
                yield from _inner_names(inner)
            yield from (info.name for info in graph.output)


def _needed(nodes: Sequence[onnx.NodeProto], outputs: set[str]) -> list[onnx.NodeProto]:
    """The nodes that the outputs depend on, in their order."""
    wanted = set(outputs)
    kept: list[onnx.NodeProto] = []
    for node in reversed(nodes):
        if any(name in wanted for name in node.output if name):
            kept.append(node)
            wanted.update(node.input)
            wanted.update(_inner_names(node))
    return kept[::-1]


def _sources_of(values: Iterable[SSAValue]) -> set[SSAValue]:
    """All values that these are computed from, themselves included."""
    seen: set[SSAValue] = set()
    waiting = list(values)
    while waiting:
        value = waiting.pop()
        if value not in seen:
            seen.add(value)
            if isinstance(value.owner, Operation):
                waiting.extend(value.owner.operands)
    return seen


def _erase_dead(block: Block) -> None:
    """Erase the operations without users, which all are free of effects."""
    for op in list(block.ops)[::-1]:
        if op.results and all(result.first_use is None for result in op.results):
            op.detach()
            op.erase()
