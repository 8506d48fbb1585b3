"""The log of the compile driver: every attempt, the reason of its failure, and the remedy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Literal

Action = Literal["compile", "try", "fit", "split", "split operator", "fuse", "link", "chip"]


@dataclass(frozen=True)
class LogEntry:
    """One entry. Figures are 0 if they do not apply."""

    action: Action
    subgraph: str
    """
    Its label: "1.2" is the second part of the first subgraph; "all" is the whole network; "" is the whole content of a
    chip.
    """
    operators: int
    first: str
    last: str
    """Names of its first and last operator."""
    ok: bool
    text: str
    """The event, as a sentence without the name of the subgraph."""
    resource: str = ""
    needed: int = 0
    available: int = 0
    chip: int | None = None
    """Number of the chip, if the network is for several."""

    def __str__(self) -> str:
        where = f"'{self.first}'" if self.operators == 1 else f"'{self.first}' to '{self.last}'"
        count = "1 operator" if self.operators == 1 else f"{self.operators} operators"
        chip = [] if self.chip is None else [f"chip {self.chip}"]
        subgraph = [f"subgraph {self.subgraph}"] if self.subgraph else []
        return f"{', '.join([*chip, *subgraph])} ({count}, {where}): {self.text}"


@dataclass
class CompilationLog:
    """All entries in order; the same for the same network, chip and options."""

    listener: Callable[[str], None] = lambda line: None
    """Called with each line as it is written."""
    entries: list[LogEntry] = field(default_factory=list[LogEntry])
    attempts: int = 0
    """Number of subgraphs that were compiled or found in the cache."""
    chip: int | None = None
    """The chip that all entries are about."""

    def add(self, entry: LogEntry) -> None:
        """Write one line."""
        entry = entry if self.chip is None else replace(entry, chip=self.chip)
        self.entries.append(entry)
        self.listener(str(entry))

    def lines(self) -> list[str]:
        """The log as text."""
        return [str(entry) for entry in self.entries]


def over(resource: str, needed: int, available: int) -> str:
    """`needs 12 bytes of DRAM, 10 are available: 2 too many`"""
    if not resource:
        return ""
    unit = "" if resource.startswith(("access", "sets")) else "bytes of "
    percent = f"{100 * (needed - available) / available:.0f}%" if available > 0 else "all"
    return (
        f"needs {needed:,} {unit}{resource}, {available:,} are available: {needed - available:,} ({percent}) too many"
    )
