"""Passes that `meshloom-compile` runs before compilation: those of `-p`, with those that `--sparse` inserts."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import PassPipeline

from ..chips import Chip
from ..dialects.manycore import chip_of
from ..lowering.driver.calibration import calibration_inputs
from ..lowering.driver.compile_network import CompileOptions
from ..support.errors import InputError, MeshloomError
from .print_pipeline import search_options
from .stages import Stages
from .subgraphs import LogLines

if TYPE_CHECKING:
    from ..lowering.driver.chips_compilation import ChipsCompilation
    from ..lowering.driver.compile_function import Compilation
    from ..lowering.driver.compile_sparse import SparseNetwork


def apply_given(
    pipeline: PassPipeline,
    module: ModuleOp,
    options: argparse.Namespace,
    asked: CompileOptions,
    named: Chip | None,
    stages: Stages,
    log: LogLines,
) -> list[SparseNetwork[Compilation | ChipsCompilation]]:
    """
    Apply the passes of `-p`. Returns the decisions about weights if `--sparse` encoded them between these passes;
    `asked` are the options of the compilations of the whole network that this needs. The `log` is written if one fails.

    Raises MeshloomError as `apply_passes` does.
    """
    from .pass_pipeline import apply_passes

    if not asked.sparse:
        apply_passes(pipeline, module, stages.begin, options.output)
        return []
    from .encoding_passes import EncodeAsCompiled, encoding_passes

    encode = EncodeAsCompiled(
        search_options(options),
        lambda one: find_chip(one, options.model, named),
        asked,
        lambda one: calibration_of(one, options.calibrate),
        stages.note,
        log,
    )
    try:
        apply_passes(pipeline, module, stages.begin, options.output, encoding_passes(encode))
    except MeshloomError:
        if log.lines:
            log.write()
        raise
    return encode.found


def calibration_of(module: ModuleOp, given: Sequence[str]) -> Mapping[str, NDArray[Any]] | None:
    """The inputs of `--calibrate`; None if not given. Raises InputError as `calibration_inputs` does."""
    return calibration_inputs(module, given) if given else None


def find_chip(module: ModuleOp, model: Path, named: Chip | None) -> Chip:
    """The chip to compile for. Raises InputError if neither the command line nor the module names one."""
    chip = chip_of(module) if named is None else named
    if chip is None:
        raise InputError(f"{model} does not name its chip: give --chip NAME, or --chip FILE.toml")
    return chip
