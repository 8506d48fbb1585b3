"""
The cycles that planning estimates for tasks against those of the emulator, task by task.

    python bench/estimates.py [--chips tiny,edge,grid] [--all] [MODEL ...]

Compiles networks of `public_models.py` (by default three small ones). One JSON line for each task that takes over 2% of
its run (`--all`: for all), worst first: `takes` is its end minus the latest end of all earlier tasks, `error` is the
estimate over that, minus 1. Then a line for each network: how many of these tasks are within 20%, and the error of the
sum over all tasks.
"""

from __future__ import annotations

import argparse
import json

from meshloom.emulator.timing.engine import run_timing
from meshloom.tools.api import compile
from meshloom.tools.report.run_report import run_facts
from public_models import PUBLIC_MODELS

LEAST_SHARE = 0.02
ALLOWED = 0.2


def main() -> None:
    parser = argparse.ArgumentParser(description="Estimated cycles of tasks against emulated ones.")
    parser.add_argument("models", nargs="*", metavar="MODEL", default=["rnet", "pnet", "onet"])
    parser.add_argument("--chips", default="tiny,edge", help="chips, with commas")
    parser.add_argument("--all", action="store_true", help="print tasks that take less than 2%, too")
    options = parser.parse_args()
    for name in options.models:
        model = PUBLIC_MODELS[name]
        for chip in options.chips.split(","):
            exe = compile(model.path, chip, model.shapes, values=model.values).executable
            timing = run_timing(exe, trace=True)
            facts = run_facts(exe, timing, {})
            known = [(task, note) for task in facts.tasks if (note := facts.note_of(task)) is not None and task.name]
            counted = [one for one in known if options.all or one[0].takes >= LEAST_SHARE * timing.cycles]
            errors = {task.number: note.cycles / max(task.takes, 1) - 1 for task, note in known}
            line = {"bench": "estimates", "model": name, "chip": chip}
            for task, note in sorted(counted, key=lambda one: -abs(errors[one[0].number])):
                figures = {"takes": task.takes, "estimate": note.cycles, "error": round(errors[task.number], 3)}
                shape = {"grid": list(note.grid), "steps": list(note.steps), "sram": note.sram}
                print(
                    json.dumps({**line, "task": task.name, "operator": note.operator, **figures, **shape}), flush=True
                )
            close = sum(abs(errors[task.number]) <= ALLOWED for task, _ in counted)
            estimated, taken = sum(note.cycles for _, note in known), sum(task.takes for task, _ in known)
            found = {"tasks": len(counted), "within_20_percent": close, "cycles": timing.cycles}
            print(json.dumps({**line, **found, "error_of_sum": round(estimated / max(taken, 1) - 1, 3)}), flush=True)


if __name__ == "__main__":
    main()
