"""
Variants of a network with smaller values: if values are stored in DRAM because they do not fit in SRAM, the network is
rewritten to compute parts of them in turn, compiled, and compared (spec 3, step 1).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import NamedTuple

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from ...analysis.search import ACCEPT_RATIO, Search
from ...dialects.dataflow.entry_function import find_main
from ...transforms.dataflow_cascade import weight_names
from .compile_subgraphs import Driver
from .subgraph import Subgraphs


@dataclass(frozen=True)
class Attempt:
    """A module that was compiled."""

    module: ModuleOp
    driver: Driver
    found: Subgraphs

    @cached_property
    def cycles(self) -> float:
        """Cycles with host copies."""
        return self.driver.cycles(self.found)

    def may_gain(self, least: float) -> bool:
        """Whether it compiles as one launch, but stores values in DRAM and takes longer than its lower bound."""
        parts = self.found.parts
        return len(parts) == 1 and parts[0].code.segments[-1] > 0 and self.cycles * ACCEPT_RATIO > least


class Variation(NamedTuple):
    """A way to rewrite a network so that its values are smaller."""

    name: str
    rewrite: Callable[[FuncOp, set[str]], bool]
    """
    Rewrites a function; given the names of all weights of its module, and adds new names to them. False: no change.
    """


def try_variations(variations: Sequence[Variation], before: ModuleOp, whole: Attempt, least: float) -> Attempt:
    """
    The best of the compiled network and its variants, each of which has smaller values than the one before: it is tried
    only if those before it helped, or did not fit, and more may help. `before` is the module before compilation,
    `least` a lower bound of its cycles.
    """
    driver = whole.driver
    search = Search[Attempt](lambda attempt: attempt.cycles, driver.options.effort.measure)
    search.try_variant("all at once", lambda: whole)
    names = weight_names(before)
    for variation in variations:
        best = search.best()
        if not best.may_gain(least):
            break
        driver.progress(f"compile {variation.name}")
        made = before.clone()
        if not variation.rewrite(find_main(made), {*names}):
            break
        failures = len(search.failures)
        search.try_variant(variation.name, partial(_attempt, made, driver), share=ACCEPT_RATIO)
        if len(search.failures) == failures and search.best() is best:
            break
    best = search.best()
    if best.driver is not driver:
        for entry in best.driver.log.entries:
            driver.log.add(entry)
    driver.compiler.note_trials(search.trials)
    return best


def _attempt(module: ModuleOp, driver: Driver) -> Attempt:
    """Compile a module that must not be split. Raises ResourceError if it does not fit."""
    another = driver.for_another(find_main(module))
    return Attempt(module, another, another.run())
