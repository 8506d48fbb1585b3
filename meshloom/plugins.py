"""
What a plug-in may add to Meshloom, one function for each kind.

A plug-in is a Python file or module that calls these functions when it is imported. The tools load those that
`--plugin FILE.py|FOLDER|MODULE` names, and those that installed packages list at the entry point `meshloom.plugins`;
in Python, `load_plugin` does. A name that is taken is an InputError, so that nothing is replaced silently. Only an
importer of an ONNX operator (`onnx_op`) replaces an existing one.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from xdsl.interpreter import InterpreterFunctions
from xdsl.ir import Dialect, Operation
from xdsl.passes import ModulePass

from meshloom.analysis.orders.search import Search
from meshloom.analysis.placement.methods import PLACE_METHODS, PlaceMethod
from meshloom.analysis.subgraphs.fuse_grouped import GroupBounds, PartSize
from meshloom.analysis.subgraphs.fusion import FusionStrategy
from meshloom.analysis.subgraphs.rules import RULES, RuleSettings
from meshloom.analysis.subgraphs.split_rule import SplitRule
from meshloom.chips import chip_names
from meshloom.chips.added_keys import KEYS as CHIP_KEYS
from meshloom.chips.added_keys import ChipKey as ChipKey
from meshloom.chips.added_keys import V, add_key
from meshloom.chips.chip import Chip, Energy
from meshloom.chips.load import ADDED as CHIPS
from meshloom.chips.load import load_chip
from meshloom.dialects import added
from meshloom.dialects.coreasm import added_formats, added_instructions
from meshloom.dialects.coreasm.added_instructions import row_instruction as row_instruction
from meshloom.dialects.coreasm.added_instructions import vector_instruction as vector_instruction
from meshloom.dialects.coreasm.instruction import Family, Instruction
from meshloom.dialects.memory.formats import FORMATS
from meshloom.dialects.memory.formats import Format as Format
from meshloom.emulator.functional.semantics.elementwise import elementwise
from meshloom.emulator.functional.semantics.rows import rows
from meshloom.emulator.functional.semantics.table import SEMANTICS
from meshloom.formats.sparse.index_kind import IndexKind as IndexKind
from meshloom.formats.sparse.index_kind import Written as Written
from meshloom.frontend.registry import onnx_op as onnx_op
from meshloom.lowering.codegen.kernels.common import Kernel
from meshloom.lowering.codegen.kernels.packing import CONVERSIONS, Conversion
from meshloom.lowering.codegen.kernels.packing import elements_of as elements_of
from meshloom.lowering.codegen.kernels.select import KERNELS
from meshloom.lowering.options.subgraph_options import FUSIONS
from meshloom.lowering.simplify import ADDED_PASSES, PLACES
from meshloom.mapping.method import MapMethod
from meshloom.mapping.methods import METHODS as MAPPING_METHODS
from meshloom.support.errors import InputError
from meshloom.support.plugins import load_plugin as load_plugin
from meshloom.tools.universe import MESHLOOM
from meshloom.transforms.shared.chip_option import ChipPass as ChipPass
from meshloom.transforms.shared.task_order import SEARCHES, order_methods

__all__ = [
    "ChipKey",
    "ChipPass",
    "Format",
    "IndexKind",
    "Written",
    "add_chip",
    "add_chip_key",
    "add_compression",
    "add_dialect",
    "add_fusion_strategy",
    "add_instruction",
    "add_kernel",
    "add_mapping_method",
    "add_order_search",
    "add_pass",
    "add_placement_method",
    "add_sparse_format",
    "add_splitting_rule",
    "elements_of",
    "load_plugin",
    "onnx_op",
    "row_instruction",
    "vector_instruction",
]

_NAME = re.compile(r"[a-z][a-z0-9_]*")


def add_pass(one: type[ModulePass], before: str | None = None) -> None:
    """
    Make a pass known by its name. With `before`, a pass of the default list that works on operators (such as
    `dataflow-fold-affine`; `tasks` for the end of these), it is part of that list, in front of it. A subclass of
    `ChipPass` gets the chip there.

    Raises InputError for a name that is taken, or a place that there is not.
    """
    _check_free("pass", one.name, MESHLOOM.all_passes)
    if before is not None and before not in PLACES:
        raise InputError(f"pass {one.name}: there is no place before '{before}': choose one of {', '.join(PLACES)}")
    MESHLOOM.all_passes[one.name] = lambda: one
    if before is not None:
        ADDED_PASSES.setdefault(before, []).append(one)


def add_dialect(dialect: Dialect, functions: InterpreterFunctions | None = None) -> None:
    """
    Make a dialect known. Its operations that are `ComputedOp` and `TiledOp` can be tasks: they say themselves what they
    compute and how they are tiled; `add_kernel` says which instructions do it. `functions` implement others for the
    interpreter. Raises InputError for a name that is taken.
    """
    _check_free("dialect", dialect.name, MESHLOOM.all_dialects)
    MESHLOOM.all_dialects[dialect.name] = lambda: dialect
    added.add(dialect, functions)


def add_kernel(operation: type[Operation], kernel: Kernel) -> None:
    """
    Say which instructions compute a tile of an operation; a class stands for its subclasses, too. Raises InputError
    where the operation has a kernel.
    """
    if operation in KERNELS:
        raise InputError(f"operation {operation.name}: it has a kernel already")
    KERNELS[operation] = kernel


def add_instruction(instruction: Instruction, function: Callable[..., NDArray[Any]]) -> None:
    """
    Make an instruction known to the assembler, to kernels and to the emulator. `function` takes the sources, arrays in
    the type that arithmetic happens in (f32 for narrower floats), and gives the result. Those of `vector_instruction`
    have one shape, or none where they are immediate values; that of `row_instruction` is [..., n], for a result
    [..., m]. Executables that hold the instruction name the plug-in.

    Raises InputError for a mnemonic or an opcode that is taken.
    """
    added_instructions.add(instruction, _plugin_of(function))
    on_rows = instruction.family is Family.ROWS
    SEMANTICS[instruction.mnemonic] = rows(function) if on_rows else elementwise(function, len(instruction.sources))


def add_sparse_format(kind: IndexKind) -> None:
    """
    Make a kind of index known: to `#sparse.index<NAME>`, to the choice of encodings (`--sparse`, `meshloom-sparsity`),
    to code generation, and to the mapping unit of the emulated chip. Executables that hold blocks of it name the
    plug-in.

    Raises InputError for a name or a number (`code`) that is taken, or none of a plug-in.
    """
    added_formats.add(kind, _plugin_of(kind.write))


def add_chip(file: str | Path) -> None:
    """
    Make a chip known by the name in its description, a `.toml`. Raises InputError for a name that is taken, and for a
    description that is wrong.
    """
    path = Path(file)
    chip = load_chip(str(path))
    _check_free("chip", chip.name, dict.fromkeys(chip_names()))
    CHIPS[chip.name] = path


def add_chip_key(key: ChipKey[V]) -> ChipKey[V]:
    """
    Make a key of chip descriptions known, and give it back: `key.of(chip)` is its value. A key comes before the chips
    that use it. It is the calling module's: executables for chips that give the key name its plug-in.

    Raises InputError for a name that is taken or that TOML would have to quote, or a default of another type.
    """
    names = [field.name for one in (Chip, Energy) for field in fields(one)]
    _check_free("chip key", key.name, dict.fromkeys([*names, *CHIP_KEYS]))
    if _NAME.fullmatch(key.name) is None:
        raise InputError(f"chip key '{key.name}': a name consists of lower-case letters, digits and underscores")
    add_key(key, _plugin_of_module(inspect.stack(0)[1].frame.f_globals["__name__"]))
    return key


def add_compression(format: Format, pack: Conversion, unpack: Conversion) -> None:
    """
    Make a way to save memory known: tensors of f32 that wait in another format (`--save compress --compress-to NAME`),
    on the device or, with `swap`, on the host. The planner takes its size, and the cycles that the conversions take as
    launches; `pack` and `unpack` emit their instructions for a tile, which compute what the format's methods do, to
    the last bit.

    Raises InputError for a name that is taken or none, and for a size of elements or an error that makes no sense.
    """
    _check_free("format", format.name, FORMATS)
    if _NAME.fullmatch(format.name) is None:
        raise InputError(f"format '{format.name}': a name consists of lower-case letters, digits and underscores")
    if format.nbytes not in range(1, 5) or not 0 <= format.relative_error < 1 or format.vpu_ops < 1:
        raise InputError(f"format '{format.name}': expected 1 to 4 bytes an element and an error of 0 to 1")
    FORMATS[format.name] = format
    CONVERSIONS[format.name] = pack, unpack


def add_mapping_method(name: str, method: MapMethod) -> None:
    """Make a way to map networks known to `meshloom-map --method`. Raises InputError for a name that is taken."""
    _check_free("mapping method", name, MAPPING_METHODS)
    MAPPING_METHODS[name] = method


def add_placement_method(name: str, method: PlaceMethod) -> None:
    """
    Make a way to place tiles known to `manycore-place{method=NAME}` and `--placement NAME`.

    Raises InputError for a name that is taken.
    """
    _check_free("placement method", name, PLACE_METHODS)
    PLACE_METHODS[name] = method


def add_order_search(name: str, search: Search) -> None:
    """
    Make a search of the order of tasks known to `manycore-schedule{method=NAME}` and `--order NAME`. Raises InputError
    for a name that is taken.
    """
    _check_free("order search", name, dict.fromkeys(order_methods()))
    SEARCHES[name] = search


def add_fusion_strategy(name: str, make: Callable[[Sequence[PartSize], GroupBounds], FusionStrategy]) -> None:
    """
    Make a strategy known to `--fuse NAME`, made from the sizes of the subgraphs. Raises InputError for a name that is
    taken.
    """
    _check_free("fusion strategy", name, FUSIONS)
    FUSIONS[name] = make


def add_splitting_rule(name: str, make: Callable[[RuleSettings], SplitRule]) -> None:
    """Make a rule known to `--subgraphs NAME`, made from its settings. Raises InputError for a name that is taken."""
    _check_free("splitting rule", name, RULES)
    RULES[name] = make


def _plugin_of(function: Callable[..., Any]) -> str:
    return _plugin_of_module(function.__module__)


def _plugin_of_module(module: str) -> str:
    """The file, or the folder of the package, that a module comes from; else its name."""
    top = module.partition(".")[0]
    file = getattr(sys.modules.get(top), "__file__", None)
    if file is None:
        return top
    return Path(file).parent.name if Path(file).name == "__init__.py" else Path(file).name


def _check_free(kind: str, name: str, taken: Mapping[str, Any]) -> None:
    if name in taken:
        raise InputError(f"there is a {kind} '{name}' already: give it another name")
