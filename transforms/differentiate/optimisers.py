"""Optimisers, which compute a parameter's new value from its gradient and the optimiser's state."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ...dialects.dataflow import PowOp, SqrtOp
from ...dialects.dataflow.types import Tensor, element_of, tensor
from .graph import Graph


class Optimiser(ABC):
    """An optimiser: its state and its update."""

    @property
    @abstractmethod
    def state(self) -> tuple[str, ...]:
        """Names of the state tensors of each parameter, which have its type."""

    @property
    def shared(self) -> dict[str, Tensor]:
        """Names and types of the state tensors that all parameters share."""
        return {}

    def advance(self, shared: Sequence[SSAValue], b: Graph) -> list[SSAValue]:
        """The shared state tensors after this step."""
        return []

    @abstractmethod
    def update(
        self, parameter: SSAValue, gradient: SSAValue, state: Sequence[SSAValue], shared: Sequence[SSAValue], b: Graph
    ) -> list[SSAValue]:
        """The parameter and its state tensors after this step; `shared` is the shared state after the step."""


@dataclass(frozen=True)
class Sgd(Optimiser):
    """Stochastic gradient descent: m := momentum m + g, w := w - rate m (w - rate g without momentum)."""

    rate: float
    momentum: float

    @property
    def state(self) -> tuple[str, ...]:
        return ("momentum",) if self.momentum else ()

    def update(
        self, parameter: SSAValue, gradient: SSAValue, state: Sequence[SSAValue], shared: Sequence[SSAValue], b: Graph
    ) -> list[SSAValue]:
        if not state:
            return [b.sub(parameter, b.mul(gradient, self.rate))]
        velocity = b.add(b.mul(state[0], self.momentum), gradient)
        return [b.sub(parameter, b.mul(velocity, self.rate)), velocity]


@dataclass(frozen=True)
class Adam(Optimiser):
    """Adam (Kingma and Ba, 2015, algorithm 1), with the step number as a float."""

    rate: float
    beta1: float
    beta2: float
    epsilon: float

    @property
    def state(self) -> tuple[str, ...]:
        return ("mean", "variance")

    @property
    def shared(self) -> dict[str, Tensor]:
        return {"step": tensor(f32, ())}

    def advance(self, shared: Sequence[SSAValue], b: Graph) -> list[SSAValue]:
        return [b.add(shared[0], 1.0)]

    def update(
        self, parameter: SSAValue, gradient: SSAValue, state: Sequence[SSAValue], shared: Sequence[SSAValue], b: Graph
    ) -> list[SSAValue]:
        element = element_of(parameter)
        step = b.cast(shared[0], element)
        mean = b.add(b.mul(state[0], self.beta1), b.mul(gradient, 1 - self.beta1))
        variance = b.add(b.mul(state[1], self.beta2), b.mul(b.mul(gradient, gradient), 1 - self.beta2))
        unbiased = b.div(mean, _one_minus_power(self.beta1, step, b))
        spread = b.emit(SqrtOp(b.div(variance, _one_minus_power(self.beta2, step, b))))
        change = b.div(b.mul(unbiased, self.rate), b.add(spread, self.epsilon))
        return [b.sub(parameter, change), mean, variance]


def _one_minus_power(base: float, exponent: SSAValue, b: Graph) -> SSAValue:
    return b.sub(1.0, b.emit(PowOp(b.number(base, element_of(exponent)), exponent)))
