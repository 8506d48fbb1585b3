"""
`meshloom-run --check`: compare with ONNX Runtime and, where that fails, find the first tensor that differs; or compare
with a module in the interpreter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..support.errors import InputError, MeshloomError
from .interpreted import Interpreted
from .oracle import Comparison, Oracle, compare

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto

    from ..chips import Chip

Array = NDArray[Any]


class Check:
    """A model to compare with; made before the run, so that a missing one is not noticed after it."""

    def __init__(self, model: Path, values: Mapping[str, Array] | None = None) -> None:
        """
        `values`: inputs of the model that are constants of the executable, as for `import_onnx`.

        Raises InputError where the model or the values cannot be used.
        """
        self.model = model
        self.values: dict[str, Array] = {}
        if values:
            if model.suffix.lower() == ".mlir":
                raise InputError("--value is for ONNX models: textual IR says itself what it takes")
            from ..frontend.inputs import fixed_inputs
            from ..frontend.model_file import read_model

            self.values = fixed_inputs(str(model), read_model(model)[0].graph, values)
        self.oracle = Interpreted(model) if model.suffix.lower() == ".mlir" else Oracle(model)

    @property
    def judge(self) -> str:
        """Who says what is right."""
        return "ONNX Runtime" if isinstance(self.oracle, Oracle) else "the interpreter"

    def compare(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> list[Comparison]:
        """One comparison an output. Raises InputError if the model is not the one that was compiled."""
        expected = self.oracle.run({**inputs, **self.values})
        if missing := [name for name in expected if name not in outputs]:
            raise InputError(f"{self.model} has an output '{missing[0]}' that the executable has not: another model?")
        return [compare(name, outputs[name], value) for name, value in expected.items()]

    def first_difference(self, inputs: Mapping[str, Array], chip: Chip) -> str:
        """
        A sentence on where the network goes wrong.

        The model is compiled once more with all its tensors as outputs, and these are compared in the graph's order.
        """
        if isinstance(self.oracle, Interpreted):
            return "meshloom-opt --check-semantics finds the pass that changed a result"
        from .api import compile as compile_model

        try:
            model = _with_all_tensors(self.model, self.oracle, inputs)
            shapes = {name: value.shape for name, value in inputs.items()}
            outputs = compile_model(model.SerializeToString(), chip, shapes).run(inputs).outputs
            expected = Oracle(model.SerializeToString()).run(inputs)
        except (MeshloomError, ValueError) as error:
            return f"the first differing tensor could not be found: {error}"
        for node, name in _tensors(model):
            if name in outputs and not (found := compare(name, outputs[name], expected[name])).equal:
                place = f"operator {node.op_type}" + (f", node '{node.name}'" if node.name else "")
                return f"the first tensor of the network that differs is '{name}' ({place}), by {found.difference:.3g}"
        return (
            "compiled afresh, the model gives the right values: the executable stems from another model or is damaged"
        )


def report(comparisons: list[Comparison]) -> str:
    """One line an output."""
    width = max((len(c.name) for c in comparisons), default=0)
    lines = [
        f"  {c.name:{width}}  max difference {c.difference:.3g}, allowed {c.allowed:.3g}: "
        f"{'OK' if c.equal else 'DIFFERENT'}"
        for c in comparisons
    ]
    return "\n".join(lines)


def _tensors(model: ModelProto) -> Iterator[tuple[NodeProto, str]]:
    for node in model.graph.node:
        for name in node.output:
            if name:
                yield node, name


def _with_all_tensors(path: Path, oracle: Oracle, inputs: Mapping[str, Array]) -> ModelProto:
    """The model with every tensor of known type as an output; types and shapes come from a run."""
    import onnx

    model = onnx.load(str(path))  # pyright: ignore[reportUnknownMemberType]
    bare = onnx.ModelProto()
    bare.CopyFrom(model)
    have = {info.name for info in bare.graph.output}
    names = [name for _, name in _tensors(model) if name not in have]
    bare.graph.output.extend(onnx.helper.make_empty_tensor_value_info(name) for name in names)
    values = Oracle(bare.SerializeToString()).run({name: inputs[name] for name in oracle.inputs})
    for name in names:
        value = np.asarray(values[name])
        if value.dtype != object:  # sequences and strings are no tensors of ours
            kind = onnx.helper.np_dtype_to_tensor_dtype(value.dtype)
            model.graph.output.append(onnx.helper.make_tensor_value_info(name, kind, value.shape))
    return model
