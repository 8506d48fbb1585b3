"""Pass `dataflow-differentiate`: convert a network to a training step."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import ClassVar, Literal, cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, SSAValue
from xdsl.passes import ModulePass
from xdsl.rewriter import Rewriter

from ..analysis.semantic_effect import INTERFACE_CHANGING, SemanticEffect
from ..dialects.dataflow import ReshapeOp, WeightOp
from ..dialects.dataflow.entry_function import NAME, argument_names, find_main
from ..dialects.dataflow.types import Tensor, element_of, is_float, shape_of, tensor_of
from ..dialects.dataflow.unroll_loops import canonicalize_loops, unroll_loops
from ..dialects.locations import at, located, named
from ..dialects.manycore.stage import stages_of
from ..support.errors import InputError
from .differentiate.backward import gradients
from .differentiate.graph import Graph
from .differentiate.losses import LOSSES
from .differentiate.optimisers import Adam, Optimiser, Sgd
from .shared.options import Number, number

PARAMETER = "dataflow.parameter"
"""Unit attribute of the arguments of `@main` that are parameters, which training changes."""


@dataclass(frozen=True)
class DataflowDifferentiatePass(ModulePass):
    """
    Turn @main into a training step: forward, loss, backward and update in one function.

    Parameters are all float `dataflow.weight`s, which become arguments of their name, and all arguments marked
    `dataflow.parameter`; with `parameters` (names, `*` and `?` allowed) only those, marked or not. The loss compares
    the network's first result with a further argument `target`; `loss="result"` takes the result, one float, as the
    loss itself.

    Results are the `loss`, and `new.NAME` of each parameter and of each tensor of the optimiser's state; the state
    before the step is passed in further arguments. With `optimizer="none"`, results are the loss and the gradients,
    `grad.NAME`. The network's own results are dropped. The gradient of a loop is a loop from its last step to its
    first. The forward loop saves the values that the gradient of each step needs; with `loops="recompute"`, it saves
    the carried values only, and the backward loop recomputes the others; `loops="unroll"` unrolls loops first.
    """

    name = "dataflow-differentiate"
    semantic_effect: ClassVar[SemanticEffect] = INTERFACE_CHANGING

    loss: Literal["softmax-cross-entropy", "mean-squared-error", "result"] = "softmax-cross-entropy"
    optimizer: Literal["none", "sgd", "adam"] = "sgd"
    rate: Number = 0.01
    momentum: Number = 0.0
    beta1: Number = 0.9
    beta2: Number = 0.999
    epsilon: Number = 1e-8
    parameters: tuple[str, ...] = ()
    loops: Literal["save", "recompute", "unroll"] = "save"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = find_main(op)
        if stages_of(op):
            raise InputError(
                f"{self.name} applies to a network on one chip: run it before the network is cut for several"
            )
        if self.loops == "unroll":
            unroll_loops(main)
        else:
            canonicalize_loops(main)
        _check_sizes(main)
        step = _Step(main)
        with at(main):
            parameters = step.take_parameters(self.parameters)
            loss = self._loss(step)
            keep = "recompute" if self.loops == "recompute" else "save"
            grads = gradients(loss, list(parameters.values()), Graph(main.body.block), keep)
            step.results["loss"] = loss
            if self.optimizer == "none":
                step.results |= {f"grad.{name}": grad for name, grad in zip(parameters, grads, strict=True)}
            else:
                _update(self._optimiser(), step, parameters, grads)
            step.finish()

    def _loss(self, step: _Step) -> SSAValue:
        if not step.old_results:
            raise InputError("the network has no result, which the loss needs")
        result = step.old_results[0]
        if self.loss == "result":
            if not is_float(element_of(result)) or any(size != 1 for size in shape_of(result)):
                raise InputError(f'loss="result" needs a first result of one float, it is {result.type}')
            # Loops are replaced, so the loss must not be the result of a loop.
            return Graph(step.main.body.block).emit(ReshapeOp(result, shape_of(result)))
        loss = LOSSES[self.loss]
        target = step.argument("target", loss.target(result))
        with at(result):
            return loss.build(result, target, Graph(step.main.body.block))

    def _optimiser(self) -> Optimiser:
        rate = number("rate", self.rate)
        if self.optimizer == "sgd":
            return Sgd(rate, number("momentum", self.momentum))
        beta1, beta2 = number("beta1", self.beta1, 0, 1), number("beta2", self.beta2, 0, 1)
        return Adam(rate, beta1, beta2, number("epsilon", self.epsilon, 0))


def _update(optimiser: Optimiser, step: _Step, parameters: dict[str, SSAValue], grads: list[SSAValue]) -> None:
    """The optimiser's step for all parameters."""
    graph = Graph(step.main.body.block)
    shared = [step.argument(name, type) for name, type in optimiser.shared.items()]
    advanced = optimiser.advance(shared, graph)
    kept: dict[str, SSAValue] = dict(zip((f"new.{name}" for name in optimiser.shared), advanced, strict=True))
    for (name, parameter), grad in zip(parameters.items(), grads, strict=True):
        states = [f"{name}.{part}" for part in optimiser.state]
        values = [step.argument(state, tensor_of(parameter)) for state in states]
        with at(named(name)):
            new = optimiser.update(parameter, grad, values, advanced, graph)
        step.results[f"new.{name}"] = new[0]
        kept |= {f"new.{state}": value for state, value in zip(states, new[1:], strict=True)}
    step.results |= kept


class _Step:
    """The state of the rewrite of `@main`, whose arguments and results change."""

    def __init__(self, main: FuncOp) -> None:
        self.main = main
        self.names = argument_names(main)
        last = main.body.block.last_op
        if not isinstance(last, ReturnOp):
            raise InputError("function @main does not end with func.return")
        self.old_results = list(last.operands)
        Rewriter.erase_op(last)
        self.results: dict[str, SSAValue] = {}

    def argument(self, name: str, type: Tensor) -> SSAValue:
        """Add an argument. Raises InputError if the name is taken."""
        if name in self.names:
            raise InputError(
                f"the training step adds an input '{name}', but the network has one of this name: rename it"
            )
        self.names.append(name)
        block = self.main.body.block
        value = block.insert_arg(type, len(block.args))
        hint = re.sub(r"\W", "_", name, flags=re.ASCII)
        value.name_hint = hint if SSAValue.is_valid_name(hint) else None
        return value

    def take_parameters(self, patterns: tuple[str, ...]) -> dict[str, SSAValue]:
        """
        Convert the parameters to arguments; returns them by name. Raises InputError if there is no parameter, or none
        that matches a pattern.
        """
        block = self.main.body.block
        attributes = self.main.arg_attrs.data if self.main.arg_attrs is not None else ()
        marked = {name for name, entry in zip(self.names, attributes, strict=False) if PARAMETER in entry.data}
        found: dict[str, SSAValue] = {}
        for name, value in zip(list(self.names), block.args, strict=True):
            if is_float(element_of(value)) and _wanted(name, patterns, name in marked):
                found[name] = value
        for op in list(block.ops):
            if isinstance(op, WeightOp) and is_float(element_of(op.result)):
                name = op.sym_name.data
                if _wanted(name, patterns, True):
                    found[name] = self.argument(name, tensor_of(op.result))
                    Rewriter.replace_op(op, (), (found[name],))
        for pattern in patterns:
            if not any(fnmatchcase(name, pattern) for name in found):
                raise InputError(f"no float weight or input is named '{pattern}'")
        if not found:
            raise InputError(
                "the network has no parameters: no float weight, no input marked dataflow.parameter; name some inputs"
            )
        return found

    def finish(self) -> None:
        """Return the new results, and give arguments and results their names."""
        block = self.main.body.block
        block.add_op(ReturnOp(*self.results.values()))
        self.main.function_type = FunctionType.from_lists(
            [argument.type for argument in block.args], [value.type for value in self.results.values()]
        )
        old = self.main.arg_attrs.data if self.main.arg_attrs is not None else ()
        entries: list[Mapping[str, Attribute]] = [entry.data for entry in old]
        entries += [{}] * (len(self.names) - len(old))
        self.main.arg_attrs = ArrayAttr(
            DictionaryAttr({**entry, NAME: StringAttr(name)}) for name, entry in zip(self.names, entries, strict=True)
        )
        self.main.res_attrs = ArrayAttr(DictionaryAttr({NAME: StringAttr(name)}) for name in self.results)


def _wanted(name: str, patterns: tuple[str, ...], default: bool) -> bool:
    return any(fnmatchcase(name, pattern) for pattern in patterns) if patterns else default


def _check_sizes(main: FuncOp) -> None:
    """Raises InputError, located, for a value without elements, for which loss or gradient are undefined."""
    values = [*main.body.block.args, *(result for op in main.body.walk() for result in op.results)]
    for value in values:
        type = value.type
        if isinstance(type, TensorType) and 0 in cast("Tensor", type).get_shape():
            message = f"a value of type {value.type} has no elements: give the network a batch of at least 1"
            raise located(InputError(message), value)
