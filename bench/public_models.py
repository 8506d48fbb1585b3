"""The public models: their files (see `make models`), the shapes for which they are compiled, and suitable inputs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "models"


@dataclass(frozen=True)
class PublicModel:
    """One network, with the options for compiling and running it."""

    name: str
    shapes: Mapping[str, tuple[int, ...]]
    """Shapes of all inputs except those with values."""
    integers: Mapping[str, tuple[str, int, int]] = field(default_factory=dict[str, tuple[str, int, int]])
    """Type and range (low, below high) of the inputs that are not f32."""
    values: Mapping[str, int] = field(default_factory=dict[str, int])
    """Inputs that are constants of the compiled network."""
    file: str = ""
    """Name of the file, if it differs from the name of the network."""

    @property
    def path(self) -> Path:
        return MODELS / (self.file or f"{self.name}.onnx")

    def constants(self) -> dict[str, NDArray[Any]]:
        """The values as inputs of ONNX Runtime."""
        return {name: np.asarray(value, np.int64) for name, value in self.values.items()}

    def as_bytes(self) -> bytes:
        """The model, with initialisers for the inputs that have values."""
        data = self.path.read_bytes()
        if not self.values:
            return data
        import onnx

        model = onnx.ModelProto.FromString(data)
        model.graph.initializer.extend(onnx.numpy_helper.from_array(v, name) for name, v in self.constants().items())
        return model.SerializeToString()

    def inputs(self, seed: int) -> dict[str, NDArray[Any]]:
        """Seeded inputs: standard normal for floats, within their range for integers."""
        generator = np.random.default_rng(seed)
        arrays: dict[str, NDArray[Any]] = {}
        for name, shape in self.shapes.items():
            if name in self.integers:
                kind, low, high = self.integers[name]
                arrays[name] = np.asarray(generator.integers(low, high, shape), kind)
            else:
                arrays[name] = np.asarray(generator.standard_normal(shape), np.float32)
        return arrays


PUBLIC_MODELS = {
    model.name: model
    for model in (
        PublicModel("rnet", {"input_2": (1, 24, 24, 3)}),
        PublicModel("pnet", {"input_1": (1, 60, 80, 3)}),
        PublicModel("onet", {"input_3": (1, 48, 48, 3)}),
        PublicModel("magika", {"bytes": (1, 2048)}, {"bytes": ("int32", 0, 257)}),
        PublicModel("vad", {"input": (1, 576), "state": (2, 1, 128), "sr": ()}, {"sr": ("int64", 16_000, 16_001)}),
        PublicModel("vad-sequence", {"input": (8, 576), "h": (1, 1, 128), "c": (1, 1, 128)}),
        # The networks of one package at the sizes that it feeds them: frames of 512 or 256 samples after 64 or 32 of
        # context. Branches of vad-rates are for either rate, and one of them does not fit the other's sizes.
        PublicModel("vad-rates", {"input": (1, 576), "state": (2, 1, 128)}, values={"sr": 16_000}),
        PublicModel(
            "vad-rates-8k", {"input": (1, 288), "state": (2, 1, 128)}, values={"sr": 8_000}, file="vad-rates.onnx"
        ),
        PublicModel("vad-op15", {"input": (1, 576), "state": (2, 1, 128)}, values={"sr": 16_000}),
        PublicModel("vad-half", {"input": (1, 576), "state": (2, 1, 128)}),
        PublicModel("vad-openvino", {"input": (1, 576), "state": (2, 1, 128)}),
        PublicModel("ocr-cls", {"x": (1, 3, 48, 192)}),
        PublicModel("ocr-det", {"x": (1, 3, 160, 160)}),
        PublicModel("ocr-rec", {"x": (1, 3, 48, 160)}),
        PublicModel(
            "minilm",
            {"input_ids": (1, 16), "attention_mask": (1, 16), "token_type_ids": (1, 16)},
            {
                "input_ids": ("int64", 0, 30_000),
                "attention_mask": ("int64", 1, 2),
                "token_type_ids": ("int64", 0, 2),
            },
        ),
    )
}
