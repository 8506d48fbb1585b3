"""
Tests of the repository: lists of packages, tools, folders and extras are complete; tools have help and can be
interrupted at any time; lit tests check something; importing is cheap.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLE = tomllib.loads((ROOT / "pyproject.toml").read_text())
SETUPTOOLS = TABLE["tool"]["setuptools"]


def test_all_packages_are_listed() -> None:
    found: set[str] = set()
    for folder in SETUPTOOLS["package-dir"].values():
        for init in (ROOT / folder).rglob("__init__.py"):
            parts = init.parent.relative_to(ROOT).parts
            found.add(".".join(parts if folder == "meshloom" else ("meshloom", *parts)))
    assert sorted(SETUPTOOLS["packages"]) == sorted(found)


def test_root_packages_are_typed_and_linked() -> None:
    for folder in SETUPTOOLS["package-dir"].values():
        assert (ROOT / folder / "py.typed").is_file()
        if folder != "meshloom":
            link = ROOT / "typings" / "meshloom" / folder
            assert link.resolve() == ROOT / folder
            assert folder in TABLE["tool"]["basedpyright"]["include"]


def test_names_of_the_api_are_listed_before_their_use() -> None:
    code = "import meshloom; print(dir(meshloom) == sorted(meshloom.__all__) and 'compile' in dir(meshloom))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout == "True\n", done.stderr


@pytest.mark.parametrize("name", sorted(TABLE["project"]["scripts"]))
def test_scripts_have_entry_points_and_help(name: str) -> None:
    tool = Path(sys.executable).with_name(name)
    environment = {**os.environ, "COLUMNS": "80"}
    done = subprocess.run([str(tool), "--help"], capture_output=True, text=True, timeout=60, env=environment)
    assert done.returncode == 0, done.stderr
    assert name in done.stdout
    assert "examples:" in done.stdout
    assert [line for line in done.stdout.splitlines() if len(line) > 79] == []
    examples = done.stdout.split("examples:\n")[1].split("\n\n")[0].replace(" \\\n     ", "").splitlines()
    assert [line for line in examples if not line.startswith(("  meshloom-", "  # "))] == []


@pytest.mark.parametrize("name", sorted(TABLE["project"]["scripts"]))
def test_an_interrupt_while_modules_load(name: str) -> None:
    """An interrupt at the first import that takes time gives one line and status 130."""
    module, _, function = TABLE["project"]["scripts"][name].partition(":")
    source = f"""
import os, signal, sys

LIGHT = ("meshloom", "meshloom.tools", "meshloom.tools.entry", "meshloom.support", "meshloom.support.interrupts")

class Interrupt:
    def find_spec(self, module, path=None, target=None):
        if module not in LIGHT:
            print(module, flush=True)
            os.kill(os.getpid(), signal.SIGINT)

signal.signal(signal.SIGINT, signal.default_int_handler)
sys.meta_path.insert(0, Interrupt())
sys.argv = [{name!r}, "--version"]
from {module} import {function}
sys.exit({function}())
"""
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (130, "error: interrupted\n"), done.stdout


DELAYS = (0.0, 0.003, 0.01, 0.02, 0.03, 0.05, 0.1)
"""Seconds from the first line of a tool to the interrupt."""


@pytest.mark.parametrize("name", sorted(TABLE["project"]["scripts"]))
def test_an_interrupt_after_any_delay(name: str) -> None:
    """An interrupt at any time after the first line gives one line and status 130, unless the tool has finished."""
    module, _, function = TABLE["project"]["scripts"][name].partition(":")
    source = f"""
import os, sys
from meshloom.support import interrupts

install = interrupts.end_on_interrupt

def tell():
    installed = install()
    os.write(1, b"x")
    return installed

interrupts.end_on_interrupt = tell
sys.argv = [{name!r}, "--help"]
from {module} import {function}
sys.exit({function}())
"""
    interrupted = 0
    for delay in DELAYS:
        command = [sys.executable, "-c", source]
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdout.read(1) == b"x"
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        assert (process.returncode, errors) in ((130, b"error: interrupted\n"), (0, b"")), delay
        interrupted += process.returncode == 130
    assert interrupted > 0


START_DELAYS = (*(i / 500 for i in range(20)), 0.05, 0.07, 0.1, 0.2)
"""Seconds from the start of the process to the interrupt, most of them during the start of Python."""
BEFORE_THE_HANDLER = (
    "meshloom/__init__.py", "tools/__init__.py", "tools/entry.py", "support/__init__.py", "support/interrupts.py"
)  # fmt: skip
"""Files that are imported before the handler is installed."""


def check_answer(status: int, errors: str) -> str:
    """The outcome of an interrupt of an installed command; fails if it is not an allowed one."""
    if (status, errors) == (130, "error: interrupted\n"):
        return "one line"
    if (status, errors) == (-signal.SIGINT, ""):
        return "ended by the signal"  # as every program that has no handler yet
    if (status, errors) == (0, ""):
        return "done"
    # Python's traceback during its start: of this package, only imports or the function that sets the handler run then.
    assert "KeyboardInterrupt" in errors, (status, errors)
    frames = re.findall(r'File "(.+)", line \d+, in (.+)', errors)
    ours = [(Path(file), name) for file, name in frames if Path(file).is_relative_to(ROOT) and ".venv" not in file]
    if ours[-1:] == [(ROOT / "support/interrupts.py", "end_on_interrupt")]:
        return "the handler's start"
    allowed = [(ROOT / file, "<module>") for file in BEFORE_THE_HANDLER]
    assert [frame for frame in ours if frame not in allowed] == [], errors
    return "Python's start"


@pytest.mark.parametrize("name", ["meshloom-compile", "meshloom-opt", "meshloom-run"])
def test_an_interrupt_while_the_process_starts(name: str) -> None:
    """An interrupt of the installed command is answered, from before Python's first line to the tool's work."""
    command = [str(Path(sys.executable).with_name(name)), "--help"]
    answers: set[str] = set()
    for delay in START_DELAYS:
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True) as process:
            time.sleep(delay)
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=60)
        answers.add(check_answer(process.returncode, errors))
    assert answers & {"one line", "done"}


def test_readme_lists_all_tools_and_folders() -> None:
    readme = (ROOT / "README.md").read_text()
    tools, folders = readme.split("## Tools")[1].split("## Folders")
    folders = folders.split("## ")[0]
    assert [name for name in TABLE["project"]["scripts"] if f"`{name}`" not in tools] == []
    tracked = subprocess.run(["git", "ls-files"], capture_output=True, text=True, cwd=ROOT, check=False).stdout.split()
    named = {path.split("/")[0] for path in tracked if "/" in path and not path.startswith(".")}
    named |= {path.split("/")[1] for path in tracked if path.startswith("analysis/") and path.count("/") > 1}
    assert [name for name in sorted(named) if f"{name}/" not in folders] == []


def test_readme_lists_every_extra_with_its_purpose() -> None:
    section = (ROOT / "README.md").read_text().split("## Installing")[1].split("## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| .+ \| (.+) \|$", section, re.MULTILINE))
    assert sorted(rows) == sorted(TABLE["project"]["optional-dependencies"])
    assert all(rows.values())


def test_the_demo_shows_its_installation() -> None:
    """`make demo` installs without `--quiet`, so that pip prints each package."""
    done = subprocess.run(["make", "-nB", "demo"], capture_output=True, text=True, timeout=60, cwd=ROOT, check=True)
    installs = [line for line in done.stdout.splitlines() if "pip install" in line]
    assert installs
    assert [line for line in installs if "--quiet" in line or " -q" in line] == []
    assert done.stdout.count("echo ") >= len(installs)


def lit_tests() -> list[Path]:
    return sorted((ROOT / "test" / "filecheck").rglob("*.mlir"))


@pytest.mark.parametrize("path", lit_tests(), ids=lambda path: str(path.relative_to(ROOT)))
def test_lit_tests_check_something(path: Path) -> None:
    text = path.read_text()
    if path.parent.name == "Inputs":
        return
    runs = re.findall(r"^\s*// ?RUN: (.*)$", text, re.MULTILINE)
    assert runs, "no RUN line: the test runs nothing"
    if re.search(r"^\s*// ?[A-Z-]*CHECK", text, re.MULTILINE):
        assert any("filecheck" in run or "MESHLOOM" in run for run in runs), "CHECK lines that nothing reads"


def test_importing_meshloom_is_cheap() -> None:
    code = "import sys, meshloom; print([m for m in ('numpy', 'onnx', 'numba', 'xdsl') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, cwd="/")
    assert done.stdout.strip() == "[]", done.stderr
