"""
`meshloom-run --check`: compare with ONNX Runtime and, where that fails, find the first tensor that differs; or compare
with a module in the interpreter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from ..support.errors import InputError, MeshloomError
from .interpreted import Interpreted
from .oracle import Comparison, Oracle, compare

if TYPE_CHECKING:
    from onnx import NodeProto

    from ..chips import Chip
    from .first_difference import NetworkSearch

Array = NDArray[Any]


class Check:
    """A reference model; loaded before the run, so that errors in it are reported first."""

    def __init__(self, model: Path, values: Mapping[str, Array] | None = None) -> None:
        """
        `values`: inputs of the model that are constants of the executable, as for `import_onnx`.

        Raises InputError where the model or the values cannot be used.
        """
        self.model = model
        self.values: dict[str, Array] = {}
        if values:
            if model.suffix.lower() == ".mlir":
                raise InputError("--value is for ONNX models: textual IR declares its own inputs")
            from ..frontend.inputs import fixed_inputs
            from ..frontend.model_file import read_model

            self.values = fixed_inputs(str(model), read_model(model)[0].graph, values)
        self._found: NetworkSearch | None = None
        self.oracle = Interpreted(model) if model.suffix.lower() == ".mlir" else Oracle(model)

    @property
    def judge(self) -> str:
        """The name of the reference implementation, for messages."""
        return "ONNX Runtime" if isinstance(self.oracle, Oracle) else "the interpreter"

    def compare(self, inputs: Mapping[str, Array], outputs: Mapping[str, Array]) -> list[Comparison]:
        """A comparison for each output. Raises InputError if the model is not the one that was compiled."""
        expected = self.oracle.run({**inputs, **self.values})
        if missing := [name for name in expected if name not in outputs]:
            raise InputError(
                f"{self.model}: output '{missing[0]}' is not an output of the executable: give the model "
                "that was compiled"
            )
        return [compare(name, outputs[name], value) for name, value in expected.items()]

    def tensors(self, inputs: Mapping[str, Array], found: Mapping[str, Array]) -> str:
        """
        A table that compares intermediate tensors, read from the memory of a run, with those of ONNX Runtime. Raises
        InputError if the model cannot be used.
        """
        from .compare_tensors import compare_tensors, first_different, tensor_table

        compared = compare_tensors(self._search(inputs), found)
        first = first_different(compared)
        return tensor_table(compared) + (f"\n{first}" if first else "")

    def _search(self, inputs: Mapping[str, Array]) -> NetworkSearch:
        import onnx

        from .first_difference import NetworkSearch

        if self._found is None:
            model = onnx.load(str(self.model))  # pyright: ignore[reportUnknownMemberType]
            wanted = {name: inputs[name] for name in self.oracle.inputs if name in inputs}
            self._found = NetworkSearch(model, wanted, self.values)
        return self._found

    def judge_differences(
        self,
        inputs: Mapping[str, Array],
        outputs: Mapping[str, Array],
        comparisons: list[Comparison],
        chip: Chip,
        tensors: Callable[[], Mapping[str, Array]],
    ) -> Verdict:
        """
        Whether different outputs of a network that quantises, or computes in floats of 16 bits, are acceptable, and
        the first difference if they are not. They are acceptable if every operator computes ONNX Runtime's result from
        ONNX Runtime's operands (within one step where it quantises or rounds to 16 bits), and if the outputs follow
        from these operators and depend on one that quantises or rounds; integer outputs may differ by one. `tensors`:
        intermediate tensors of a run by name.
        """
        if isinstance(self.oracle, Interpreted):
            return Verdict(False, "meshloom-opt --check-semantics finds the pass that changed a result")
        from .compare_tensors import compare_tensors, first_different

        try:
            search = self._search(inputs)
            if (wrong := search.first_wrong_operator()) is not None:
                return Verdict(False, _sentence(*wrong))
            right = search.interpreted()
            quantised = search.quantised()
            explained = all(c.equal or (c.name in quantised and _may_differ(c, outputs[c.name])) for c in comparisons)
            if _same(outputs, right) and explained:
                return Verdict(True, search.step)
            if quantised and explained:
                # The interpreter adds floats in another order, so that a sum may be quantised to another step.
                if search.first_wrong_from_steps({**search.steps_of(tensors()), **outputs}) is None:
                    return Verdict(True, search.step)
                steps = search.steps_on_chip(chip)
                if _same(outputs, steps):
                    wrong = search.first_wrong_from_steps(steps)
                    return Verdict(True, search.step) if wrong is None else Verdict(False, _sentence(*wrong))
            if (wrong := search.first_wrong_on_chip(chip, right)) is not None:
                return Verdict(False, _sentence(*wrong))
            first = first_different(compare_tensors(search, tensors()))
        except (MeshloomError, ValueError) as error:
            return Verdict(False, f"the first differing tensor could not be found: {error}")
        reason = (
            "the model compiled with intermediate tensors as outputs computes the right values: the "
            "executable is from another model, damaged or miscompiled"
        )
        return Verdict(False, f"{reason}; {first}" if first else reason)


@dataclass(frozen=True)
class Verdict:
    """The verdict on outputs that differ."""

    within_a_step: bool
    reason: str
    """The name of the steps if the difference is acceptable, otherwise a sentence about the first difference."""


def _sentence(node: NodeProto, name: str, difference: float) -> str:
    location = f"operator {node.op_type}" + (f", node '{node.name}'" if node.name else "")
    return f"the first tensor of the network that differs is '{name}' ({location}), by {difference:.3g}"


def _same(outputs: Mapping[str, Array], others: Mapping[str, Array]) -> bool:
    return all(compare(name, value, others[name]).equal for name, value in outputs.items() if name in others)


def _may_differ(found: Comparison, output: Array) -> bool:
    """Only integer outputs are compared, within one."""
    return output.dtype.kind == "f" or (output.dtype.kind in "iu" and found.difference <= 1)


def report(comparisons: list[Comparison]) -> str:
    """A line for each output."""
    width = max((len(c.name) for c in comparisons), default=0)
    lines = [
        f"  {c.name:{width}}  max difference {c.difference:.3g}, allowed {c.allowed:.3g}: "
        f"{'OK' if c.equal else 'DIFFERENT'}"
        for c in comparisons
    ]
    return "\n".join(lines)
