"""`--pass-statistics`: numbers of operations that each pass added and removed."""

from __future__ import annotations

import sys
from collections import Counter

from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass

from .instruments import Instrument


class PassStatistics(Instrument):
    """
    For each pass, the number of operations before and after, and the difference for each name of operation.

    The report goes to standard error at the end.
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.lines: list[str] = []

    def before(self, one: ModulePass, module: ModuleOp) -> None:
        """Count."""
        self.counts = _count(module)

    def after(self, one: ModulePass, module: ModuleOp) -> None:
        """Count the operations, and record the differences, the largest first."""
        counts = _count(module)
        self.lines.append(f"{one.name}: {self.counts.total():,} -> {counts.total():,} operations")
        more = {name: counts[name] - self.counts[name] for name in counts | self.counts}
        for name, difference in sorted(more.items(), key=lambda item: (-abs(item[1]), item[0])):
            if difference:
                self.lines.append(f"  {difference:+9,} {name}")

    def finish(self) -> None:
        """Print the report."""
        print("\n".join(["===- Pass statistics report -===", *self.lines]), file=sys.stderr)


def _count(module: ModuleOp) -> Counter[str]:
    return Counter(op.name for op in module.walk())
