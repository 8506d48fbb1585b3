"""A network on several chips as one module: `@main` of stages, and the module of each chip."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ...chips import Chip
from ...dialects.dataflow import ReshapeOp
from ...dialects.dataflow.entry_function import main_function
from ...dialects.locations import at, is_known
from ...dialects.manycore import CHIP
from ...dialects.manycore.stage import StageOp
from ...emulator.executable.chip_pipeline import NETWORK, ChipPipeline, Feed
from ...emulator.executable.executable import Executable
from ..executable_to_coreasm import chip_attr, executable_to_coreasm
from ..ir.launch_names import value_name
from ..ir.network_interface import network_interface
from ..linker.executable_data import DataSection


def write_stages(
    modules: Sequence[ModuleOp],
    feeds: Sequence[Mapping[str, Feed]],
    inputs: Sequence[str],
    outputs: Sequence[tuple[str, int]],
    chip: Chip,
) -> ModuleOp:
    """
    The module of a network whose stages are `modules`, which are cloned.

    `feeds` are the sources of each stage's inputs, `inputs` the names of the network's, in order, and `outputs` its
    outputs, with the chip that computes each.
    """
    interfaces = [network_interface(module) for module in modules]
    types: dict[str, Attribute] = {}
    for interface, sources in zip(interfaces, feeds, strict=True):
        for name, feed in sources.items():
            if feed.chip == NETWORK:
                types.setdefault(feed.name, interface.inputs[name])
    block = Block(arg_types=[types[name] for name in inputs])
    for name, argument in zip(inputs, block.args, strict=True):
        argument.name_hint = value_name(name, "tensor")
    given: dict[Feed, SSAValue] = {
        Feed(NETWORK, name): argument for name, argument in zip(inputs, block.args, strict=True)
    }
    for number, (module, interface, sources) in enumerate(zip(modules, interfaces, feeds, strict=True)):
        with at(_last_located(module)):
            operands = [_typed(given[sources[name]], type, block) for name, type in interface.inputs.items()]
            stage = StageOp(f"chip{number}", operands, list(interface.outputs.values()))
        block.add_op(stage)
        for name, value in zip(interface.outputs, stage.outputs, strict=True):
            value.name_hint = value_name(name, "tensor")
            given[Feed(number, name)] = value
    results = [given[Feed(number, name)] for name, number in outputs]
    found: list[Operation] = [main_function(block, results, (inputs, [name for name, _ in outputs]))]
    for number, module in enumerate(modules):
        stage_module = module.clone()
        stage_module.sym_name = StringAttr(f"chip{number}")
        found.append(stage_module)
    return ModuleOp(found, {CHIP: chip_attr(chip)})


def _last_located(module: ModuleOp) -> Operation:
    """The operation whose location a stage gets: its last one with a location."""
    return next((op for op in reversed(list(module.walk())) if is_known(op.location)), module)


def executables_to_coreasm(
    found: Executable | ChipPipeline, data: Callable[[Executable], Sequence[DataSection] | None]
) -> ModuleOp:
    """An executable, or those of all stages, as one module of instructions. `data`: see `executable_to_coreasm`."""
    if isinstance(found, Executable):
        return executable_to_coreasm(found, data(found))
    modules = [executable_to_coreasm(exe, data(exe)) for exe in found.chips]
    return write_stages(modules, found.feeds, found.inputs, found.outputs, found.chip)


def _typed(value: SSAValue, type: Attribute, block: Block) -> SSAValue:
    """The value reshaped as a stage reads it."""
    if value.type == type:
        return value
    assert isinstance(type, TensorType)
    reshape = ReshapeOp(value, type.get_shape())
    block.add_op(reshape)
    return reshape.result
