"""Reports of a small network: they are correct and self-contained."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest
from meshloom.analysis.subgraphs.least_cut import AtFewestBytes
from meshloom.chips import load_chip
from meshloom.dialects.memory import AllocOp
from meshloom.emulator.reports.stats import collect
from meshloom.emulator.timing.engine import run_timing
from meshloom.frontend.onnx_import import import_onnx
from meshloom.lowering.driver.compile_module import compile_module
from meshloom.lowering.ir.module_text import module_of_text
from meshloom.lowering.options.subgraph_options import SubgraphOptions
from meshloom.support.errors import InputError
from meshloom.tools.compile import main as compile_main
from meshloom.tools.report.compile_report import compile_facts, compile_report
from meshloom.tools.report.memory_map import alive_bytes
from meshloom.tools.report.run_report import run_facts, run_report
from meshloom.tools.report.run_sections import error_text, tasks
from meshloom.tools.run import main as run_main

import meshloom

from .pages import parsed, rows, tiles


@pytest.fixture
def network(model: Path) -> meshloom.CompiledNetwork:
    return meshloom.compile(model, chip="tiny", shapes={"x": (3, 6)})


def test_both_reports_of_the_command_lines(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(model.parent)
    arguments = ["small.onnx", "--chip", "tiny", "--shape", "x=3x6", "-o", "net.mlx", "-q", "--report", "compile.html"]
    assert compile_main(arguments) == 0
    names = [row[1] for row in rows(parsed(Path("compile.html").read_text()), "tasks")]
    assert run_main(["net.mlx", "--random", "0", "-q", "--report", "run.html", "--stats", "stats.json"]) == 0
    figures = json.loads(Path("stats.json").read_text())
    page = parsed(Path("run.html").read_text())
    assert [row[1] for row in rows(page, "tasks")] == [*names, "all"]
    assert tiles(page)["Cycles"] == f"{figures['cycles']:,}"
    text = "".join(page.itertext())
    assert f"{figures['bytes']['dram_read']:,} bytes" in text
    assert f"{figures['roofline']['cycles']:,.0f} cycles" in text


def test_tasks_of_a_run_add_up(network: meshloom.CompiledNetwork) -> None:
    exe = network.executable
    timing = run_timing(exe, trace=True)
    facts = run_facts(exe, timing, collect(exe, timing))
    assert [task.name for task in facts.tasks] == exe.source_names
    # All busy cycles belong to a task; the run ends when the last task does and the network is empty.
    by_unit = [sum(task.busy[unit] for task in facts.tasks) for unit in range(8)]
    assert by_unit == timing.busy.sum(axis=0).tolist()
    assert sum(task.takes for task in facts.tasks) == max(task.end for task in facts.tasks) - timing.launches[0][1]
    section = tasks(facts)
    assert section is not None
    table = next(ElementTree.fromstring(f"<r>{section.body}</r>").iter("tbody"))
    for row, task, note in zip(table, facts.tasks, facts.notes, strict=False):
        cells = ["".join(cell.itertext()) for cell in row]
        assert cells[3:6] == [f"{value:,}" for value in (task.start, task.end, task.takes)]
        assert cells[7] == f"{note.cycles:,}"
        assert cells[8] == error_text(note.cycles, task.takes)


def test_the_sram_map_shows_the_buffers_of_the_memory_level(model: Path) -> None:
    module = import_onnx(model, {"x": (3, 6)})
    compilation = compile_module(module, load_chip("tiny"))
    level = compilation.module
    expected: list[tuple[int, int, int, int]] = []
    for op in level.walk():
        if isinstance(op, AllocOp) and op.interval is not None:
            type = op.buffer.type
            assert type.offset is not None
            expected.append((type.offset, -(-type.nbytes // 64) * 64, *op.interval))
    (use,) = compile_facts(compilation, []).sram
    assert sorted((one.address, one.size, one.first, one.last) for one in use.blocks) == sorted(expected)
    assert max(one.address + one.size for one in use.blocks) == compilation.sram_peak
    assert max(alive_bytes(use.blocks, len(use.tasks))) == compilation.sram_lower_bound
    assert {one.colour for one in use.blocks} >= {"constant", "slice", "staging"}


def test_several_launches(model: Path) -> None:
    compilation = compile_module(
        import_onnx(model, {"x": (3, 6)}), load_chip("tiny"), options=SubgraphOptions(rule=AtFewestBytes(2))
    )
    exe = compilation.executable
    assert len(compilation.parts) == len(exe.launches) > 1
    page = parsed(compile_report("net", compile_facts(compilation, [("import", 0.5)])))
    assert [row[0] for row in rows(page, "subgraphs")] == [part.label for part in compilation.parts]
    (log,) = page.iter("ol")
    assert ["".join(line.itertext()) for line in log] == compilation.log.lines()
    timing = run_timing(exe, trace=True)
    facts = run_facts(exe, timing, collect(exe, timing))
    last, first = max(task.end for task in facts.tasks), timing.launches[0][1]
    assert sum(task.takes + task.waits for task in facts.tasks) == last - first


def test_networks_without_tasks() -> None:
    text = "func.func @main(%x : tensor<4xf32>) -> tensor<4xf32> {\nfunc.return %x : tensor<4xf32>\n}"
    compilation = compile_module(module_of_text(text), load_chip("tiny"))
    parsed(compile_report("net", compile_facts(compilation, [])))
    timing = run_timing(compilation.executable, trace=True)
    facts = run_facts(compilation.executable, timing, collect(compilation.executable, timing))
    assert not facts.tasks
    names = [section.attrib["id"] for section in parsed(run_report("net", facts)).iter("section")]
    assert "tasks" not in names
    assert "traffic" in names


def test_errors_of_estimates() -> None:
    assert [error_text(*pair) for pair in ((150, 100), (50, 100), (1000, 999), (5000, 100), (5, 0))] == [
        "+50%", "-50%", "0%", "+4,900%", "",
    ]  # fmt: skip


def test_without_trace_and_notes(network: meshloom.CompiledNetwork) -> None:
    exe = replace(network.executable, notes={})
    timing = run_timing(exe)
    page = parsed(run_report("<net>.mlx", run_facts(exe, timing, collect(exe, timing))))
    assert page.findtext("head/title") == "<net>.mlx"
    assert "tasks" not in [section.attrib["id"] for section in page.iter("section")]
    assert "too many instructions" in "".join(page.itertext())


@pytest.mark.parametrize("note", ["{", "5", '[{"name": "a"}]', "[1]"])
def test_damaged_notes(network: meshloom.CompiledNetwork, note: str) -> None:
    exe = replace(network.executable, notes={"tasks": note})
    timing = run_timing(exe)
    with pytest.raises(InputError, match="note 'tasks'"):
        run_facts(exe, timing, collect(exe, timing))
