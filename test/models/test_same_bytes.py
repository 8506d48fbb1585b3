"""
Every printed level, and the list of passes, gives the executable that the compiler gives: byte for byte.

The long tests compile a part of a network twice: for the network, and where the same text comes again for the first
time, which must give the same bytes. After that it is taken as it is known. The quick tests compile all anew.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from pathlib import Path

import pytest
from meshloom.lowering.piece_cache import Failure, Outcome
from meshloom.lowering.piece_file import piece_from_bytes, piece_to_bytes
from meshloom.lowering.piece_pool import PiecePool
from meshloom.lowering.piece_text import PieceText
from meshloom.tools import assemble, opt
from meshloom.tools import compile as compile_tool
from public_models import PUBLIC_MODELS

CHIPS = Path(__file__).parents[2] / "chips"
OPTIONS = {
    "dense": [],
    "sparse": ["--sparse"],
    "subgraphs": ["--subgraphs", "fewest-bytes,parts=3"],
    "budget": ["--budget", "0.7"],
    "chips": ["--chips", "2"],
    "unfused": ["--fuse", "none"],
    "order": ["--order", "program", "--stop-at", "3000"],
}
QUICK = [
    ("rnet", "edge", "dense"),
    ("rnet", "tiny", "dense"),
    ("vad", "edge", "dense"),
    ("rnet", "edge", "sparse"),
    ("rnet", "edge", "order"),
]
MATRIX = itertools.product(PUBLIC_MODELS, ("tiny", "edge", "grid"), ("dense", "sparse", "subgraphs", "budget", "chips"))
ALL = [case for case in MATRIX if case not in QUICK]


class KnownPieces:
    """Compiles parts in place of `PiecePool.compile`: what it has seen to be the same twice, it does not compile."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.comparing = False
        """Whether parts that are known are compiled again, once, and compared."""
        self.compared: set[tuple[str, str, str]] = set()
        self._known: dict[tuple[str, str, str], bytes | Failure] = {}
        self._compile = PiecePool.compile

        def compile(pool: PiecePool, parts: Sequence[PieceText]) -> list[Outcome]:
            return self.outcomes(pool, parts)

        monkeypatch.setattr(PiecePool, "compile", compile)

    def outcomes(self, pool: PiecePool, parts: Sequence[PieceText]) -> list[Outcome]:
        """One for each part, as `PiecePool.compile` gives them. Asserts that a part compiles to what it did before."""
        keys = [(part.text, pool.chip.fingerprint, str(pool.effort)) for part in parts]
        new = [number for number, key in enumerate(keys) if not self._is_settled(key)]
        found = dict(zip(new, self._compile(pool, [parts[number] for number in new]), strict=True))
        for number, outcome in found.items():
            made = outcome if isinstance(outcome, Failure) else piece_to_bytes(outcome, pool.chip)
            if keys[number] in self._known:
                assert made == self._known[keys[number]], keys[number][0]
                self.compared.add(keys[number])
            self._known[keys[number]] = made
        return [found[number] if number in found else self._read(key, pool) for number, key in enumerate(keys)]

    def _is_settled(self, key: tuple[str, str, str]) -> bool:
        return key in self._known and (key in self.compared or not self.comparing)

    def _read(self, key: tuple[str, str, str], pool: PiecePool) -> Outcome:
        known = self._known[key]
        return known if isinstance(known, Failure) else piece_from_bytes(known, pool.chip, "a part")


def run(main_of: object, *arguments: object) -> None:
    """A tool that ends well."""
    assert callable(main_of)
    assert main_of([str(argument) for argument in arguments]) == 0


def of_model(name: str) -> list[str]:
    """Options for shapes and values of the inputs."""
    model = PUBLIC_MODELS[name]
    shapes = [f"--shape={key}={'x'.join(map(str, shape))}" for key, shape in model.shapes.items()]
    return [*shapes, *(f"--value={key}={value}" for key, value in model.values.items())]


def compiled(name: str, chip: str, how: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Compile with all levels printed; returns the options, the budget being one that the network can keep."""
    options = [f"--chip={chip}", *OPTIONS[how]]
    last = "-q", "-o", folder / "expected.mlx", "--print-ir-after-all", folder / "stages"
    given = [PUBLIC_MODELS[name].path, *of_model(name)]
    if compile_tool.main([str(argument) for argument in (*given, *options, *last)]) != 0:
        enough = re.search(r"(\d+) bytes are enough", capsys.readouterr().err)
        assert how == "budget"
        assert enough is not None
        options[-1] = enough.group(1)
        run(compile_tool.main, *given, *options, *last)
    return options


def check(
    name: str,
    chip: str,
    how: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    pieces: KnownPieces | None = None,
) -> None:
    options = compiled(name, chip, how, folder, capsys)
    if pieces is not None:
        pieces.comparing = True
    expected = (folder / "expected.mlx").read_bytes()
    texts = sorted((folder / "stages").glob("*.mlir"))
    levels = {path.stem.partition("-")[2] for path in texts}
    assert levels >= {"import", "manycore", "memory", "coreasm"}
    for path in texts:
        again = folder / f"{path.stem}.mlx"
        above = path.stem.endswith(("import", "simplify"))  # what the options ask for has not been decided yet
        run(compile_tool.main, path, *(options if above else options[:1]), "-q", "-o", again)
        assert again.read_bytes() == expected, path.name
    # By `meshloom-opt` and `meshloom-as`.
    text, again = folder / "instructions.mlir", folder / "assembled.mlx"
    capsys.readouterr()
    run(compile_tool.main, "any.onnx", *options, "--print-pipeline")
    passes = capsys.readouterr().out.strip()
    run(opt.main, PUBLIC_MODELS[name].path, *of_model(name), "-p", passes, "-o", text)
    run(assemble.main, text, "-o", again)
    assert again.read_bytes() == expected


@pytest.mark.parametrize("how", [pytest.param("dense", marks=pytest.mark.slow), "unfused"])
def test_a_network_over_the_dram(how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """In launches that were fused again, or not: blocks of weights, down to a few bytes, come from the host."""
    text = (CHIPS / "tiny.toml").read_text().replace('name = "tiny"', 'name = "small"')
    chip = tmp_path / "small.toml"
    chip.write_text(re.sub(r"dram_bytes = \d+", f"dram_bytes = {128 << 10}", text))
    check("rnet", str(chip), how, tmp_path, capsys)


@pytest.mark.parametrize(("name", "chip", "how"), QUICK)
def test_levels_and_passes(name: str, chip: str, how: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check(name, chip, how, tmp_path, capsys)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "chip", "how"), ALL)
def test_all_levels_and_passes(
    name: str,
    chip: str,
    how: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pieces = KnownPieces(monkeypatch)
    check(name, chip, how, tmp_path, capsys, pieces)
    assert pieces.compared
