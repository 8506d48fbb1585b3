"""Split rules by name, for pass options and command lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ...support.errors import InputError
from ...support.warn import warn
from .data_outputs import AtDataOutputs
from .least_cut import AtFewestBytes, PartBounds
from .named_cuts import AfterNamedOperators
from .segments_between import AtKeyNodes
from .split_rule import AllTogether, FirstThatSplits, SplitRule
from .weight_bytes import AtWeightBytes


@dataclass(frozen=True)
class RuleSettings:
    """The settings of all rules together; each rule uses some of them. Raises InputError for numbers below 1."""

    parts: int | None = None
    weight_bytes: int | None = None
    macs: int | None = None
    nodes: int | None = None
    at_least: int = 2
    span: int = 1
    names: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for setting in ("parts", "weight_bytes", "macs", "nodes", "at_least", "span"):
            number: int | None = getattr(self, setting)
            if number is not None and number < 1:
                raise InputError(f"{setting.replace('_', '-')} = {number} should be at least 1")


def _weight_rule(settings: RuleSettings) -> SplitRule:
    if settings.weight_bytes is None:
        raise InputError("rule weight-bytes needs a number: give weight-bytes=N")
    return AtWeightBytes(settings.weight_bytes)


def _named_rule(settings: RuleSettings) -> SplitRule:
    if not settings.names:
        raise InputError("rule named needs operators to cut after: give names=NAME,...")
    return AfterNamedOperators(settings.names)


RULES: dict[str, Callable[[RuleSettings], SplitRule]] = {
    "data-outputs": lambda settings: AtDataOutputs(),
    "fewest-bytes": lambda settings: AtFewestBytes(
        settings.parts, PartBounds(settings.weight_bytes, settings.macs, settings.nodes)
    ),
    "key-nodes": lambda settings: AtKeyNodes(settings.at_least, settings.span),
    "weight-bytes": _weight_rule,
    "named": _named_rule,
}
"""The name of each rule, and the function that creates it from settings."""


def make_rule(names: tuple[str, ...], settings: RuleSettings) -> SplitRule:
    """
    The first of the named rules that cuts; `a+b` makes all cuts of both. Raises InputError for unknown names and
    missing settings.
    """
    return FirstThatSplits(tuple(_together(name, settings) for name in names))


def _together(names: str, settings: RuleSettings) -> SplitRule:
    rules: list[SplitRule] = []
    for name in names.split("+"):
        if name == "by-hand":
            warn("rule 'by-hand' was renamed to 'named': the old name is removed in the next release")
            name = "named"
        if name not in RULES:
            raise InputError(f"no split rule is named '{name}': choose from {', '.join(RULES)}")
        rules.append(RULES[name](settings))
    return rules[0] if len(rules) == 1 else AllTogether(tuple(rules))
