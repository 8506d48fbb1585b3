"""The modes of `meshloom-plan`, and the options of each."""

from __future__ import annotations

from collections.abc import Iterable

from ..support.errors import InputError

UNITS, LEAST_PEAK, BUDGET = "--units", "--least-peak", "--budget"

_MODES = {
    "order": (UNITS, LEAST_PEAK),
    **dict.fromkeys(("method", "preset", "seed", "report"), (UNITS, BUDGET)),
    **dict.fromkeys(("gantt", "memory_cap", "stop_at"), (UNITS,)),
    **dict.fromkeys(
        ("kinds", "link", "compress_rate", "f8", "th_tts", "th_size", "most", "actions", "offsets", "plot"), (BUDGET,)
    ),
}
"""Options that only some modes have."""


def check_modes(mode: str, given: Iterable[str]) -> None:
    """Raises InputError for the first of the options `given` that has no effect in the mode."""
    for name in sorted(given):
        if mode not in _MODES.get(name, (mode,)):
            modes = " and ".join(_MODES[name])
            raise InputError(f"--{name.replace('_', '-')} has no effect with {mode}: it belongs to {modes}")
