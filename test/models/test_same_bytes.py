"""
Tests that compilation from every printed level, and by the printed pipeline, gives the same bytes as the compiler.

The slow tests compile a subgraph twice: for the network, and at the first repetition of its text, which must give the
same bytes. Later repetitions are taken from a cache. The fast tests compile everything again.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from meshloom.lowering.autotune.compile_pool import CompilePool
from meshloom.lowering.cache.compile_cache import Failure, Outcome
from meshloom.lowering.cache.subgraph_file import subgraph_from_bytes, subgraph_to_bytes
from meshloom.lowering.cache.subgraph_text import SubgraphText
from meshloom.tools import assemble, opt
from meshloom.tools import compile as compile_tool
from onnx import TensorProto, helper, numpy_helper
from public_models import PUBLIC_MODELS, PublicModel
from recurrent_networks import Recurrent, build

CHIPS = Path(__file__).parents[2] / "chips"
OPTIONS = {
    "dense": [],
    "sparse": ["--sparse"],
    "subgraphs": ["--subgraphs", "fewest-bytes,parts=3"],
    "budget": ["--budget", "0.7"],
    "chips": ["--chips", "2"],
    "unfused": ["--fuse", "none"],
    "order": ["--order", "program", "--stop-at", "3000"],
    "placement": ["--placement", "literal"],
}
QUICK = [
    ("rnet", "tiny", "dense"),
    ("rnet", "tiny", "placement"),
]
CHIP_NAMES = ("tiny", "edge", "grid")
LARGE = ("ocr-cls", "ocr-det", "ocr-rec", "minilm")
"""Models that take minutes each, and at least a quarter of an hour with a budget."""
SMALL = [name for name in PUBLIC_MODELS if name not in LARGE]


class KnownParts:
    """A replacement of `CompilePool.compile`: a subgraph that gave the same bytes twice is not compiled again."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.comparing = False
        """Whether known parts are compiled once more, and compared."""
        self.compared: set[tuple[str, str, str]] = set()
        self._known: dict[tuple[str, str, str], bytes | Failure] = {}
        self._compile = CompilePool.compile

        def compile(pool: CompilePool, parts: Sequence[SubgraphText]) -> list[Outcome]:
            return self.outcomes(pool, parts)

        monkeypatch.setattr(CompilePool, "compile", compile)

    def outcomes(self, pool: CompilePool, parts: Sequence[SubgraphText]) -> list[Outcome]:
        """
        The outcome of each part, as of `CompilePool.compile`. Asserts that a part gives the same bytes as before.
        """
        keys = [(part.text, pool.chip.fingerprint, str(pool.effort)) for part in parts]
        new = [number for number, key in enumerate(keys) if not self._is_settled(key)]
        found = dict(zip(new, self._compile(pool, [parts[number] for number in new]), strict=True))
        for number, outcome in found.items():
            made = outcome if isinstance(outcome, Failure) else subgraph_to_bytes(outcome, pool.chip)
            if keys[number] in self._known:
                assert made == self._known[keys[number]], keys[number][0]
                self.compared.add(keys[number])
            self._known[keys[number]] = made
        return [found[number] if number in found else self._read(key, pool) for number, key in enumerate(keys)]

    def _is_settled(self, key: tuple[str, str, str]) -> bool:
        return key in self._known and (key in self.compared or not self.comparing)

    def _read(self, key: tuple[str, str, str], pool: CompilePool) -> Outcome:
        known = self._known[key]
        return known if isinstance(known, Failure) else subgraph_from_bytes(known, pool.chip, "a part")


def run(main_of: object, *arguments: object) -> None:
    """Run a tool, and check that it succeeds."""
    assert callable(main_of)
    assert main_of([str(argument) for argument in arguments]) == 0


def of_model(model: PublicModel) -> list[str]:
    """The options for shapes and values of a model's inputs."""
    shapes = [f"--shape={key}={'x'.join(map(str, shape))}" for key, shape in model.shapes.items()]
    return [*shapes, *(f"--value={key}={value}" for key, value in model.values.items())]


def compiled(model: PublicModel, chip: str, how: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Compile with all levels printed; returns the options, with a sufficient budget if the given one is refused."""
    options = [f"--chip={chip}", *OPTIONS[how]]
    last = "-q", "-o", folder / "expected.mlx", "--print-ir-after-all", folder / "stages"
    given = [model.path, *of_model(model)]
    if compile_tool.main([str(argument) for argument in (*given, *options, *last)]) != 0:
        enough = re.search(r"(\d+) bytes are enough", capsys.readouterr().err)
        assert how == "budget"
        assert enough is not None
        options[-1] = enough.group(1)
        run(compile_tool.main, *given, *options, *last)
    return options


def check(
    model: PublicModel,
    chip: str,
    how: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    chunks: KnownParts | None = None,
) -> None:
    options = compiled(model, chip, how, folder, capsys)
    if chunks is not None:
        chunks.comparing = True
    expected = (folder / "expected.mlx").read_bytes()
    texts = sorted((folder / "stages").glob("*.mlir"))
    levels = {path.stem.partition("-")[2] for path in texts}
    assert levels >= {"import", "manycore", "memory", "coreasm"}
    for path in texts:
        again = folder / f"{path.stem}.mlx"
        above = path.stem.endswith(("import", "simplify"))  # these levels precede the decisions that options control
        run(compile_tool.main, path, *(options if above else options[:1]), "-q", "-o", again)
        assert again.read_bytes() == expected, path.name
    # By `meshloom-opt` and `meshloom-as`.
    text, again = folder / "instructions.mlir", folder / "assembled.mlx"
    capsys.readouterr()
    run(compile_tool.main, "any.onnx", *options, "--print-pipeline")
    passes = capsys.readouterr().out.strip()
    run(opt.main, model.path, *of_model(model), "-p", passes, "-o", text)
    run(assemble.main, text, "-o", again)
    assert again.read_bytes() == expected


@dataclass(frozen=True)
class Layers(PublicModel):
    """A model that a test writes, not a public one."""

    folder: Path = Path()

    @property
    def path(self) -> Path:
        return self.folder / self.file


def layers(folder: Path) -> Layers:
    """Two layers of 40,000 bytes of weights; those of the first have the density 0.1."""
    generator = np.random.default_rng(0)
    shapes = {"a": (100, 100), "b": (100, 100)}
    values = {name: generator.standard_normal(shape).astype(np.float32) for name, shape in shapes.items()}
    values["a"] *= generator.random(shapes["a"]) < 0.1
    weights = [numpy_helper.from_array(value, name) for name, value in values.items()]
    nodes = [
        helper.make_node("MatMul", ["x", "a"], ["p"]),
        helper.make_node("Relu", ["p"], ["q"]),
        helper.make_node("MatMul", ["q", "b"], ["y"]),
    ]
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4, 100]) for name in "xy")
    graph = helper.make_graph(nodes, "layers", [x], [y], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    (folder / "layers.onnx").write_bytes(made.SerializeToString())
    return Layers("layers", {"x": (4, 100)}, file="layers.onnx", folder=folder)


def small_chip(dram_bytes: int, folder: Path) -> str:
    """The description of `tiny` with another size of DRAM."""
    text = (CHIPS / "tiny.toml").read_text().replace('name = "tiny"', 'name = "small"')
    chip = folder / "small.toml"
    chip.write_text(re.sub(r"dram_bytes = \d+", f"dram_bytes = {dram_bytes}", text))
    return str(chip)


@pytest.mark.parametrize("how", [pytest.param("dense", marks=pytest.mark.slow), "unfused"])
def test_layers_that_exceed_the_dram(how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Launches with and without fusion give the same bytes; blocks of weights are streamed from the host."""
    check(layers(tmp_path), small_chip(32 << 10, tmp_path), how, tmp_path, capsys)


def test_layers_with_encoded_weights(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(layers(tmp_path), "tiny", "sparse", tmp_path, capsys)
    stages = [path.read_text() for path in (tmp_path / "stages").glob("*.mlir")]
    assert any("sparse." in text for text in stages), "weights were encoded"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["dense", "budget", "chips"])
@pytest.mark.parametrize("kind", ["Cells", "LSTM"])
def test_levels_with_loops(kind: str, how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = build(Recurrent.parse(f"{kind}:2:16:16:9"))
    (tmp_path / "loops.onnx").write_bytes(model.SerializeToString())
    network = Layers("loops", {"x": (9, 1, 16)}, file="loops.onnx", folder=tmp_path)
    check(network, "tiny", how, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize("how", ["dense", "unfused"])
def test_a_network_over_the_dram(how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Launches of a network give the same bytes, also with blocks of a few bytes."""
    check(PUBLIC_MODELS["rnet"], small_chip(128 << 10, tmp_path), how, tmp_path, capsys)


@pytest.mark.parametrize(
    ("name", "chip", "how"),
    [case if case[2] != "placement" else pytest.param(*case, marks=pytest.mark.slow) for case in QUICK],
)
def test_levels_and_passes(name: str, chip: str, how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(PUBLIC_MODELS[name], chip, how, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.matrix(name=SMALL, chip=CHIP_NAMES, how=("dense", "sparse", "subgraphs", "budget", "chips"), without=QUICK)
def test_all_levels_and_passes(
    name: str,
    chip: str,
    how: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chunks = KnownParts(monkeypatch)
    check(PUBLIC_MODELS[name], chip, how, tmp_path, capsys, chunks)
    assert chunks.compared


@pytest.mark.slow
@pytest.mark.matrix(
    together=1,
    name=LARGE,
    way=[f"{how}-{chip}" for how in ("dense", "sparse", "subgraphs", "chips") for chip in CHIP_NAMES],
)
def test_all_levels_and_passes_of_large_models(
    name: str,
    way: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """All options on all chips give the same bytes, with the models in turn."""
    how, chip = way.split("-")
    test_all_levels_and_passes(name, chip, how, tmp_path, capsys, monkeypatch)
