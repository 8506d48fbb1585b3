"""
Tests of the README and the documentation: all commands and programs run, in the order of the page; all IR parses and
verifies; every operation is shown.

A block with a file name in its first line, as in "```mlir relu.mlir", is written to that file before the following
blocks run; for a file in `examples/`, the block must equal that file. A block "```output" has lines that the commands
of its page print; their numbers may differ.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from meshloom.tools.universe import DIALECTS, MESHLOOM
from xdsl.context import Context
from xdsl.dialects import get_all_dialects
from xdsl.dialects.builtin import ModuleOp
from xdsl.parser import Parser

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: (\S+))?\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""A block of code: its language, file name or nothing, and text."""
LONG = {
    f"docs/{name}.md"
    for name in (
        "all-five",
        "capacity",
        "chips",
        "debugging",
        "extend",
        "mapping",
        "memory-planning",
        "memory-saving",
        "mlir",
        "orders",
        "performance",
        "plugins",
        "rationale/manycore",
        "rationale/memory",
        "reference/topology",
        "reports",
        "sparse",
        "subgraphs",
        "testing",
        "training",
        "tutorial",
    )
}
"""Pages whose commands take some seconds or longer, except README.md, the first page."""
NUMBER = re.compile(r"\d[\d,.]*")
LINK = re.compile(r"\]\(([^):#]*)(?:#([^)]+))?\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize(
    "page",
    [pytest.param(page, marks=pytest.mark.slow) if name_of(page) in LONG else page for page in PAGES],
    ids=name_of,
)
def test_commands_and_programs_run(page: Path, tmp_path: Path) -> None:
    for folder in ("models", "chips"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    shutil.copytree(ROOT / "examples", tmp_path / "examples", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "test").mkdir()
    copy_lit_configuration(tmp_path / "test")
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"]}
    blocks = BLOCK.findall(page.read_text())
    printed = ""
    for language, file, text in blocks:
        if file:
            path = tmp_path / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        elif language == "python":
            _run([sys.executable, "-c", text], tmp_path, environment)
        for command in text.splitlines() if language == "sh" else ():
            # Targets of make create whole environments: the test only checks that they exist.
            if command.startswith("make "):
                _run(["make", "--dry-run", *command.split()[1:]], ROOT, environment)
            elif command:
                printed += _run(["sh", "-c", command], tmp_path, environment)
    lines = set(NUMBER.sub("#", printed).splitlines())
    for shown in (text for language, _, text in blocks if language == "output"):
        assert [line for line in shown.splitlines() if NUMBER.sub("#", line) not in lines] == []


def test_shown_examples_equal_their_files() -> None:
    shown = [(file, text) for page in PAGES for _, file, text in BLOCK.findall(page.read_text())]
    examples = [(file, text) for file, text in shown if file.startswith("examples/")]
    assert examples
    assert [file for file, text in examples if text != (ROOT / file).read_text()] == []


def copy_lit_configuration(folder: Path) -> None:
    """Copy the configuration of lit and the tool server to a folder."""
    shutil.copy(ROOT / "test" / "lit.cfg", folder)
    shutil.copytree(ROOT / "test" / "tool_server", folder / "tool_server")


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> str:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}{done.stderr}"
    return done.stdout + done.stderr


def ir_of(page: Path) -> list[str]:
    """The blocks of IR that must be valid, without those whose commands expect errors of the verifier."""
    blocks = BLOCK.findall(page.read_text())
    return [text for language, _, text in blocks if language == "mlir" and "--verify-diagnostics" not in text]


def parsed(text: str) -> ModuleOp:
    context = Context()
    for name, dialect in (get_all_dialects() | MESHLOOM.all_dialects).items():
        context.register_dialect(name, dialect)
    return Parser(context, text).parse_module()


@pytest.mark.parametrize("page", [page for page in PAGES if ir_of(page)], ids=name_of)
def test_ir_parses_verifies_and_survives_a_round_trip(page: Path) -> None:
    for text in ir_of(page):
        module = parsed(text)
        module.verify()
        assert parsed(str(module)).is_structurally_equivalent(module), text


@pytest.mark.parametrize("dialect", [name for name in DIALECTS if name != "coreasm"])
def test_every_operation_of_a_dialect_is_shown(dialect: str) -> None:
    """Each operation is in IR on a rationale page; those of `coreasm` are in the reference generated from its table."""
    pages = (ROOT / "docs" / "rationale").glob("*.md")
    shown = {op.name for page in pages for text in ir_of(page) for op in parsed(text).walk()}
    operations = [operation.name for operation in MESHLOOM.all_dialects[dialect]().operations]
    assert operations
    assert [name for name in operations if name not in shown] == []


@pytest.mark.slow
def test_a_failing_test_of_ir_prints_what_the_page_on_testing_shows(tmp_path: Path) -> None:
    blocks = BLOCK.findall((ROOT / "docs" / "testing.md").read_text())
    (example,) = [text for _, file, text in blocks if file.endswith("transposes.mlir")]
    (shown,) = [text for language, _, text in blocks if language == "text"]
    copy_lit_configuration(tmp_path)
    (tmp_path / "transposes.mlir").write_text(example.replace("%y = dataflow.relu %x\n", "%y = dataflow.neg %x\n"))
    lit = Path(sys.executable).with_name("lit")
    done = subprocess.run([lit, "-v", tmp_path], capture_output=True, text=True, timeout=600)
    assert done.returncode == 1
    assert [line for line in shown.splitlines() if line not in done.stdout] == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_link_targets_exist(page: Path) -> None:
    for target, anchor in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name}: {target}"
        if anchor:
            headings = HEADING.findall((page.parent / target if target else page).read_text())
            anchors = [re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings]
            assert anchor in anchors, f"{page.name}: {target}#{anchor}"


def test_the_index_lists_every_page() -> None:
    docs = ROOT / "docs"
    listed = {(docs / target).resolve() for target, _ in LINK.findall((docs / "index.md").read_text()) if target}
    assert {page for page in PAGES if docs in page.parents} - listed == {docs / "index.md"}
