"""Tests of the compile driver: networks that exceed the chip's capacity are split; results equal ONNX Runtime's."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from dense_networks import dense_layers
from meshloom.chips import Chip, load_chip
from meshloom.emulator.executable.executable import from_bytes, to_bytes
from meshloom.emulator.functional.engine import run_functional
from meshloom.emulator.reports.stats import collect
from meshloom.emulator.timing.engine import run_timing
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.cache.compile_cache import CompileCache, Failure
from meshloom.lowering.driver.compile_module import Compilation, SubgraphOptions, compile_module
from meshloom.lowering.options.effort import Effort
from meshloom.lowering.options.subgraph_options import FUSIONS, parse_subgraphs
from meshloom.support.errors import InputError, ResourceError
from meshloom.tools.oracle import Oracle, compare
from meshloom.tools.read_module import read_module
from onnx import ModelProto
from public_models import PUBLIC_MODELS
from xdsl.dialects.builtin import ModuleOp

TINY = load_chip("tiny")
TOTAL_SRAM = TINY.cores * TINY.sram_bytes
MODELS = Path(__file__).parents[3] / "models"


def compiled(model: ModelProto, chip: Chip = TINY, options: SubgraphOptions | None = None) -> Compilation:
    return compile_module(import_onnx(model.SerializeToString(), {}), chip, options=options)


def check(model: ModelProto, compilation: Compilation) -> None:
    """Write, read and run with all checks, and compare the outputs with ONNX Runtime."""
    exe = from_bytes(to_bytes(compilation.executable))
    rng = np.random.default_rng(1)
    inputs = {info.name: rng.standard_normal(info.shape).astype(np.float32) for info in exe.inputs}
    outputs = run_functional(exe, inputs, check=True).outputs
    for name, value in Oracle(model.SerializeToString()).run(inputs).items():
        assert compare(name, outputs[name], value).equal


def small(dram_bytes: int) -> Chip:
    return replace(TINY, name="small", dram_bytes=dram_bytes)


def test_weights_of_ten_times_the_sram() -> None:
    model = dense_layers([512, 512, 512, 480])
    assert sum(len(w.raw_data) for w in model.graph.initializer) > 10 * TOTAL_SRAM
    check(model, compiled(model))


def test_an_operator_larger_than_a_core() -> None:
    model = dense_layers([600, 300])
    assert len(model.graph.initializer[0].raw_data) > 10 * TINY.sram_bytes
    check(model, compiled(model))


@pytest.fixture(scope="module")
def four_layers() -> ModelProto:
    """Four layers of 64 x 64, with 16,384 bytes of weights each."""
    return dense_layers([64] * 5)


def test_a_network_that_does_not_fit_in_dram_is_split(four_layers: ModelProto) -> None:
    compilation = compiled(four_layers, small(40_000))
    check(four_layers, compilation)
    exe = compilation.executable
    assert len(exe.launches) == len(compilation.parts) > 1
    assert exe.dram_bytes_used <= 40_000
    # Streamed weights and the input are copied from the host once, the output is copied to it.
    timing = run_timing(exe)
    assert exe.weight_bytes + exe.host_weight_bytes == 4 * (64 * 64 + 64) * 4
    assert timing.host_in_bytes == exe.host_weight_bytes + 2 * 64 * 4
    assert timing.host_out_bytes == 2 * 64 * 4
    launches = collect(exe, timing)["launches"]
    assert [one["subgraph"] for one in launches] == [part.label for part in compilation.parts]
    assert [one["estimated_cycles"] for one in launches] == [part.code.estimated_cycles for part in compilation.parts]
    # The first attempt is the whole network; the log states the needed bytes: weights, biases, and the input.
    first = compilation.log.entries[0]
    needed = 4 * (64 * 64 + 64) * 4 + 2 * 64 * 4
    assert (first.subgraph, first.ok, first.resource) == ("all", False, "DRAM")
    assert first.needed >= needed
    assert first.available == 40_000
    assert f"needs {first.needed:,} bytes of DRAM, 40,000 are available: {first.needed - 40_000:,} (" in str(first)
    assert "is split into 2 parts, after" in compilation.log.lines()[1]


def test_the_error_after_many_attempts_has_the_resource(
    four_layers: ModelProto, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error has the resource and its sizes, which are used to plan launches for a budget."""
    for limit in ("FEWEST_ATTEMPTS", "ATTEMPTS_AN_OPERATOR"):
        monkeypatch.setattr(f"meshloom.lowering.subgraphs.compile_subgraphs.{limit}", 1)
    with pytest.raises(
        ResourceError, match=r"does not fit chip 'small' after \d+ parts were tried: it needs"
    ) as caught:
        compiled(four_layers, small(4_000))
    assert caught.value.resource == "DRAM"
    assert caught.value.needed > caught.value.available


def test_weights_are_prefetched_during_the_previous_launch(four_layers: ModelProto) -> None:
    """If two layers fit into DRAM, copies of the next weights start at the start of a launch, not at its end."""
    rule, _ = parse_subgraphs("weight-bytes,weight-bytes=17000")
    timing = run_timing(compiled(four_layers, small(40_000), SubgraphOptions(rule)).executable)
    starts = {start for _, start, _ in timing.launches}
    early = [copy for copy in timing.copies if copy.to_device and copy.nbytes > 16_384 and copy.start in starts]
    assert len(early) >= 2


def test_a_single_operator_that_does_not_fit_in_dram_is_split() -> None:
    model = dense_layers([256, 128])  # 131,072 bytes of weights
    compilation = compiled(model, small(60_000))
    check(model, compilation)
    assert any("its operator is split into" in line for line in compilation.log.lines())


def test_an_input_with_rows_nearly_as_large_as_dram() -> None:
    model = dense_layers([4000, 8])  # 2 rows of 16,000 bytes
    check(model, compiled(model, small(20_000)))


def test_operators_that_cannot_fit_are_reported() -> None:
    model = dense_layers([64, 8])
    with pytest.raises(
        ResourceError, match=r"operator '.*' \(dataflow\.\w+\) does not fit chip 'small'.* DRAM"
    ) as caught:
        compiled(model, small(128))  # not even an operator on single numbers fits, because values are aligned
    assert (caught.value.resource, caught.value.available) == ("DRAM", 128)
    assert caught.value.needed > 128
    with pytest.raises(ResourceError, match="the network does not fit chip 'small'"):
        compiled(dense_layers([64] * 5), small(40_000), SubgraphOptions(split_failures=False))


def test_values_are_kept_on_the_host() -> None:
    """An output of the first layer is kept on the host while the others run, which need all of the DRAM."""
    model = dense_layers([16, 2000, 8, 48, 8], taps=(0,))  # r0: 2 x 2000 numbers
    compilation = compiled(model, small(160_000))
    check(model, compilation)


@pytest.mark.parametrize("rule", ["fewest-bytes,parts=3", "data-outputs", "key-nodes", "named,names=r1"])
def test_cut_by_rule(rule: str) -> None:
    model = dense_layers([24, 40, 16, 32, 8], taps=(1,))
    options = SubgraphOptions(parse_subgraphs(rule)[0])
    compilation = compiled(model, TINY, options)
    check(model, compilation)
    assert len(compilation.executable.launches) > 1


@pytest.mark.parametrize("strategy", [name for name in FUSIONS if name not in ("none", "auto")])
def test_split_networks_are_fused(strategy: str) -> None:
    model = dense_layers([24, 40, 16, 32, 8])
    rule = parse_subgraphs("fewest-bytes,parts=4")[0]
    unfused = compiled(model, TINY, SubgraphOptions(rule))
    fused = compiled(model, TINY, SubgraphOptions(rule, fuse=strategy))
    check(model, fused)
    assert len(fused.parts) < len(unfused.parts) == 4
    assert run_timing(fused.executable).cycles < run_timing(unfused.executable).cycles


def test_split_parts_are_fused_for_a_small_gain() -> None:
    """Small layers after one with streamed weights are fused: fewer launches, and up to 3% fewer cycles."""
    model, chip = dense_layers([256, 128, 8, 8]), small(60_000)
    unfused = compiled(model, chip, SubgraphOptions(fuse="none"))
    fused = compiled(model, chip)
    check(model, fused)
    assert len(fused.parts) < len(unfused.parts)
    cycles, before = (run_timing(one.executable).cycles for one in (fused, unfused))
    assert 0.97 * before < cycles < before


def test_equal_layers_are_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    from meshloom.lowering.autotune import compile_pool

    compiled_parts: list[ModuleOp] = []
    compile_anonymous: Callable[..., object] = compile_pool.compile_anonymous

    def counting(module: ModuleOp, chip: Chip, effort: Effort) -> object:
        compiled_parts.append(module)
        return compile_anonymous(module, chip, effort)

    monkeypatch.setattr(compile_pool, "compile_anonymous", counting)
    model = dense_layers([32] * 6)
    rule = parse_subgraphs("named,names=r0,names=r1,names=r2,names=r3")[0]
    compilation = compiled(model, TINY, SubgraphOptions(rule))
    assert (len(compilation.parts), len(compiled_parts)) == (5, 1)
    check(model, compilation)


def test_processes_and_cache_change_nothing(four_layers: ModelProto, tmp_path: Path) -> None:
    chip, rule = small(40_000), parse_subgraphs("fewest-bytes,parts=2")[0]
    alone = compiled(four_layers, chip, SubgraphOptions(rule))
    data = to_bytes(alone.executable)
    cache = tmp_path / "cache"
    for hits, damage in ((0, False), (len(alone.parts), False), (0, True), (len(alone.parts), False)):
        if damage:
            for entry in cache.iterdir():
                entry.write_bytes(entry.read_bytes()[:-1] + b"?")
        again = compiled(four_layers, chip, SubgraphOptions(rule, jobs=2, cache=cache))
        assert to_bytes(again.executable) == data
        assert again.log.lines() == alone.log.lines()
        assert (again.cache_hits > 0) == (hits > 0)


def test_exchanged_cache_entries_give_no_other_executable(tmp_path: Path) -> None:
    """
    Cache entries with exchanged contents are compiled again.

    The two parts have the same types, so that the code of one could be linked in place of the other's.
    """
    rule = parse_subgraphs("named,names=a")[0]
    lines = ["func.func @main(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {"]
    lines += [f"  %{name} = dataflow.{kind} %{x} : (tensor<64x64xf32>) -> tensor<64x64xf32>"
              for name, kind, x in (("a", "tanh", "x"), ("b", "exp", "a"))]  # fmt: skip
    path = tmp_path / "net.mlir"
    path.write_text("\n".join([*lines, "  func.return %b : tensor<64x64xf32>", "}"]))
    options = SubgraphOptions(rule, fuse="none", cache=tmp_path / "cache")

    def executable() -> bytes:
        return to_bytes(compile_module(read_module(path, {}), TINY, options=options).executable)

    first = executable()
    one, other = sorted((tmp_path / "cache").iterdir())
    contents = one.read_bytes(), other.read_bytes()
    one.write_bytes(contents[1])
    other.write_bytes(contents[0])
    assert executable() == first
    assert (one.read_bytes(), other.read_bytes()) == contents, "they are written again"
    # An entry with the right key and other contents is rejected by the checksum, which includes both.
    one.write_bytes(contents[0][:32] + contents[1][32:])
    assert executable() == first
    x = np.linspace(-2, 2, 64 * 64, dtype=np.float32).reshape(64, 64)
    compilation = compile_module(read_module(path, {}), TINY, options=options)
    assert compilation.cache_hits == 2
    (found,) = run_functional(compilation.executable, {"arg0": x}).outputs.values()
    np.testing.assert_allclose(found, np.exp(np.tanh(x.astype(np.float64))), rtol=1e-5)


def test_exchanged_or_truncated_failures_in_the_cache_are_rejected(tmp_path: Path) -> None:
    keys = [CompileCache(TINY, tmp_path).key(text) for text in ("one", "other")]
    for key, needed in zip(keys, (100, 200), strict=True):
        CompileCache(TINY, tmp_path).put(key, Failure(f"needs {needed}", "DRAM", needed, 50))
    assert CompileCache(TINY, tmp_path).get(keys[0]) == Failure("needs 100", "DRAM", 100, 50)
    one, other = (tmp_path / f"{key}.failure" for key in keys)
    one.write_bytes(other.read_bytes())
    assert CompileCache(TINY, tmp_path).get(keys[0]) is None
    for length in range(0, 80, 7):
        other.write_bytes(one.read_bytes()[:length])
        assert CompileCache(TINY, tmp_path).get(keys[1]) is None


def test_only_a_changed_layer_is_compiled_again(tmp_path: Path) -> None:
    rule = parse_subgraphs("named,names=r0,names=r1")[0]
    options = SubgraphOptions(rule, cache=tmp_path)
    compiled(dense_layers([24, 40, 16, 8]), options=options)
    before = set(tmp_path.iterdir())
    model = dense_layers([24, 40, 16, 12], seed=5)  # all weights differ; the last layer has another shape
    check(model, compiled(model, options=options))
    assert len(set(tmp_path.iterdir()) - before) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("sideways", "no split rule is named 'sideways'"),
        ("fewest-bytes,parts=many", "cannot read 'parts=many'"),
        ("parts=3", "give auto, whole, or a rule"),
        ("named", "give names=NAME"),
    ],
)
def test_invalid_options(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        parse_subgraphs(text)


@pytest.mark.slow
@pytest.mark.parametrize("kib", [256, 64])
def test_rnet_in_little_dram(kib: int) -> None:
    chip = small(kib << 10)
    module = import_onnx(MODELS / "rnet.onnx", {"input_2": (1, 24, 24, 3)})
    exe = compile_module(module, chip).executable
    inputs = {"input_2": np.random.default_rng(0).standard_normal((1, 24, 24, 3)).astype(np.float32)}
    outputs = run_functional(exe, inputs, check=True).outputs
    assert all(compare(n, outputs[n], v).equal for n, v in Oracle(MODELS / "rnet.onnx").run(inputs).items())


@pytest.mark.slow
def test_minilm_on_tiny() -> None:
    """23 MB of weights exceed 16 MB of DRAM: some are streamed from the host."""
    chip = replace(TINY, dram_bytes=16 << 20)
    names = ("input_ids", "attention_mask", "token_type_ids")
    module = import_onnx(MODELS / "minilm.onnx", dict.fromkeys(names, (1, 12)))
    exe = compile_module(module, chip).executable
    assert exe.weight_bytes + exe.host_weight_bytes > chip.dram_bytes
    rng = np.random.default_rng(0)
    inputs = {name: rng.integers(0, 2, (1, 12)) for name in names} | {"input_ids": rng.integers(0, 30_000, (1, 12))}
    outputs = run_functional(exe, inputs).outputs
    assert all(compare(n, outputs[n], v).equal for n, v in Oracle(MODELS / "minilm.onnx").run(inputs).items())


@pytest.mark.slow
@pytest.mark.parametrize("name", ["rnet", "onet", "pnet", "ocr-cls", "vad", "magika"])
def test_models_in_four_parts(name: str) -> None:
    model = PUBLIC_MODELS[name]
    rule = parse_subgraphs("fewest-bytes,parts=4")[0]
    module = import_onnx(model.path, dict(model.shapes))
    compilation = compile_module(module, load_chip("edge"), options=SubgraphOptions(rule))
    assert len(compilation.parts) == 4
    inputs = model.inputs(0)
    outputs = run_functional(compilation.executable, inputs).outputs
    assert all(compare(n, outputs[n], v).equal for n, v in Oracle(model.path).run(inputs).items())
