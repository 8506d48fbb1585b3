"""Options for cutting a network into subgraphs and fusing them, and their text form."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from math import inf
from pathlib import Path

from ...analysis.subgraphs.data_outputs import AtDataOutputs
from ...analysis.subgraphs.fuse_bidirectional import FuseBidirectional, FuseBidirectionalGrowing
from ...analysis.subgraphs.fuse_doubling import FuseForwardDoubling
from ...analysis.subgraphs.fuse_forward import FuseForward, FuseForwardGrowing
from ...analysis.subgraphs.fuse_grouped import FuseGrouped, FusePairs, GroupBounds, PartSize
from ...analysis.subgraphs.fuse_optimal import FuseOptimal
from ...analysis.subgraphs.fusion import FuseNothing, FusionStrategy
from ...analysis.subgraphs.least_cut import AtFewestBytes
from ...analysis.subgraphs.rules import RULES, RuleSettings, make_rule
from ...analysis.subgraphs.split_rule import FirstThatSplits, SplitRule
from ...support.arguments import check_argument
from ...support.errors import InputError
from ...support.settings import check_given_once
from .effort import EFFORTS, Effort

LONGEST = 6
"""Largest number of subgraphs that the optimal fusion tries as one."""
GROUP_TASKS = 64
"""Largest number of tasks of a group, if no bounds are given."""

FUSIONS: dict[str, Callable[[Sequence[PartSize], GroupBounds], FusionStrategy]] = {
    "auto": lambda parts, bounds: FuseForwardDoubling(),
    "none": lambda parts, bounds: FuseNothing(),
    "grouped": lambda parts, bounds: FuseGrouped(tuple(parts), bounds),
    "pairs": lambda parts, bounds: FusePairs(),
    "forward": lambda parts, bounds: FuseForward(),
    "bidirectional": lambda parts, bounds: FuseBidirectional(),
    "grow": lambda parts, bounds: FuseForwardGrowing(),
    "grow-bidirectional": lambda parts, bounds: FuseBidirectionalGrowing(),
    "optimal": lambda parts, bounds: FuseOptimal(LONGEST),
}
"""Fusion strategies by name, made from the sizes of the subgraphs."""


@dataclass(frozen=True, kw_only=True)
class FusionBounds:
    """Bounds of a group of strategy `grouped`: multiply-accumulates, bytes of weights, tasks."""

    min_macs: int | None = None
    max_macs: int | None = None
    min_weight_bytes: int | None = None
    max_weight_bytes: int | None = None
    min_tasks: int | None = None
    max_tasks: int | None = None

    def given(self) -> dict[str, int]:
        """The bounds that are given."""
        return {one.name: bound for one in fields(FusionBounds) if (bound := getattr(self, one.name)) is not None}


@dataclass(frozen=True)
class Fusion:
    """A fusion strategy. Raises InputError for an unknown one, and for bounds that it does not have or cannot keep."""

    strategy: str = "auto"
    bounds: FusionBounds = FusionBounds()

    def __post_init__(self) -> None:
        if self.strategy not in FUSIONS:
            raise InputError(f"no fusion strategy is named '{self.strategy}': choose from {', '.join(FUSIONS)}")
        given = self.bounds.given()
        if given and self.strategy != "grouped":
            bound = _option(next(iter(given)))
            raise InputError(f"{bound} applies to fusion strategy 'grouped' only, not to '{self.strategy}'")
        for name, bound in given.items():
            if bound < 0:
                raise InputError(f"{_option(name)}={bound}: expected a number of at least 0")
            most = given.get(name.replace("min_", "max_"), bound)
            if most < bound:
                raise InputError(f"{_option(name)}={bound} is above {_option(name.replace('min_', 'max_'))}={most}")

    def make(self, parts: Sequence[PartSize]) -> FusionStrategy:
        """The strategy, for subgraphs of these sizes."""
        given = self.bounds.given()
        if not given:
            given = {"max_tasks": GROUP_TASKS}
        macs, weights, tasks = (
            (given.get(f"min_{what}", 0), given.get(f"max_{what}", inf)) for what in ("macs", "weight_bytes", "tasks")
        )
        return FUSIONS[self.strategy](parts, GroupBounds(macs, weights, tasks))


def _option(name: str) -> str:
    return name.replace("_", "-")


def parse_fusion(text: str) -> Fusion:
    """
    A strategy, and with `grouped` bounds: `grouped,max-tasks=16,max-weight-bytes=100000`.

    Raises InputError for another text, and as `Fusion` does.
    """
    strategy, *settings = (item.strip() for item in text.split(","))
    check_given_once("--fuse", (item.partition("=")[0] for item in settings))
    known = {_option(one.name): one.name for one in fields(FusionBounds)}
    bounds: dict[str, int] = {}
    for item in settings:
        key, _, value = item.partition("=")
        if key not in known or not value.isdecimal():
            raise InputError(f"--fuse: cannot read '{item}'; bounds are {', '.join(known)} (numbers)")
        bounds[known[key]] = int(value)
    return Fusion(strategy, FusionBounds(**bounds))


ON_FAILURE: tuple[SplitRule, ...] = (AtDataOutputs(), AtFewestBytes(2))
"""The rules that cut a subgraph that does not compile, if no other rule is given or that one finds no cut."""


@dataclass(frozen=True)
class SubgraphOptions:
    """
    Without `rule`, the network is compiled whole. With `split_failures`, subgraphs that do not compile are cut;
    otherwise a failure is an error. The executable depends on all of these except `jobs` and `cache`.
    """

    rule: SplitRule | None = None
    """Cuts the network before it is compiled."""
    split_failures: bool = True
    fuse: str = "auto"
    """
    One of `FUSIONS`, and bounds (`parse_fusion`); `auto`: subgraphs that were split because they failed are fused again
    unless the launch sequence becomes slower.
    """
    jobs: int = 1
    """Number of processes that compile subgraphs in parallel."""
    cache: Path | None = None
    """Folder of the cache of compiled subgraphs."""
    effort: Effort = EFFORTS["default"]
    """The effort for each subgraph."""

    def __post_init__(self) -> None:
        check_argument("rule", self.rule, (SplitRule,), "a rule; parse_subgraphs reads the text of one", none=True)
        parse_fusion(self.fuse)
        if self.jobs < 1:
            raise InputError(f"--jobs must be at least 1, got {self.jobs}")

    @property
    def again(self) -> SplitRule:
        """The rules that cut a subgraph that does not compile: the same rule, then the others."""
        return FirstThatSplits(ON_FAILURE if self.rule is None else (self.rule, *ON_FAILURE))

    @property
    def cuts_before_saving(self) -> bool:
        """Whether subgraphs are created before memory saving, which then uses them as its launches."""
        return self.rule is not None or parse_fusion(self.fuse).strategy not in ("auto", "none")


def check_fusion(options: SubgraphOptions) -> None:
    """Raises InputError if a network that must stay whole is to be fused."""
    if not options.split_failures and options.fuse not in ("auto", "none"):
        raise InputError("--subgraphs whole makes one subgraph, so none are fused: leave out --fuse")


def parse_subgraphs(text: str) -> tuple[SplitRule | None, bool]:
    """
    `auto`, `whole`, or rules and their settings: `fewest-bytes,parts=4`, `named,names=conv1,names=conv5`.

    Returns rule and `split_failures`. Raises InputError for unknown rules and settings.
    """
    if text in ("auto", "whole"):
        return None, text == "auto"
    names: list[str] = []
    numbers: dict[str, int] = {}
    operators: list[str] = []
    settings = [item.strip().partition("=") for item in text.split(",")]
    check_given_once("--subgraphs", (rule for rule, given, _ in settings if not given))
    check_given_once("--subgraphs", (key for key, given, _ in settings if given and key != "names"))
    for key, given, value in settings:
        if not given:
            names.append(key)
        elif key == "names":
            operators.append(value)
        elif key in ("parts", "weight-bytes", "macs", "nodes", "at-least", "span") and value.isdecimal():
            numbers[key.replace("-", "_")] = int(value)
        else:
            raise InputError(
                f"--subgraphs: cannot read '{key}={value}'; settings are parts, weight-bytes, macs, nodes, at-least "
                f"and span (numbers) and names"
            )
    if not names:
        raise InputError(f"--subgraphs: give auto, whole, or a rule of {', '.join(RULES)}, got '{text}'")
    return make_rule(tuple(names), RuleSettings(names=tuple(operators), **numbers)), True


def default_jobs() -> int:
    """The number of processors that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
