"""
Random valid ONNX models from a seed: many operators, types, ranks and opset versions, checked as they grow.

Each node is run by ONNX Runtime as soon as it is made, on concrete values, so that a model is valid by construction. It
is run twice, the second time on values with simulated rounding errors: a node is kept only if its outputs change
little, so that results do not depend on the last bits, and wrong results can be detected.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TypeAlias, cast

import numpy as np
import onnx
import onnxruntime
from numpy.typing import NDArray
from onnx import helper, numpy_helper

from .table import load

Array: TypeAlias = NDArray[Any]
runtime = cast(Any, onnxruntime)
_states = cast(Any, import_module("onnxruntime.capi.onnxruntime_pybind11_state"))
REFUSED: tuple[type[Exception], ...] = tuple(
    getattr(_states, name) for name in ("Fail", "InvalidArgument", "InvalidGraph", "NotImplemented", "RuntimeException")
)
"""Exceptions of ONNX Runtime for a model that it rejects or cannot run."""

LARGEST = 4_000
"""Largest number of elements of a value."""
ROUNDING = {"e": 2.0**-10, "f": 2.0**-22, "d": 2.0**-40}
"""Relative rounding error of a node, by numpy's letter of the type."""
UNSTABLE = {"e": 2e-2, "f": 2e-5, "d": 2e-5}
"""Error of a value relative to its largest element, above which its node is not kept."""
WINDOWS = ("HannWindow", "HammingWindow", "BlackmanWindow")
CANCELLING = ("MatMul", "Gemm", "Einsum", "Conv", "ConvTranspose", "DFT", "STFT", "Resize", "GridSample", *WINDOWS)
"""Operators whose sums cancel: what should be 0 has an error, too."""
DECIDING = ("Ceil", "Floor", "Hardmax", "Mod", "Round", "Shrink", "Sign", "ThresholdedRelu")
"""Discontinuous operators of floats: a small error may change the result."""
STEEPEST = 1e4
"""Largest allowed magnitude of the elements of a value."""


FAINTEST = 1e-6
"""Least magnitude of the largest element of a nonzero value: sums and functions of less lose digits."""
TRIES = 8
"""Number of errors with which discontinuous nodes are tested."""
SEVERAL = 4
"""Number of roundings in these errors: the operator's own rounding is added to that of its operand."""
RESIDUE = {"e": 2.0**-9, "f": 2.0**-20, "d": 2.0**-38}
"""Magnitude of an element relative to the largest, below which it may be the rest of sums that cancel: another order of
additions gives 0, by which nothing can be divided."""


@dataclass
class Candidate:
    """A node that may become part of the model."""

    op: str
    operands: Sequence[str]
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    outputs: int = 1
    before: Sequence[onnx.NodeProto] = ()
    """Nodes that compute operands of this node only."""


class RandomOnnx:
    """Grows a model node by node. `model`, `inputs`, `expected` and `allowed` (errors, by output) are the result."""

    def __init__(self, seed: int, nodes: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.opset = self.int(7, 22)
        self.values: dict[str, Array] = {}
        self.twins: dict[str, Array] = {}
        """The same values with rounding errors."""
        self.constants: dict[str, Array] = {}
        self.known: set[str] = set()
        """Values that do not depend on the values of inputs: shapes, and values computed from these and constants."""
        self.inputs: dict[str, Array] = {}
        self.nodes: list[onnx.NodeProto] = []
        self.model = onnx.ModelProto()
        self.expected: dict[str, Array] = {}
        self._pending: dict[str, Array] = {}
        self._count = 0
        for number in range(self.int(1, 3)):
            self._add_input(f"x{number}")
        table = load()
        makers, weights = list(table), np.asarray(list(table.values()), float)
        tries = 0
        while len(self.nodes) < nodes and tries < 40 * nodes:
            tries += 1
            self._pending.clear()
            try:
                candidate = makers[int(self.rng.choice(len(makers), p=weights / weights.sum()))](self)
            except (ArithmeticError, LookupError, ValueError):  # nothing fits an operand without elements
                continue
            if candidate is not None:
                self._try(candidate)
        while not self.nodes:
            self._try(Candidate("Identity", ["x0"]))
        self._finish()

    # ---- chance ----

    def int(self, low: int, high: int) -> int:
        """A number from low to high, both included; high if it is below low, as for sizes of 0."""
        return int(self.rng.integers(min(low, high), high + 1))

    def chance(self, share: float) -> bool:
        """True with probability `share`."""
        return bool(self.rng.random() < share)

    def one_of(self, choices: Sequence[Any]) -> Any:
        """A random element. Raises LookupError for an empty sequence."""
        if not choices:
            raise LookupError("there is nothing to choose from")
        return choices[self.int(0, len(choices) - 1)]

    # ---- operands ----

    def array(self, shape: Sequence[int], dtype: Any = np.float32, low: int = -8, high: int = 8) -> Array:
        """Random elements: normal floats, integers from low to high (from 0 where there is no sign)."""
        dtype = np.dtype(dtype)
        if dtype.kind == "f":
            return np.asarray(self.rng.standard_normal(shape)).astype(dtype)
        if dtype.kind == "b":
            return np.asarray(self.rng.random(shape) < 0.5)
        return np.asarray(self.rng.integers(0 if dtype.kind == "u" else low, high + 1, shape)).astype(dtype)

    def const(self, array: Any, dtype: Any = None) -> str:
        """The name of a new initialiser."""
        self._count += 1
        name = f"c{self._count}"
        self._pending[name] = np.asarray(array, dtype)
        return name

    def fresh(self) -> str:
        """A name for a value between the nodes of one candidate."""
        self._count += 1
        return f"t{self._count}"

    def ints(self, values: Any) -> str:
        """The name of a new int64 initialiser."""
        return self.const(values, np.int64)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a value."""
        return self.value(name).shape

    def value(self, name: str) -> Array:
        """The elements of a value, for the inputs with which the model is tested."""
        return next(known[name] for known in (self.values, self._pending, self.constants) if name in known)

    def pick(self, kinds: str = "fdeiub", rank: Sequence[int] = range(7), itemsize: int = 0, empty: bool = True) -> Any:
        """The name of a value with one of numpy's kinds (or letters) of types and one of the ranks, or None."""
        fits = [
            name
            for name, value in self.values.items()
            if (value.dtype.kind in kinds or value.dtype.char in kinds)
            and value.ndim in rank
            and (not itemsize or value.dtype.itemsize == itemsize)
            and (empty or value.size)
        ]
        if not fits:
            return None
        recent = fits[-4:] if self.chance(0.7) else fits
        return self.one_of(recent)

    def partner(self, name: str) -> str:
        """A value or constant of the same type whose shape broadcasts with that of `name`."""
        value = self.value(name)
        fits = [
            other
            for other, array in self.values.items()
            if array.dtype == value.dtype and _broadcasts(array.shape, value.shape)
        ]
        if fits and self.chance(0.6):
            return self.one_of(fits)
        sizes = [size if self.chance(0.5) else 1 for size in value.shape]
        return self.const(self.array(sizes[self.int(0, len(sizes)) :], value.dtype, 1, 5))

    # ---- growth ----

    def _add_input(self, name: str) -> None:
        rank = self.one_of((0, 1, 2, 2, 3, 3, 4, 4, 4, 5))
        most = {0: 1, 1: 40, 2: 24, 3: 12, 4: 10, 5: 5}[rank]
        shape = [self.int(1, most) for _ in range(rank)]
        if rank and self.chance(0.08):
            shape[self.int(0, rank - 1)] = 0
        dtype = self.one_of(["f"] * 10 + ["e", "d", "b", "i1", "u1", "i4", "i8", "i8"])
        value = self.array(shape, dtype)
        self.inputs[name] = self.values[name] = value
        self.twins[name] = self._rounded(value)

    def _rounded(self, value: Array, cancelling: bool = False, times: int = 1) -> Array:
        """A value with rounding errors, relative to each element, or (`cancelling`) to the largest."""
        if value.dtype.kind != "f":
            return value
        noise = self.rng.uniform(-times, times, value.shape) * ROUNDING[value.dtype.char]
        if cancelling:
            with np.errstate(invalid="ignore"):  # values that have become infinite are rejected
                return np.asarray(value + noise * np.abs(value).max(initial=0), value.dtype)
        # numpy converts an array without dimensions to a number, which ONNX Runtime rejects.
        return np.asarray(value.astype(np.float64) * (1 + noise), value.dtype)

    def _try(self, candidate: Candidate) -> None:
        names = [f"v{len(self.values) + n}" for n in range(candidate.outputs)]
        node = helper.make_node(candidate.op, candidate.operands, names, f"n{len(self.nodes)}", **candidate.attributes)
        nodes = [*candidate.before, node]
        inner = {name for one in candidate.before for name in one.output}
        operands = [name for one in nodes for name in one.input if name and name not in inner]
        operands += [n for a in node.attribute for inner in a.g.node for n in inner.input if n in self.values]
        fixed = {name: self.value(name) for name in operands if name in self._pending or name in self.constants}
        given = {name: self.values[name] for name in operands if name not in fixed}
        model = self._model(nodes, given, fixed, names)
        try:
            outputs = run_reference(model, given)
            twins = run_reference(model, {name: self.twins[name] for name in given})
        except Exception:
            return
        twins = {name: self._rounded(twin, candidate.op in CANCELLING) for name, twin in twins.items()}
        if not all(self._is_tame(outputs[name], twins[name]) for name in names):
            return
        if any(not outputs[name].size and not self.chance(0.3) for name in names):
            return
        if candidate.op in CANCELLING and given:
            most = max(_largest(self.values[name]) for name in given)
            if any(0 < _largest(outputs[name]) < RESIDUE["e"] * most for name in names):  # what is left of 0
                return
        bare = run_reference(model, {name: _without_residues(self.values[name]) for name in given})
        if not all(self._is_tame(outputs[name], bare[name]) for name in names):
            return
        # Discontinuous nodes must have the same result for several errors, including errors of scales and bounds.
        deciding = [name for name in names if outputs[name].dtype.kind != "f" or candidate.op in DECIDING]
        for _ in range(TRIES if deciding else 0):
            model = self._model(nodes, given, {name: self._rounded(value) for name, value in fixed.items()}, names)
            try:
                again = run_reference(model, {name: self._rounded(self.twins[name], True, SEVERAL) for name in given})
            except REFUSED:  # a size or a range that an error makes invalid
                return
            if not all(self._is_tame(outputs[name], again[name]) for name in deciding):
                return
        self.constants.update({name: array for name, array in self._pending.items() if name in fixed})
        if candidate.op in ("Shape", "Size") or not {*given} - self.known:
            self.known.update(names)
        self.values.update(outputs)
        self.twins.update(twins)
        self.nodes.extend(nodes)

    def _is_tame(self, value: Array, twin: Array) -> bool:
        """Whether rounding errors change a value little, and its magnitude is in the allowed range."""
        if value.shape != twin.shape or value.size > LARGEST or value.ndim > 6 or value.dtype.kind not in "fiub":
            return False
        if value.dtype.kind == "i" and value.dtype.itemsize >= 4 and value.size:
            limit = 2 ** (8 * value.dtype.itemsize - 2)
            if value.min() < -limit or value.max() > limit:  # sums of these have no defined result
                return False
        if value.dtype.kind != "f":
            return bool(np.array_equal(value, twin))
        if not (np.isfinite(value).all() and np.isfinite(twin).all()):
            return False
        largest = float(np.abs(value).max(initial=0))
        if 0 < largest < FAINTEST:
            return False
        return largest < STEEPEST and _distance(value, twin) <= UNSTABLE[value.dtype.char] * largest + 1e-9

    def _model(self, nodes: Sequence[onnx.NodeProto], given: Any, fixed: Any, outputs: Sequence[str]) -> Any:
        infos = [
            helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(value.dtype), value.shape)
            for name, value in given.items()
        ]
        results = [helper.make_empty_tensor_value_info(name) for name in outputs]
        constants = [numpy_helper.from_array(np.asarray(array), name) for name, array in fixed.items()]
        graph = helper.make_graph(list(nodes), "random", infos, results, constants)
        return helper.make_model(graph, opset_imports=[helper.make_opsetid("", self.opset)], ir_version=8)

    def _finish(self) -> None:
        while True:
            self.model = self._model(self.nodes, self.inputs, self.constants, self._outputs())
            try:
                self.expected = run_reference(self.model, self.inputs)
                break
            except REFUSED:
                # Nodes ran one by one: ONNX Runtime may infer other shapes for the whole model, and then rejects it.
                if len(self.nodes) == 1:
                    raise
                self.nodes.pop()
        # Between nodes of f16 ONNX Runtime keeps the digits of f32, and may then decide otherwise than node by node.
        for name in [name for name, value in self.expected.items() if self._decides_otherwise(name, value)]:
            del self.expected[name]
        self.allowed = {
            name: 10 * _distance(value, self.twins[name])
            + (1e-4 + 4 * ROUNDING[value.dtype.char]) * float(np.abs(value).max(initial=0))
            + 1e-6
            if value.dtype.kind == "f"
            else 0.0
            for name, value in self.expected.items()
        }

    def _decides_otherwise(self, name: str, value: Array) -> bool:
        return value.dtype.kind != "f" and not np.array_equal(value, self.values[name])

    def _outputs(self) -> list[str]:
        """The outputs of the model: values that no node reads, and some others."""
        used = {name for node in self.nodes for name in node.input}
        used |= {name for node in self.nodes for a in node.attribute for inner in a.g.node for name in inner.input}
        computed = [name for node in self.nodes for name in node.output if name in self.values]
        return [name for name in computed if name not in used or self.chance(0.1)]

    def mismatch(self, outputs: dict[str, Array]) -> str:
        """A description of the wrong outputs; empty if all are right."""
        for name, expected in self.expected.items():
            got = outputs[name]
            if got.shape != expected.shape or got.dtype != expected.dtype:
                return f"{name}: {got.dtype}{list(got.shape)}, expected {expected.dtype}{list(expected.shape)}"
            if not _distance(got, expected) <= self.allowed[name]:
                return f"{name}: off by {_distance(got, expected)}, allowed are {self.allowed[name]}"
        return ""


def _broadcasts(shape: tuple[int, ...], other: tuple[int, ...]) -> bool:
    try:
        return math.prod(np.broadcast_shapes(shape, other)) <= LARGEST
    except ValueError:
        return False


def _largest(value: Array) -> float:
    return float(np.abs(value.astype(np.float64)).max(initial=0))


def _without_residues(value: Array) -> Array:
    """A value in which elements that may be the rest of sums that cancel are 0."""
    if value.dtype.kind != "f":
        return value
    sizes = np.abs(value)
    return np.where(sizes < RESIDUE[value.dtype.char] * sizes.max(initial=0), np.zeros((), value.dtype), value)


def _distance(x: Array, y: Array) -> float:
    """The largest difference; NaN where one of both is."""
    if x.dtype.kind != "f":
        return float((x != y).any())
    return float(np.abs(x.astype(np.float64) - y.astype(np.float64)).max(initial=0))


def run_reference(model: onnx.ModelProto, inputs: dict[str, Array]) -> dict[str, Array]:
    """The outputs of ONNX Runtime without optimisations."""
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = runtime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    taken = {given.name for given in session.get_inputs()}
    values = session.run(names, {name: value for name, value in inputs.items() if name in taken})
    return dict(zip(names, (np.asarray(value) for value in values), strict=True))
