"""
Imports ONNX models as `dataflow` modules.

The importer visits the nodes of the graph in order. The table of `registry` has a function for each operator; operators
without one are replaced by their function body, if ONNX or the model defines one. Values that do not depend on the
network's inputs are computed. Errors are collected, so that one message names all operators that cannot be imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from xdsl.builder import Builder as OpBuilder
from xdsl.dialects.builtin import ArrayAttr, CallSiteLoc, DictionaryAttr, LocationAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Operation, OpResult, Region, SSAValue
from xdsl.rewriter import InsertPoint

from ..dialects.locations import at, named
from ..dialects.module_notes import notes_of
from ..dialects.step_notes import StepNotes, note_steps, noted_steps
from ..dialects.tensor_names import note_tensors, value_name_of
from ..support.errors import InputError
from ..support.sizes import UpTo
from ..support.warn import warn
from . import registry
from .bounded_axes import LENGTH, bound_axes, check_alike
from .builder import Builder
from .builder_strings import StringBuilder
from .builder_values import SMALL
from .function_bodies import body_of, default_attributes, has_body, substitute
from .inputs import check_outputs, declared_inputs, fixed_inputs, given_inputs
from .model_file import ModelLike, read_model
from .node import Node, array_of
from .node_order import needed_nodes
from .refusals import Refusals, advice
from .signatures import Signature, TensorSignature, member
from .sources import Sources
from .tensors import Absent, AlreadyReported, Array, NodeError, Tensor, TensorSequence, is_string, known, tensor_type


def import_onnx(
    model: ModelLike,
    shapes: Mapping[str, tuple[int, ...]] | None = None,
    values: Mapping[str, Any] | None = None,
    on_note: Callable[[str], None] = warn,
    most_steps: int | None = None,
) -> ModuleOp:
    """
    Import a model (a file, its bytes, or a parsed model) as a module with one function `main`.

    `shapes` gives the shapes of inputs with symbolic dimensions. `values` fixes inputs to constants, which then are not
    inputs of the module. A symbolic dimension that looks like a batch is assumed to be 1, unless `shapes` gives it:
    `on_note` is called with a line for each such input (by default, it warns). `most_steps`: the largest number of
    iterations of loops whose number of iterations is known at run time only. A size in `shapes` may be an `UpTo`: the
    module then accepts inputs of any length up to that bound, and has the length as an additional input.

    Raises InputError for files that are not ONNX, and one InputError that lists all operators that cannot be imported
    (a ValuesNeededError naming inputs, where known values for these would help).
    """
    sizes = shapes or {}
    if any(isinstance(size, UpTo) for shape in sizes.values() for size in shape):
        return _import_bounded(model, sizes, values, on_note, most_steps)
    importer = _importer(model)
    importer.most_steps = most_steps
    with _damage_reported(importer.name):
        fixed = fixed_inputs(importer.name, importer.model.graph, values or {})
        signatures, assumed = declared_inputs(importer.name, importer.model.graph, shapes or {}, fixed)
        module, outputs = importer.run(signatures, fixed)
    check_outputs(importer.name, outputs)
    for line in assumed:
        on_note(line)
    return module


def _import_bounded(
    model: ModelLike,
    shapes: Mapping[str, tuple[int, ...]],
    values: Mapping[str, Any] | None,
    on_note: Callable[[str], None],
    most_steps: int | None,
) -> ModuleOp:
    """`import_onnx` if some inputs have one axis of any length up to a bound, the same length for all of them."""
    axes = {name: [axis for axis, size in enumerate(shape) if isinstance(size, UpTo)] for name, shape in shapes.items()}
    sizes = {size for shape in shapes.values() for size in shape if isinstance(size, UpTo)}
    bounds = {(int(size), size.least) for size in sizes}
    if len(bounds) > 1 or any(len(one) > 1 for one in axes.values()):
        raise InputError(
            "several lengths are known at run time only: expected at most one such axis per input, of the "
            "same length in all inputs"
        )
    ((bound, least),) = bounds

    def imported(length: int, note: Callable[[str], None]) -> ModuleOp:
        fixed = {
            name: tuple(length if isinstance(size, UpTo) else size for size in shape) for name, shape in shapes.items()
        }
        return import_onnx(model, fixed, values, note, most_steps)

    whole = imported(bound, on_note)
    inputs = {name: found[0] for name, found in axes.items() if found}
    outputs = bound_axes(module := whole.clone(), inputs, bound)
    check_alike(whole, imported(bound - 1, lambda text: None), "the network")
    steps = noted_steps(notes_of(module))
    length = LENGTH.format(next(iter(inputs)))
    steps.lengths = {name: [axis, least, length] for name, axis in inputs.items()}
    if times := [name for name, rows in outputs.items() if rows.times != 1]:
        raise InputError(
            f"output {times[0]!r} has several rows for each row of an input whose length is known at run time only"
        )
    steps.rows |= {name: [rows.axis, length] for name, rows in outputs.items()}
    note_steps(module, steps)
    return module


def import_for(
    model: ModelLike, signatures: Mapping[str, Signature], values: Mapping[str, Any] | None = None
) -> tuple[ModuleOp, dict[str, Signature]]:
    """
    As `import_onnx`, for inputs of these signatures, which may be sequences, optionals and strings; `values` fixes some
    of their tensors. In the module the tensors have the names of `signatures.leaves`. Also returns the signatures of
    the outputs. Raises the exceptions of `import_onnx`.
    """
    importer = _importer(model)
    with _damage_reported(importer.name):
        return importer.run(given_inputs(importer.name, importer.model.graph, signatures), values or {})


def _importer(model: ModelLike) -> _ModelImporter:
    proto, path, data = read_model(model)
    name = str(path) if path else (proto.graph.name or "model")
    sources = Sources(SMALL)
    if path and data:
        sources.add_model(str(path), data)
    return _ModelImporter(proto, name, sources, str(path.parent) if path else "")


MALFORMED = (ArithmeticError, AttributeError, IndexError, KeyError, MemoryError, TypeError, ValueError)
"""Exceptions that malformed nodes and names cause: missing operands, invalid shapes, invalid UTF-8."""


@contextmanager
def _damage_reported(name: str) -> Generator[None]:
    try:
        yield
    except MALFORMED as error:
        raise InputError(f"{name} is damaged: {type(error).__name__}: {error}") from error


class ValuesNeededError(InputError):
    """The model can only be imported with known values for some of its inputs, named by `inputs`."""

    def __init__(self, message: str, inputs: tuple[str, ...]):
        super().__init__(message)
        self.inputs = inputs


@dataclass
class Scope:
    """The scope of one graph or function body: the tensors of its names, and what is needed to import its nodes."""

    importer: _ModelImporter
    opsets: Mapping[str, int]
    values: dict[str, Tensor | None]
    build: Builder
    uses: dict[str, int] = field(default_factory=dict[str, int])
    outer: Scope | None = None
    call: LocationAttr | None = None
    """For a function body, the location of the node that calls it."""
    names_nodes: bool = True
    """Whether the names of nodes come from the model; those in function bodies that ONNX defines do not."""
    is_nested: bool = False
    """Whether the graph, or the node that calls the function, is in a subgraph of a node (`If`, `Loop`, `Scan`)."""

    def location(self, node: onnx.NodeProto) -> LocationAttr:
        """
        The location of operations created for a node: its name, or its type and first output; in function bodies also
        the location of the calling node.
        """
        if self.call is not None and not self.names_nodes:
            return self.call
        output = next((output for output in node.output if output), "")
        name = named(node.name or f"{node.op_type}:{output}")
        return name if self.call is None else CallSiteLoc(name, self.call)

    def lookup(self, name: str) -> Tensor | None:
        """
        The tensor of a name in this scope or an enclosing one; None for the empty name. Raises NodeError if undefined.
        """
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

    def tentatively(self) -> AbstractContextManager[None]:
        """See `Importer.run_graph`."""
        return self.importer.tentatively()

    def subgraph(self, graph: onnx.GraphProto, inputs: Sequence[Tensor] = ()) -> list[Tensor]:
        """Import a subgraph in place, its inputs bound to these tensors, and return its outputs."""
        scope = Scope(
            self.importer,
            self.opsets,
            {},
            self.build,
            outer=self,
            call=self.call,
            names_nodes=self.names_nodes,
            is_nested=True,
        )
        for info, tensor in zip(graph.input, inputs, strict=False):
            scope.values[info.name] = tensor
        self.importer.run_graph(graph, scope)
        results = [scope.lookup(info.name) for info in graph.output]
        if any(result is None for result in results) or self.importer.is_poisoned(results):
            raise AlreadyReported
        return [result for result in results if result is not None]

    @property
    def most_steps(self) -> int | None:
        """
        The largest number of iterations of a loop whose number of iterations is known at run time only; None if it was
        not given.
        """
        return self.importer.most_steps

    def note_most(self, count: Tensor, most: int) -> None:
        """If `count` is an input of the module, record `most` as the largest number of steps that it may hold."""
        self.importer.note_most(count, most)

    def note_lengths(self, lengths: Tensor, longest: int) -> None:
        """If `lengths` is an input of the module, record `longest` as the largest length that it may hold."""
        self.importer.note_lengths(lengths, longest)

    def expand(self, node: Node) -> list[Tensor | None]:
        """The outputs of the function body that ONNX gives for a node's operator."""
        return self.importer.expand(node)


_POISON = Tensor((), np.dtype(np.float32), name="poison")


class _ModelImporter:
    def __init__(self, model: onnx.ModelProto, name: str, sources: Sources, folder: str) -> None:
        self.model = model
        self.name = name
        self.folder = folder
        self.inputs: dict[str, SSAValue] = {}
        """The arguments of the function by name."""
        self.sources = sources
        self.refusals = Refusals()
        self.functions = {(f.domain, f.name): f for f in model.functions}
        self.most_steps: int | None = None
        self.steps = StepNotes()
        self._needed_values: set[SSAValue] = set()
        self._value_names: dict[str, SSAValue] = {}
        self._inside: dict[str, list[Tensor]] = {}
        """
        The tensors that nodes of the model's graphs compute, by name, including those of branches and of loop bodies.
        """

    # ---- the module ----

    def run(
        self, signatures: Mapping[str, Signature], values: Mapping[str, Any]
    ) -> tuple[ModuleOp, dict[str, Signature]]:
        """
        The module for inputs of these signatures, with some tensors fixed to values; and the signatures of its outputs.
        """
        graph = self.model.graph
        self._check_names(graph)
        opsets = {"" if o.domain == "ai.onnx" else o.domain: o.version for o in self.model.opset_import}
        block = Block()
        build = StringBuilder(OpBuilder(InsertPoint.at_end(block)), self.sources)
        scope = Scope(self, opsets, {}, build)
        for name, signature in signatures.items():
            scope.values[name] = self._bind(name, signature, values, block)
        self.run_graph(graph, scope)
        outputs: dict[str, SSAValue] = {}
        results: dict[str, Signature] = {}
        # Outputs are identified by name: a repeated output is returned once.
        for name in dict.fromkeys(info.name for info in graph.output):
            try:
                tensor = scope.lookup(name)
                if tensor is _POISON:
                    assert self.refusals, f"output {name!r} cannot be imported, but no reason was recorded"
                    continue
                build.hint = name
                with at(named(name)):
                    results[name] = self._output(name, tensor, build, outputs)
            except NodeError as error:
                self.refusals.add(f"output {name!r}: {error}")
        if self.refusals:
            message = "\n".join([f"{self.name} cannot be imported:", *("  " + line for line in self.refusals.lines())])
            needed = _sources_of(self._needed_values)
            names = tuple(name for name, value in self.inputs.items() if value in needed)
            if not names:
                raise InputError(message)
            given = " ".join(f"--value {name}=..." for name in names)
            raise ValuesNeededError(f"{message}\n  fixing an input may help: {given} (in Python: values=)", names)
        with at(named(graph.name or self.name)):
            block.add_op(ReturnOp(*outputs.values()))
            _erase_dead(block)
            function = FuncOp(
                "main",
                ([argument.type for argument in block.args], [value.type for value in outputs.values()]),
                Region(block),
                arg_attrs=_name_attrs(self.inputs),
                res_attrs=_name_attrs(outputs),
            )
            module = ModuleOp([function])
            note_tensors(module, self._values_in(block))
            note_steps(module, self.steps)
            return module, results

    def _output(
        self, name: str, tensor: Tensor | None, build: StringBuilder, outputs: dict[str, SSAValue]
    ) -> Signature:
        """The signature of an output, after adding its tensors to `outputs`."""
        if tensor is None or isinstance(tensor, Absent):
            return None
        if isinstance(tensor, TensorSequence):
            items = enumerate(tensor.items)
            return tuple(self._output(member(name, position), item, build, outputs) for position, item in items)
        if name in outputs:
            raise NodeError("another output has this name: names must be unique")
        outputs[name] = build.value(build.bytes_of(tensor) if is_string(tensor.dtype) else tensor)
        if tensor.rows is not None:
            rows = f"{name}.rows"
            self.steps.rows[name] = [0, rows]
            outputs[rows] = build.value(tensor.rows)
        return TensorSignature(tensor.shape, tensor.dtype)

    def _check_names(self, graph: onnx.GraphProto) -> None:
        """Raises InputError if a name is defined twice."""
        inputs = [info.name for info in graph.input]
        values = [*inputs, *(name for node in graph.node for name in node.output if name)]
        if twice := [name for name, count in Counter(values).items() if count > 1]:
            raise InputError(f"{self.name}: value {twice[0]!r} is defined twice: names must be unique")

    def _bind(self, name: str, signature: Signature, values: Mapping[str, Any], block: Block) -> Tensor:
        """An input's value in the graph: arguments of the function or known values, possibly in sequences."""
        if signature is None:
            return Absent.new()
        if isinstance(signature, tuple):
            items = enumerate(signature)
            return TensorSequence.of([self._bind(member(name, at), item, values, block) for at, item in items])
        if name in self.inputs:
            raise InputError(f"{self.name}: two inputs have the name {name!r}: names must be unique")
        if name in values:
            return known(np.asarray(values[name]).astype(signature.dtype), name=name)
        try:
            tensor = Tensor(signature.shape, signature.dtype, name=name)
            tensor.value = block.insert_arg(tensor_type(tensor.dtype, tensor.shape), len(block.args))
        except NodeError as error:
            raise InputError(f"{self.name}: input {name!r}: {error}") from error
        self._name_value(tensor.value, name)
        tensor.value.location = named(name)
        self.inputs[name] = tensor.value
        return tensor

    # ---- graphs and nodes ----

    def run_graph(self, graph: onnx.GraphProto, scope: Scope) -> None:
        """Import the initialisers and the needed nodes of a graph into a scope."""
        for tensor in graph.initializer:
            if tensor.data_location == onnx.TensorProto.EXTERNAL:
                self.sources.add_external(self.folder, tensor)
            try:
                scope.values[tensor.name] = known(scope.array_of(tensor), name=tensor.name)
            except NodeError as error:
                self.refusals.add(f"initialiser {tensor.name!r}: {error}")
                scope.values[tensor.name] = _POISON
        for sparse in graph.sparse_initializer:
            self.refusals.add(f"initialiser {sparse.values.name!r}: sparse tensors are not supported")
            scope.values[sparse.values.name] = _POISON
        self.run_nodes(graph.node, [info.name for info in graph.output], scope)

    def run_nodes(self, nodes: Iterable[onnx.NodeProto], outputs: Iterable[str], scope: Scope) -> None:
        """Import the nodes that the outputs need."""
        needed = needed_nodes(list(nodes), set(outputs))
        for node in needed:
            for name in node.input:
                scope.uses[name] = scope.uses.get(name, 0) + 1
        for name in outputs:
            scope.uses[name] = scope.uses.get(name, 0) + 1
        for node in needed:
            with at(scope.location(node)):
                results = self._run_node(node, scope)
            for position, name in enumerate(node.output):
                if name:
                    result = _POISON if results is None else results[position] if position < len(results) else None
                    if result is None:
                        self._report(node, scope, f"output {position} is not supported")
                        result = _POISON
                    self._name(result, name)
                    scope.values[name] = result
                    if scope.call is None:
                        self._inside.setdefault(name, []).append(result)

    def _name(self, tensor: Tensor, name: str) -> None:
        """Name the IR's value after the ONNX value, for readers of the text."""
        if tensor is _POISON:
            return
        tensor.name = tensor.name or name
        if tensor.value is not None and tensor.value.name_hint is None:
            self._name_value(tensor.value, name)

    def _name_value(self, value: SSAValue, name: str) -> None:
        value.name_hint = unique = value_name_of(name, self._value_names)
        self._value_names[unique] = value

    def _values_in(self, block: Block) -> dict[str, SSAValue]:
        """The values of a block that are tensors of the model, by name; without names that are defined repeatedly."""
        found: dict[str, SSAValue] = {}
        for name, tensors in self._inside.items():
            value = tensors[0].value if len(tensors) == 1 else None
            if isinstance(value, OpResult) and value.op.parent is block:
                found[name] = value
        return found

    @contextmanager
    def tentatively(self) -> Generator[None]:
        """
        Discard problems reported inside the context; raises AlreadyReported if there were any and no other exception
        left it.
        """
        before, needed = self.refusals, set(self._needed_values)
        self.refusals = Refusals()
        try:
            yield
            if self.refusals:
                raise AlreadyReported
        except (NodeError, AlreadyReported):
            self._needed_values = needed
            raise
        finally:
            self.refusals = before

    def note_most(self, count: Tensor, most: int) -> None:
        """If `count` is an input of the module, record `most` as the largest number of steps that it may hold."""
        self.steps.most.update((name, most) for name, value in self.inputs.items() if value is count.value)

    def note_lengths(self, lengths: Tensor, longest: int) -> None:
        """If `lengths` is an input of the module, record `longest` as the largest length that it may hold."""
        noted = self.steps.sequences
        noted.update(
            (name, min(longest, noted.get(name, longest)))
            for name, value in self.inputs.items()
            if value is lengths.value
        )

    def is_poisoned(self, tensors: Iterable[Tensor | None]) -> bool:
        """Whether one of the tensors could not be imported."""
        return any(tensor is _POISON for tensor in tensors)

    def _run_node(self, proto: onnx.NodeProto, scope: Scope) -> Sequence[Tensor | None] | None:
        """The outputs of a node, or None after reporting why it cannot be imported."""
        try:
            return self._import_node(proto, scope)
        except AlreadyReported:
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
        domain = _domain(proto)
        opset = scope.opsets.get(domain, 0)
        function = registry.find(proto.op_type, opset, domain)
        inputs = [scope.lookup(name) for name in proto.input]
        local = self.functions.get((proto.domain, proto.op_type))
        if local is None and function is None and not has_body(proto.op_type, domain, opset):
            raise NodeError(advice(proto.op_type, domain, opset))
        if self.is_poisoned(inputs):
            raise AlreadyReported
        if any(one is not None and one.rows is not None for one in inputs):
            raise NodeError("an operand has as many rows as a loop has steps, which is known only at run time")
        node = Node(proto, inputs, opset, scope)
        scope.build.hint = next((name for name in proto.output if name), "")
        if local is not None:
            results = self._call(local, node, scope, {o.domain: o.version for o in local.opset_import})
        elif function is not None:
            result = function(node)
            results = [result] if isinstance(result, Tensor) else list(result)
        else:
            results = self.expand(node)
        return results

    def expand(self, node: Node) -> list[Tensor | None]:
        """Import the function body that ONNX gives for an operator in place of a node."""
        scope = node.scope
        return self._call(body_of(node, _domain(node.proto)), node, scope, scope.opsets, names_nodes=False)

    def _call(
        self,
        function: onnx.FunctionProto,
        node: Node,
        caller: Scope,
        opsets: Mapping[str, int],
        *,
        names_nodes: bool = True,
    ) -> list[Tensor | None]:
        """Inline a function body in place of a node."""
        opsets = {"" if domain == "ai.onnx" else domain: version for domain, version in opsets.items()}
        call = caller.location(node.proto)
        scope = Scope(self, opsets, {}, node.build, call=call, names_nodes=names_nodes, is_nested=caller.is_nested)
        for position, name in enumerate(function.input):
            scope.values[name] = node.inputs[position] if position < len(node.inputs) else None
        given = {**default_attributes(node, node.proto.domain), **node.attributes()}
        for default in function.attribute_proto:
            given.setdefault(default.name, default)
        self.run_nodes([substitute(inner, given) for inner in function.node], function.output, scope)
        # An optional output may be left out by the body; `run_nodes` reports it if the caller wants it.
        results = [scope.values.get(name) for name in function.output]
        if self.is_poisoned(results):
            raise AlreadyReported
        return results

    def _report(self, proto: onnx.NodeProto, scope: Scope, reason: str) -> None:
        domain = _domain(proto)
        name = proto.name or "(unnamed, output " + next((o for o in proto.output if o), "?") + ")"
        self.refusals.add_node(proto.op_type, domain, scope.opsets.get(domain, 0), name, reason)


def _domain(node: onnx.NodeProto) -> str:
    """The domain of a node's operator, empty for ONNX's own."""
    return "" if node.domain == "ai.onnx" else node.domain


def _name_attrs(names: Iterable[str]) -> ArrayAttr[DictionaryAttr]:
    return ArrayAttr([DictionaryAttr({"dataflow.name": StringAttr(name)}) for name in names])


def _sources_of(values: Iterable[SSAValue]) -> set[SSAValue]:
    """These values and all that they are computed from."""
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
    """Erase operations without users; none has side effects."""
    for op in list(block.ops)[::-1]:
        if op.results and all(result.first_use is None for result in op.results):
            op.detach()
            op.erase()
