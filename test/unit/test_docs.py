"""Every command and every program in the README and the documentation runs, in the order of the page."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
LONG = {"docs/memory-saving.md", "docs/orders.md", "docs/sparse.md", "docs/subgraphs.md", "docs/training.md"}
"""Pages whose commands compile for a quarter of a minute and longer."""
LINK = re.compile(r"\]\(([^)#:]+)\)")


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
    scripts = str(Path(sys.executable).parent)
    environment = {**os.environ, "PATH": scripts + os.pathsep + os.environ["PATH"]}
    for language, text in BLOCK.findall(page.read_text()):
        if language == "python":
            _run([sys.executable, "-c", text], tmp_path, environment)
            continue
        for command in text.splitlines():
            # Targets of make set up whole environments: here it is enough that they exist.
            if command.startswith("make "):
                _run(["make", "--dry-run", *command.split()[1:]], ROOT, environment)
            elif command:
                _run(["sh", "-c", command], tmp_path, environment)


def _run(command: list[str], folder: Path, environment: dict[str, str]) -> None:
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command[-1]}\n{done.stdout}{done.stderr}"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), f"{page.name}: {target}"
