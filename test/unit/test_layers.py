"""Tests of the layers of the package: allowed imports between folders, also in functions and for type checking."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

LAYERS = (
    "support",
    "chips",
    "formats",
    "mapping",
    "dialects",
    "frontend",
    "emulator/machine",
    "emulator/executable",
    "emulator/functional",
    "emulator/timing",
    "emulator/reports",
    "emulator",
    "analysis",
    "analysis/allocation",
    "analysis/subgraphs",
    "analysis/cost_graphs",
    "analysis/orders",
    "analysis/offload",
    "analysis/offload_steps",
    "analysis/tasks",
    "analysis/execution",
    "analysis/sparse",
    "analysis/planning",
    "analysis/placement",
    "transforms/shared",
    "transforms/differentiate",
    "transforms/offload",
    "transforms",
    "lowering/ir",
    "lowering/options",
    "lowering/sparse_to_dataflow.py",
    "lowering/dataflow_to_manycore.py",
    "lowering/simplify.py",
    "lowering/launch",
    "lowering/codegen",
    "lowering/linker",
    "lowering/coreasm_to_executable.py",
    "lowering/executable_to_coreasm.py",
    "lowering/multi_chip",
    "lowering/sequence",
    "lowering/cache",
    "lowering/session.py",
    "lowering/autotune",
    "lowering/subgraphs",
    "lowering/offload",
    "lowering",
    "lowering/driver",
    "lowering/pipelines.py",
    "lowering/__init__.py",
    "mapping/api.py",
    "mapping/__init__.py",
    "tools/report",
    "tools",
    "meshloom",
)
"""
From the lowest to the highest: a file imports only its own folder and entries above it in this list. If several
entries match a file, the longest decides; a folder that is not in the list belongs to the folder that contains it.
"""

EXCEPTIONS = {
    # The assembler checks an executable as a whole, and gives the line of an error.
    ("dialects/coreasm/verify_executable.py", "lowering/coreasm_to_executable.py"),
    # The interpreter of `coreasm` assembles a module and runs the emulator.
    ("dialects/coreasm/interpreter.py", "lowering/coreasm_to_executable.py"),
    ("dialects/coreasm/interpreter.py", "emulator/executable/executable.py"),
    ("dialects/coreasm/interpreter.py", "emulator/functional/engine.py"),
    ("dialects/coreasm/interpreter.py", "emulator/machine/errors.py"),
    # `manycore-schedule{model=stream}` compiles the orders that it compares.
    ("transforms/manycore_schedule.py", "lowering/driver/order_costs.py"),
}
"""(Importing file, imported file): imports that the list does not allow, each with its reason."""

FOLDERS = sorted({layer.split("/")[0] for layer in LAYERS})
FILES = {
    path.relative_to(ROOT).as_posix(): path
    for folder in FOLDERS
    for path in sorted((ROOT / folder).rglob("*.py"))
    if "__pycache__" not in path.parts
}


def layer_of(file: str) -> int:
    """The number of the layer of a file of the package."""
    names = [file, *(parent.as_posix() for parent in Path(file).parents)]
    return LAYERS.index(next(name for name in names if name in LAYERS))


def module_file(module: str) -> str | None:
    """The file of a module, given by its name in the package such as `lowering.pipelines`; None if there is none."""
    place = module.replace(".", "/")
    found = (f"{place}.py", f"{place}/__init__.py", f"meshloom/{place}.py", f"meshloom/{place}/__init__.py")
    return next((name for name in found if name in FILES), None)


def imports_of(file: str) -> Iterator[str]:
    """The files of the package that a file imports anywhere, or names as `module:Name` for an import on demand."""
    package = [] if file.startswith("meshloom/") else list(Path(file).parent.parts)
    for node in ast.walk(ast.parse(FILES[file].read_text())):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if named := re.fullmatch(r"([a-z_.]+):\w+", node.value):
                bases = (".".join([*package, named[1]]), named[1])
                found = next((one for base in bases if (one := module_file(base)) is not None), None)
                if found is not None and found != file:
                    yield found
            continue
        if not isinstance(node, ast.ImportFrom):
            continue
        module = node.module.split(".") if node.module else []
        if node.level:
            base = package[: len(package) - node.level + 1] + module
        elif module[:1] == ["meshloom"]:
            base = module[1:]
        else:
            continue
        for name in node.names:
            found = module_file(".".join([*base, name.name])) or module_file(".".join(base))
            if found is not None and found != file:
                yield found


def test_every_folder_has_a_layer() -> None:
    assert [file for file in FILES if not any(file.startswith(layer) for layer in LAYERS)] == []
    assert [layer for layer in LAYERS if not (ROOT / layer).exists()] == []


@pytest.mark.parametrize("layer", LAYERS)
def test_files_import_their_own_layer_and_lower_ones(layer: str) -> None:
    number = LAYERS.index(layer)
    files = [file for file in FILES if layer_of(file) == number]
    assert files
    upward = {(file, other) for file in files for other in imports_of(file) if layer_of(other) > number}
    assert sorted(upward - EXCEPTIONS) == []


def test_modules_named_for_imports_on_demand_count_as_imports() -> None:
    assert "mapping/default/method.py" in set(imports_of("mapping/methods.py"))
    assert "lowering/driver/meshloom_pass.py" in set(imports_of("lowering/__init__.py"))
    assert "transforms/coreasm_pack.py" in set(imports_of("transforms/__init__.py"))
    assert "dialects/dataflow/__init__.py" in set(imports_of("tools/universe.py"))


def test_all_exceptions_are_needed() -> None:
    upward = {(file, other) for file in FILES for other in imports_of(file) if layer_of(other) > layer_of(file)}
    assert sorted(EXCEPTIONS - upward) == []


def test_every_top_folder_has_a_readme() -> None:
    assert [folder for folder in FOLDERS if not (ROOT / folder / "README.md").is_file()] == []
