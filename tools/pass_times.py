"""`--time-passes`: the time of a run of `meshloom-opt` by phase, as a tree."""

from __future__ import annotations

from ..support.phases import Phase


def time_report(root: Phase) -> str:
    """Each line: wall-clock and CPU seconds, share of the wall-clock time, indented name, number of runs if several."""
    total = max(root.wall, 1e-9)
    lines = [
        "===- Execution time report -===",
        f"  {'wall s':>9} {'cpu s':>9} {'share':>7}  name",
    ]
    for depth, one in root.lines():
        runs = f" ({one.runs} times)" if one.runs > 1 else ""
        lines.append(f"  {one.wall:9.3f} {one.cpu:9.3f} {one.wall / total:7.1%}  {'  ' * depth}{one.name}{runs}")
        rest = one.wall - sum(inner.wall for inner in one.inner.values())
        if one.inner and rest > 0.01 * total:
            one_cpu = one.cpu - sum(inner.cpu for inner in one.inner.values())
            lines.append(f"  {rest:9.3f} {max(one_cpu, 0.0):9.3f} {rest / total:7.1%}  {'  ' * (depth + 1)}rest")
    return "\n".join(lines)
