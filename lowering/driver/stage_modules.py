"""The stages of a network on several chips: the module of each stage, and the feeds between stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue

from ...analysis.planning.network_plan import storage_root
from ...analysis.tasks.grouping import group_operations
from ...dialects.dataflow.entry_function import argument_names, find_main, main_function, result_names
from ...dialects.memory.attributes import Space
from ...dialects.module_notes import add_note, notes_of
from ...dialects.step_notes import STEPS
from ...dialects.tensor_names import TENSORS
from ...emulator.executable.chip_pipeline import NETWORK, Feed
from ...formats.sparse.encoded_interface import ENCODED, EncodedInterface, read_interface
from ...transforms.dataflow_note_loops import note_loops
from ..ir.residence_attribute import set_result_spaces
from ..sequence.launch_sequence import Operators, operators, sources


@dataclass(frozen=True)
class StageModule:
    """The module that one chip computes."""

    module: ModuleOp
    feeds: dict[str, Feed]
    """The sources of its inputs, by name."""
    outputs: tuple[str, ...]
    """The outputs of the network that it computes."""
    gives: tuple[str, ...]
    """All its outputs: values that later stages read, and outputs of the network."""
    clones: dict[Operation, Operation]
    """Its operators by those of the network that they are copies of."""


def units_of(function: FuncOp) -> list[Operators]:
    """
    The units that are not cut further, in a topological order: the operators that become one task, and each other
    operator alone.
    """
    position = {op: number for number, op in enumerate(function.body.block.ops)}
    groups: list[Operators] = [tuple(group) for group in group_operations(function.body.block)]
    grouped = {op for group in groups for op in group}
    groups += [(op,) for op in operators(function) if op not in grouped]
    return sorted(groups, key=lambda group: position[group[-1]])


def stage_modules(function: FuncOp, stages: Sequence[Operators]) -> list[StageModule]:
    """
    The modules of the stages. Every operator of the function is in one stage; the stages are in a topological order.

    A value that several stages read is copied once from the chip that computes it to the host, under the name of an
    output of the network if it is one. Outputs that no operator computes (inputs, constants) belong to the last chip;
    inputs without readers belong to the first.
    """
    block = function.body.block
    returned = list(block.last_op.operands) if block.last_op is not None else []
    arguments = dict(zip(block.args, argument_names(function), strict=True))
    home: dict[SSAValue, int] = {
        result: number for number, ops in enumerate(stages) for op in ops for result in op.results
    }
    given: list[dict[str, SSAValue]] = [{} for _ in stages]
    """Outputs of each stage by name."""
    named: dict[SSAValue, str] = {}
    for value, name in zip(returned, result_names(function), strict=True):
        root = storage_root(value)
        given[home.get(root, len(stages) - 1)][name] = value
        named.setdefault(root, name)
    outputs = [tuple(values) for values in given]
    crossing = _fresh_names({*arguments.values(), *result_names(function)})
    read = [sources(ops, list(given[number].values()), with_host=True) for number, ops in enumerate(stages)]
    for number, (_, entering) in enumerate(read):
        for value in entering:
            if value in home and value not in named:
                named[value] = name = crossing(value)
                given[home[value]][name] = value
            assert value not in home or home[value] < number, "stages stand in an order that can run"
    nowhere = [value for value in block.args if not any(value in entering for _, entering in read)]
    network = function.parent_op()
    notes = notes_of(network) if isinstance(network, ModuleOp) else {}
    encoded = read_interface(notes.get(ENCODED))
    carried = {key: notes[key] for key in (TENSORS, STEPS) if key in notes}  # these notes are about the whole network
    made: list[StageModule] = []
    for number, (held, entering) in enumerate(read):
        wanted = sorted((value for value in entering if isinstance(value, BlockArgument)), key=lambda one: one.index)
        wanted = [*wanted, *(nowhere if number == 0 else ())]
        feeds = {value: Feed(NETWORK, arguments[value]) for value in wanted}
        feeds |= {value: Feed(home[value], named[value]) for value in entering if value in home}
        names = _distinct(feed.name for feed in feeds.values())
        module, clones = _module(held, dict(zip(feeds, names, strict=True)), given[number])
        set_result_spaces(find_main(module), dict.fromkeys(given[number].keys() - {*outputs[number]}, Space.HOST))
        mine = {op: clones[op] for op in stages[number]}
        taken = dict(zip(names, feeds.values(), strict=True))
        for key, text in carried.items():
            add_note(module, key, text)
        note_loops(module)
        if encoded:
            _note_encoded(module, encoded, taken, outputs[number])
        made.append(StageModule(module, taken, outputs[number], tuple(given[number]), mine))
    return made


def _note_encoded(module: ModuleOp, network: EncodedInterface, feeds: dict[str, Feed], gives: Sequence[str]) -> None:
    """Record the inputs and outputs of the network in a stage that are encoded."""
    taken = {name: feed.name for name, feed in feeds.items() if feed.chip == NETWORK and feed.name in network.inputs}
    inputs = {name: network.inputs[own] for name, own in taken.items()}
    outputs = {name: network.outputs[name] for name in gives if name in network.outputs}
    if inputs or outputs:
        add_note(module, ENCODED, EncodedInterface(inputs, outputs).note)


def _fresh_names(taken: set[str]) -> Callable[[SSAValue], str]:
    """Returns a unique name for a value."""

    def name(value: SSAValue) -> str:
        hint = value.name_hint or "value"
        number, found = 0, hint
        while found in taken:
            number += 1
            found = f"{hint}.{number}"
        taken.add(found)
        return found

    return name


def _distinct(names: Iterable[str]) -> list[str]:
    """The names, with a number appended to those that occurred before."""
    found: dict[str, None] = {}
    for name in names:
        number, free = 0, name
        while free in found:
            number += 1
            free = f"{name}.{number}"
        found[free] = None
    return list(found)


def _module(
    ops: Sequence[Operation], inputs: Mapping[SSAValue, str], outputs: Mapping[str, SSAValue]
) -> tuple[ModuleOp, dict[Operation, Operation]]:
    """A module with `@main` of these operations, on values from outside, with names; and the copy of each operation."""
    block = Block(arg_types=[value.type for value in inputs])
    mapping: dict[SSAValue, SSAValue] = dict(zip(inputs, block.args, strict=True))
    for value, argument in zip(inputs, block.args, strict=True):
        argument.name_hint = value.name_hint
    clones = {op: op.clone(mapping) for op in ops}
    block.add_ops(list(clones.values()))
    function = main_function(block, [mapping[value] for value in outputs.values()], (inputs.values(), outputs))
    return ModuleOp([function]), clones
