"""
Quantised networks compared with variants of wider weights: one JSON line for each network.

    python bench/quantised.py [squeezenet] [minilm] [decoder] [pnet] [rnet] [onet] [--chip edge]

squeezenet  the light model with random weights (see `light_models.py`), quantised by ONNX Runtime's static quantiser
            as QuantizeLinear and DequantizeLinear around its operators (`qdq`), or as quantised operators
            (`operators`)
pnet, rnet, onet  small public models, quantised in the same way: code is a large part of their executables
minilm      a public model of which only weights are quantised; the variant has them as floats
decoder     a decoder of a language model with random weights of 4 bits in blocks of 32; the variant has 8 bits

cycles       of the quantised network
of_twin      the same over the cycles of the variant
file         bytes of the executable over those of the model
apart        largest difference from ONNX Runtime without optimisations, as a share of the largest output
"""

from __future__ import annotations

import argparse
import json
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import onnx
from light_models import light_model
from meshloom.tools.api import CompiledNetwork, compile
from meshloom.tools.oracle import Oracle
from numpy.typing import NDArray
from onnx import ModelProto, numpy_helper
from public_models import PUBLIC_MODELS
from small_decoder import Decoder

Array = NDArray[Any]
NETWORKS = ("squeezenet", "minilm", "decoder", "pnet", "rnet", "onet")
PER_CHANNEL_OPSET = 13
"""First version of ONNX whose QuantizeLinear has a scale per channel."""
CALIBRATED = 4
"""Number of random inputs from which the quantiser determines ranges."""


class _Inputs:
    """Random inputs, with the interface of the quantiser."""

    def __init__(self, like: Mapping[str, Array]) -> None:
        generator = np.random.default_rng(1)
        self._left = [
            {name: generator.standard_normal(x.shape).astype(np.float32) for name, x in like.items()}
            for _ in range(CALIBRATED)
        ]

    def get_next(self) -> Mapping[str, Array] | None:
        """The next input; None after the last."""
        return self._left.pop() if self._left else None


def quantised(model: ModelProto, inputs: Mapping[str, Array], form: str) -> ModelProto:
    """The model with 8-bit weights and values, by ONNX Runtime's static quantiser."""
    from onnxruntime import quantization

    tools = cast(Any, quantization)
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder) / "floats.onnx", Path(folder) / "quantised.onnx"
        source.write_bytes(model.SerializeToString())
        qdq = form == "qdq"
        kind = tools.QuantFormat.QDQ if qdq else tools.QuantFormat.QOperator
        tools.quantize_static(source, target, _Inputs(inputs), quant_format=kind, per_channel=qdq)
        return ModelProto.FromString(target.read_bytes())


def with_float_weights(model: ModelProto) -> ModelProto:
    """The model with the results of Cast and Mul of initialisers as initialisers."""
    twin = ModelProto.FromString(model.SerializeToString())
    graph = twin.graph
    known = {tensor.name: tensor for tensor in graph.initializer}
    for node in list(graph.node):
        if node.op_type not in ("Cast", "Mul") or not all(name in known for name in node.input):
            continue
        arrays = [numpy_helper.to_array(known[name]) for name in node.input]
        value = arrays[0].astype(np.float32) if node.op_type == "Cast" else arrays[0] * arrays[1]
        known[node.output[0]] = numpy_helper.from_array(value, node.output[0])
        graph.node.remove(node)
    used = {name for node in graph.node for name in node.input}
    del graph.initializer[:]
    graph.initializer.extend(tensor for name, tensor in known.items() if name in used)
    return twin


def line_of(
    name: str, model: ModelProto, network: CompiledNetwork, twin: CompiledNetwork, inputs: Mapping[str, Array]
) -> dict[str, Any]:
    """The figures of a network."""
    with tempfile.NamedTemporaryFile(suffix=".mlx") as file:
        network.save(file.name)
        nbytes = Path(file.name).stat().st_size
    got, expected = network.run(inputs).outputs, Oracle(model.SerializeToString()).run(inputs)
    apart = max(
        float(np.abs(got[one].astype(np.float64) - value).max() / max(float(np.abs(value).max()), 1e-30))
        for one, value in expected.items()
    )
    return {
        "network": name,
        "cycles": network.timing.cycles,
        "of_twin": round(network.timing.cycles / twin.timing.cycles, 3),
        "file": round(nbytes / len(model.SerializeToString()), 3),
        "apart": round(apart, 6),
    }


def statically(name: str, chip: str) -> None:
    """Print both forms of a network that is quantised here."""
    if name in PUBLIC_MODELS:
        public = PUBLIC_MODELS[name]
        model, inputs = ModelProto.FromString(public.as_bytes()), public.inputs(0)
    else:
        model, inputs = light_model(name)
    model = cast(ModelProto, cast(Any, onnx).version_converter.convert_version(model, PER_CHANNEL_OPSET))
    shapes = {one: array.shape for one, array in inputs.items()}
    twin = compile(model, chip, shapes)
    for form in ("qdq", "operators"):
        narrow = quantised(model, inputs, form)
        print(json.dumps(line_of(f"{name} {form}", narrow, compile(narrow, chip, shapes), twin, inputs)), flush=True)


def minilm(chip: str) -> None:
    """Print the public model."""
    public = PUBLIC_MODELS["minilm"]
    model = ModelProto.FromString(public.path.read_bytes())
    twin = compile(with_float_weights(model), chip, public.shapes)
    network = compile(model, chip, public.shapes)
    print(json.dumps(line_of("minilm", model, network, twin, public.inputs(0))), flush=True)


def decoder(chip: str) -> None:
    """Print the decoder."""
    narrow, wide = (Decoder(bits) for bits in (4, 8))
    model = narrow.model()
    twin = compile(wide.model(), chip)
    print(json.dumps(line_of("decoder", model, compile(model, chip), twin, narrow.inputs(0))), flush=True)


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1] if __doc__ else None)
    parser.add_argument("network", nargs="*", choices=[*NETWORKS, []], help="all where none is named")
    parser.add_argument("--chip", default="edge")
    args = parser.parse_args()
    for name in args.network or NETWORKS:
        {"minilm": minilm, "decoder": decoder}.get(name, partial(statically, name))(args.chip)


if __name__ == "__main__":
    main()
