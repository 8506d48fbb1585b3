"""Tests of the wheel: tests of plug-ins and tools run in an environment without the sources."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).resolve().parents[2]
NOT_SOURCES = shutil.ignore_patterns(".*", "models", "build", "dist", "__pycache__", "*.egg-info", "test", "bench")


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel; its dependencies are those of this environment."""
    folder = tmp_path_factory.mktemp("wheel")
    shutil.copytree(ROOT, folder / "sources", ignore=NOT_SOURCES)
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    build = [*pip, "wheel", "--no-deps", "--no-build-isolation", "-w", folder, folder / "sources"]
    subprocess.run(build, check=True)
    shutil.rmtree(folder / "sources")
    venv.create(folder / "environment", symlinks=True)
    made = folder / "environment" / "bin" / "python"
    (wheel,) = folder.glob("*.whl")
    subprocess.run([*pip, "--python", made, "install", "--no-deps", wheel], check=True)
    ask = [made, "-c", "import sysconfig; print(sysconfig.get_path('purelib'))"]
    packages = subprocess.run(ask, capture_output=True, text=True, check=True).stdout.strip()
    # A path in a .pth file is not a site folder: .pth files in it, such as that of the sources, are not read.
    Path(packages, "dependencies.pth").write_text(sysconfig.get_path("purelib"))
    return made


def test_the_imported_package_is_that_of_the_wheel(python: Path, tmp_path: Path) -> None:
    code = "import meshloom; print(meshloom.__file__)"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path).stdout
    assert Path(found).is_relative_to(python.parents[1])


def test_the_tests_of_a_plugin(python: Path, tmp_path: Path) -> None:
    """The tests of a plug-in in docs/plugins.md pass."""
    shutil.copytree(ROOT / "examples" / "plugin", tmp_path / "examples" / "plugin")
    text = (ROOT / "docs" / "plugins.md").read_text()
    (example,) = [one for one in re.findall(r"```python\n(.*?)```", text, re.DOTALL) if "meshloom.testing" in one]
    # lit and filecheck are from this environment.
    folders = [python.parent, Path(sys.executable).parent, os.environ["PATH"]]
    environment = {**os.environ, "PATH": os.pathsep.join(map(str, folders))}
    command = [python, "-c", example]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, env=environment)
    assert done.returncode == 0, done.stderr


def test_a_tool_on_a_chip_of_the_package(python: Path, tmp_path: Path) -> None:
    (tmp_path / "net.mlir").write_text(
        'func.func @main(%x: tensor<8xf32> {dataflow.name = "x"}) -> (tensor<8xf32> {dataflow.name = "y"}) {\n'
        "  %y = dataflow.relu %x : (tensor<8xf32>) -> tensor<8xf32>\n"
        "  func.return %y : tensor<8xf32>\n}\n"
    )
    for tool, *options in (["compile", "net.mlir", "--chip", "tiny", "-o", "net.mlx"], ["run", "net.mlx"]):
        command = [python.with_name(f"meshloom-{tool}"), *options]
        command += ["--random", "0", "--check", "net.mlir"] if tool == "run" else []
        done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
