"""The public models: where `make models` puts them, the shapes they are compiled for, inputs that make sense."""

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
    """One network as it is compiled and run."""

    name: str
    shapes: Mapping[str, tuple[int, ...]]
    """Of all inputs."""
    integers: Mapping[str, tuple[str, int, int]] = field(default_factory=dict[str, tuple[str, int, int]])
    """Type and range (low, below high) of the inputs that are not f32."""

    @property
    def path(self) -> Path:
        return MODELS / f"{self.name}.onnx"

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
