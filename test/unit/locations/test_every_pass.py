"""No pass loses locations of operations, and text with locations survives a round trip."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from io import StringIO
from pathlib import Path

import pytest
from meshloom.dialects.locations import is_known
from meshloom.support.errors import MeshloomError
from meshloom.tools.opt import MeshloomOpt
from meshloom.tools.pass_pipeline import read_passes
from meshloom.tools.pass_plugins import load_passes
from meshloom.tools.read_module import read_module
from meshloom.tools.text_parser import LocatingParser
from meshloom.tools.universe import DIALECTS, all_passes
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline
from xdsl.printer import Printer

ROOT = Path(__file__).parents[3]
TEXTS = sorted((ROOT / "test" / "filecheck").glob("*/*.mlir"))

DOWN = "dataflow-to-manycore,manycore-split-reductions{chip=tiny},manycore-tile{chip=tiny}"
PIPELINES = {
    "down": f"canonicalize,dataflow-fold-affine,cse,{DOWN},manycore-schedule,manycore-to-memory",
    "split": "canonicalize,dataflow-split-to-fit{bytes=20000},canonicalize",
    "subgraphs": "manycore-outline-subgraphs{rule=fewest-bytes parts=3},dataflow-to-manycore,manycore-inline-subgraphs",
    "sparse": "dataflow-prune{density=0.1},dataflow-remove-zero-channels,sparse-balance-lanes{chip=tiny},"
    "sparse-split-inputs{chip=tiny},sparse-select-encoding{objective=cycles chip=tiny},"
    "sparse-pack{chip=tiny},sparse-to-dataflow,canonicalize",
    "stored weights": "dataflow-prune{density=0.1},sparse-store-parameters{chip=tiny},"
    'dataflow-differentiate{loss="mean-squared-error"},canonicalize,sparse-encode-stored{chip=tiny}',
    "pruned neurons": "sparse-prune-groups{weight_groups=8 weight_limit=2 neuron_groups=1 neuron_limit=1},"
    "sparse-select-encoding,sparse-to-dataflow",
    "frames": "dataflow-split-batch{parts=2},canonicalize",
    "training": 'dataflow-differentiate{loss="mean-squared-error" optimizer="adam"},canonicalize,'
    'memory-insert-offload{chip=tiny th-tts=1 kinds="compress"}',
}
MODELS = {
    "rnet": {"input_2": (2, 24, 24, 3)},
    "pnet": {"input_1": (2, 14, 12, 3)},
    "vad": {"input": (1, 256)},
}


@pytest.fixture(scope="module")
def context() -> Context:
    return MeshloomOpt(args=["--allow-unregistered-dialect"]).ctx


LAYERS = """
func.func @main(%x: tensor<8x24xf32>, %v: tensor<24x16xf32> {dataflow.name = "v", dataflow.parameter},
                %w: tensor<16x4xf32> {dataflow.name = "w", dataflow.parameter}) -> tensor<8x4xf32> {
  %a = dataflow.matmul %x, %v : (tensor<8x24xf32>, tensor<24x16xf32>) -> tensor<8x16xf32>
  %b = dataflow.tanh %a : (tensor<8x16xf32>) -> tensor<8x16xf32>
  %y = dataflow.matmul %b, %w : (tensor<8x16xf32>, tensor<16x4xf32>) -> tensor<8x4xf32>
  func.return %y : tensor<8x4xf32>
}
"""
QUICK = {("rnet", "down"), ("layers", "training")}
CASES = [("layers", "training"), *((model, name) for name in PIPELINES for model in MODELS)]


@cache
def public_network(name: str) -> ModuleOp:
    """A public network, of which pipelines change copies."""
    return read_module(ROOT / "models" / f"{name}.onnx", MODELS[name])


def without_location(module: ModuleOp) -> list[str]:
    """Operations of this project without a location."""
    return sorted({op.name for op in module.walk() if op.name.split(".")[0] in DIALECTS and not is_known(op.location)})


def text_of(module: ModuleOp, *, generic: bool = False, locations: bool = True) -> str:
    out = StringIO()
    Printer(stream=out, print_debuginfo=locations, print_generic_format=generic).print_op(module)
    return out.getvalue()


def check_text(module: ModuleOp, context: Context) -> None:
    """Check that printed text is parsed to the same locations and printed as the same text, also without locations."""
    for generic, locations in ((False, False), (False, True), (True, True)):
        text = text_of(module, generic=generic, locations=locations)
        again = LocatingParser(context, text, "again.mlir").parse_module()
        # In the generic form, xDSL prints some floats of dense attributes as integers, and parses them as integers.
        assert generic or text_of(again, locations=locations) == text
        if locations:
            assert [op.location for op in again.walk()] == [op.location for op in module.walk()]


@pytest.mark.parametrize(
    ("model", "pipeline"),
    [case if case in QUICK else pytest.param(*case, marks=pytest.mark.slow) for case in CASES],
)
def test_passes_on_networks_keep_locations(model: str, pipeline: str, context: Context) -> None:
    if model == "layers":
        module = LocatingParser(context, LAYERS, "layers.mlir").parse_module()
    else:
        module = public_network(model).clone()
    assert without_location(module) == []
    for one in read_passes(PIPELINES[pipeline], all_passes()).passes:
        one.apply(context, module)
        assert without_location(module) == [], one.name
    check_text(module, context)


def runs(path: Path) -> Iterator[tuple[str, PassPipeline]]:
    """The inputs of an IR test, without passes and with each pipeline of its RUN lines."""
    text = path.read_text()
    parts = list(dict.fromkeys([text, *re.split(r"^// -----\n", text, flags=re.MULTILINE)]))
    yield from ((part, PassPipeline(())) for part in parts)
    if "--plugin" in text:
        pytest.skip("plug-ins stay loaded: the test of locations would change those that run after it")
    plugins = re.findall(r"^// RUN: .*--load-pass-plugin %S/(\S+)", text, re.MULTILINE)
    available = load_passes([str(path.parent / one) for one in set(plugins)], all_passes())
    found = set(re.findall(r"^// RUN: meshloom-opt %s .*?-p (?:'([^']+)'|(\S+))", text, re.MULTILINE))
    for quoted, plain in sorted(found):
        for part in parts[1:] or parts:
            yield part, read_passes(quoted or plain, available)


@pytest.mark.parametrize(
    "path",
    [path if path.parent.name == "transforms" else pytest.param(path, marks=pytest.mark.slow) for path in TEXTS],
    ids=lambda path: f"{path.parent.name}/{path.stem}",
)
def test_texts_keep_locations(path: Path, context: Context) -> None:
    """Valid inputs of all IR tests keep their locations in the passes that these tests apply."""
    for text, pipeline in runs(path):
        try:
            module = LocatingParser(context, text, path.name).parse_module()
            module.verify()
        except Exception:  # the test is about an error
            continue
        assert "loc(unknown)" in text or without_location(module) == []
        for one in pipeline.passes:
            try:
                one.apply(context, module)
            except MeshloomError:
                break  # a pass may stop in the middle of its work
            assert without_location(module) == [], one.name
        else:
            check_text(module, context)
