"""The stages of a network on several chips, from its module, and the pipeline of their executables."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import ReturnOp
from xdsl.ir import Attribute, Operation, SSAValue

from ...dialects.dataflow import ReshapeOp
from ...dialects.dataflow.entry_function import argument_names, find_main, result_names
from ...dialects.locations import located
from ...dialects.manycore.stage import StageOp
from ...emulator.executable.chip_pipeline import NETWORK, ChipPipeline, Feed
from ...emulator.executable.executable import Executable
from ...support.errors import InputError
from ..ir.network_interface import NetworkInterface, network_interface


@dataclass(frozen=True)
class Stages:
    """The feeds between stages, as in `ChipPipeline`."""

    modules: tuple[ModuleOp, ...]
    feeds: tuple[dict[str, Feed], ...]
    inputs: tuple[str, ...]
    outputs: tuple[tuple[str, int], ...]

    def pipeline(self, executables: Sequence[Executable]) -> ChipPipeline:
        """The pipeline of the stages' executables."""
        return ChipPipeline(tuple(executables), self.feeds, self.inputs, self.outputs)


def read_stages(module: ModuleOp) -> Stages:
    """
    The stages of a module that has some (`stages_of`).

    Raises InputError, located, if the inputs and outputs of a module differ from those of its stage, if two stages
    share a module, for operations in `@main` other than stages and reshapes between them, and for results whose name
    differs from that in their stage, or that are to stay in the memory of a chip.
    """
    main = find_main(module)
    sources: dict[SSAValue, Feed] = {
        argument: Feed(NETWORK, name) for name, argument in zip(argument_names(main), main.body.block.args, strict=True)
    }
    modules: list[ModuleOp] = []
    feeds: list[dict[str, Feed]] = []
    outputs: list[tuple[str, int]] = []
    stays: set[Feed] = set()
    for op in main.body.block.ops:
        match op:
            case StageOp():
                if op.module in modules:
                    raise located(InputError(f"@{op.chip.string_value()} has two stages: give each its own module"), op)
                interface = _interface(op)
                feeds.append({name: sources[value] for name, value in zip(interface.inputs, op.inputs, strict=True)})
                number = len(modules)
                modules.append(op.module)
                stays |= {Feed(number, name) for name in interface.stays}
                sources |= {
                    value: Feed(number, name) for name, value in zip(interface.outputs, op.outputs, strict=True)
                }
            case ReshapeOp():
                sources[op.result] = sources[op.operand]
            case ReturnOp():
                outputs = [_output(op, *pair, sources) for pair in zip(result_names(main), op.operands, strict=True)]
            case _:
                error = InputError(f"'{op.name}' is in @main with stages: expected stages and reshapes only")
                raise located(error, op)
    for name, chip in outputs:
        if Feed(chip, name) in stays:
            message = f"result '{name}' of the network is to stay in the memory of chip {chip}: specify host memory"
            raise located(InputError(message), main)
    return Stages(tuple(modules), tuple(feeds), tuple(argument_names(main)), tuple(outputs))


def _interface(stage: StageOp) -> NetworkInterface:
    """The interface of a stage's module. Raises InputError if it differs from that of the stage."""
    interface = network_interface(stage.module)
    for what, here, there in (
        ("inputs", stage.inputs, interface.inputs),
        ("outputs", stage.outputs, interface.outputs),
    ):
        types = [value.type for value in here]
        if types != list(there.values()):
            name, wanted, given = stage.chip.string_value(), _list(there.values()), _list(types)
            error = InputError(f"module @{name} has {what} {wanted}, its stage {given}: expected the same")
            raise located(error, stage)
    return interface


def _list(types: Iterable[Attribute]) -> str:
    return f"({', '.join(map(str, types))})"


def _output(op: Operation, name: str, value: SSAValue, sources: dict[SSAValue, Feed]) -> tuple[str, int]:
    source = sources[value]
    if source.chip == NETWORK or source.name != name or not isinstance(value.owner, StageOp):
        there = "an input" if source.chip == NETWORK else f"'{source.name}' of chip {source.chip}"
        raise located(
            InputError(f"result '{name}' of @main is {there}: expected the result of that name of a stage"), op
        )
    return name, source.chip
