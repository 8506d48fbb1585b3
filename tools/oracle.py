"""
ONNX Runtime without optimisations, the reference for an executable's outputs. An optional dependency.

Models are rewritten so that its products are exact on all processors, see `exact_products` and `exact_activations`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..frontend.model_file import read_model
from ..support.errors import InputError, MeshloomError
from ..support.input_files import check_regular
from .exact_activations import rounds_activations, with_exact_activations
from .exact_products import multiplies_integers, saturates, with_exact_products

Array = NDArray[Any]
RELATIVE, ABSOLUTE = 1e-4, 1e-6
"""Tolerances: relative to the largest absolute value of the expected output, and absolute."""
_FOLDER = "session.model_external_initializers_file_folder_path"
"""The folder of external data of a model that is given as bytes."""


@dataclass(frozen=True)
class Comparison:
    """The difference of one output from the expected one."""

    name: str
    difference: float
    """Largest absolute difference; infinite where shapes, types, infinities or NaNs differ."""
    allowed: float
    """0 for integers and booleans."""

    @property
    def equal(self) -> bool:
        return self.difference <= self.allowed


class Oracle:
    """A model in ONNX Runtime, one thread, no optimisations."""

    def __init__(self, model: str | Path | bytes) -> None:
        """Raises MeshloomError where ONNX Runtime is not installed, InputError if it rejects the model."""
        try:
            ort: Any = import_module("onnxruntime")
        except ImportError as error:
            raise MeshloomError(
                "--check needs ONNX Runtime, which is not installed: pip install 'meshloom[check]'"
            ) from error
        ort.set_default_logger_severity(4)
        options = ort.SessionOptions()
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        source = model if isinstance(model, bytes) else str(model)
        if isinstance(model, str | Path):
            check_regular(model)
            from .cli import check_is_file

            check_is_file(Path(model))
        proto, path, _ = read_model(model)  # ONNX Runtime opens every file that the model names, also a pipe
        try:
            folder = str(path.parent) if path else ""
            exact = with_exact_activations(proto) if rounds_activations(proto) else proto
            if multiplies_integers(proto) and saturates():
                exact = with_exact_products(exact, folder)
            if exact is not proto:
                options.add_session_config_entry(_FOLDER, folder)
                source = exact.SerializeToString()
            self.session: Any = ort.InferenceSession(source, options, providers=["CPUExecutionProvider"])
        except Exception as error:
            if isinstance(model, bytes):
                raise InputError(f"ONNX Runtime rejects the model: {_line(error)}") from error
            remedy = f"meshloom-opt {model} -o net.mlir, then --check net.mlir, compares with the interpreter"
            raise InputError(f"ONNX Runtime rejects {model}: {_line(error)} ({remedy})") from error

    @property
    def inputs(self) -> list[str]:
        return [str(info.name) for info in self.session.get_inputs()]

    @property
    def outputs(self) -> list[str]:
        return [str(info.name) for info in self.session.get_outputs()]

    def run(self, inputs: Mapping[str, Array], outputs: Sequence[str] | None = None) -> dict[str, Array]:
        """The outputs (all, or those named) by name. Raises InputError if the inputs are not the model's."""
        names = self.outputs if outputs is None else list(outputs)
        try:
            values: list[Array] = self.session.run(names, {name: inputs[name] for name in self.inputs})
        except KeyError as error:
            raise InputError(f"the executable has no input {error}, but the model to check against has") from error
        except Exception as error:
            raise InputError(f"ONNX Runtime cannot run the model on these inputs: {_line(error)}") from error
        return dict(zip(names, values, strict=True))


_NOT_FOR_USERS = re.compile(
    r"\[ONNXRuntimeError\] : \d+ : \w+ : |Load model from .*? failed: ?"
    r"|\S+\.(?:h|cc|cpp):\d+ [^()]*\([^()]*\)(?: const)?(?: \[with [^]]*\])? "
)
"""Parts of ONNX Runtime's messages to remove: error numbers, the file name, source locations and signatures."""


def _line(error: Exception) -> str:
    text = _NOT_FOR_USERS.sub("", " ".join(str(error).split()))
    return text if len(text) <= 300 else f"{text[:300]}..."


def compare(name: str, got: Array, expected: Array) -> Comparison:
    """Integers and booleans must be equal; floats within 1e-4 of the largest expected value, plus 1e-6."""
    got, expected = np.asarray(got), np.asarray(expected)
    if got.shape != expected.shape or got.dtype != expected.dtype:
        return Comparison(name, float("inf"), 0.0)
    if expected.dtype.kind != "f":
        if expected.dtype.kind == "b":
            got, expected = got.astype(np.int8), expected.astype(np.int8)
        # Python integers: differences of 64-bit values must not wrap.
        unequal = got != expected
        pairs: zip[tuple[Any, Any]] = zip(got[unequal].tolist(), expected[unequal].tolist(), strict=True)
        return Comparison(name, float(max((abs(a - b) for a, b in pairs), default=0)), 0.0)
    a, b = got.astype(np.float64), expected.astype(np.float64)
    finite = np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True) or not np.isfinite(a[finite]).all():
        return Comparison(name, float("inf"), 0.0)
    a, b = a[finite], b[finite]
    allowed = RELATIVE * float(np.abs(b).max(initial=0)) + ABSOLUTE
    return Comparison(name, float(np.abs(a - b).max(initial=0)), allowed)
