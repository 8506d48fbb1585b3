"""Checks that passes preserve the results of a program, by running it before and after each pass on the same inputs."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.passes import ModulePass
from xdsl.utils.exceptions import InterpretationError

from ...support.errors import InputError, MeshloomError
from ..semantic_effect import EXACT, SemanticEffect, semantic_effect_of
from .input_sets import input_sets
from .interpret import Array, numbers, result_types, run_main

INTEGER_RANGES = ((0, 8), (0, 1))
"""Ranges of random integers: the first, or if these are indices out of range, the next."""


def difference(before: Array, after: Array, semantic_effect: SemanticEffect) -> str | None:
    """A message about a difference that a pass with this effect must not cause; None if there is none."""
    if before.shape != after.shape or before.dtype != after.dtype:
        return f"was {before.dtype}{list(before.shape)}, is {after.dtype}{list(after.shape)}"
    same = before == after
    if before.dtype.kind == "f":
        same = (same & (np.signbit(before) == np.signbit(after))) | (np.isnan(before) & np.isnan(after))
    if bool(same.all()):
        return None
    bound = 0.0
    if semantic_effect.kind == "lossy" or (semantic_effect.kind == "reassociating" and before.dtype.kind == "f"):
        magnitudes = np.abs(np.where(np.isfinite(before), before, 0)).astype(np.float64)
        bound = semantic_effect.bound * float(magnitudes.max(initial=0.0))
        with np.errstate(all="ignore"):
            same |= np.abs(before.astype(np.float64) - after.astype(np.float64)) <= bound
    if bool(same.all()):
        return None
    wrong = np.flatnonzero(~same.reshape(-1))
    position = list(map(int, np.unravel_index(int(wrong[0]), before.shape)))
    was, now = before.reshape(-1)[wrong[0]], after.reshape(-1)[wrong[0]]
    allowed = f", allowed difference {bound:.3g}" if bound else ""
    return f"{len(wrong)} of {before.size} elements differ, first at {position}: was {was}, is {now}{allowed}"


class SemanticsChecker:
    """
    Checks one module throughout a pipeline: `visit` is to be called before the first pass and after each pass.

    If the module cannot be run, the last known results are kept for the next comparison. It is run on several sets of
    inputs (`input_sets`); only those on which it runs initially are used.
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed
        self.inputs: list[dict[str, Array]] = []
        self.results: list[dict[str, Array]] | None = None
        """The results for each set of inputs."""
        self.pending: list[tuple[str, SemanticEffect]] = []
        """Passes since `results` were computed."""
        self.checked: list[str] = []
        self.skipped: list[str] = []

    def visit(self, previous: ModulePass | None, module: ModuleOp) -> None:
        """Compare with the previous results. Raises MeshloomError naming the pass that changed one."""
        if previous is None:
            self.results, self.pending = None, []
            self._start(module, "the input")
            return
        semantic_effect = semantic_effect_of(previous)
        if semantic_effect.kind == "interface-changing":
            self.skipped.append(f"{previous.name} (changes the interface)")
            self._start(module, f"the module after {previous.name}")
            return
        if self.results is None:
            self.skipped.append(f"{previous.name} (nothing to compare with)")
            return
        self.pending.append((previous.name, semantic_effect))
        try:
            results = self._run(module)
        except InterpretationError as error:
            self.skipped.append(f"{previous.name} ({_first_line(error)})")
            return
        except MeshloomError as error:
            raise MeshloomError(
                f"{self._suspects()} made the module fail on inputs it ran on before: {error}"
            ) from error
        # The bound of a lossy pass holds for usual inputs: the first set.
        lossy = any(semantic_effect.kind == "lossy" for _, semantic_effect in self.pending)
        for before, after in list(zip(self.results, results, strict=True))[: 1 if lossy else None]:
            self._compare(before, after)
        self.checked += [name for name, _ in self.pending]
        self.results, self.pending = results, []

    def report(self) -> str:
        """One line with the passes that were checked and those that were not."""
        parts: list[str] = []
        if self.checked:
            parts.append(f"{', '.join(self.checked)} kept all results (seed {self.seed})")
        if self.skipped:
            parts.append(f"skipped {', '.join(self.skipped)}")
        return f"check-semantics: {'; '.join(parts) or 'no passes to check'}"

    def _start(self, module: ModuleOp, what: str) -> None:
        """Choose inputs on which the module runs, and keep its results."""
        reason = ""
        for integers in INTEGER_RANGES:
            try:
                first, *others = input_sets(module, self.seed, integers)
                self.inputs, self.results, self.pending = [first], [self._results(module, first)], []
                for one in others:
                    self._start_with(module, one)
                return
            except (MeshloomError, InterpretationError) as error:
                reason = _first_line(error)
                if isinstance(error, InputError | InterpretationError):
                    break
        self.results = None
        self.skipped.append(f"{what} ({reason})")

    def _start_with(self, module: ModuleOp, inputs: dict[str, Array]) -> None:
        """Keep the results for further inputs, if the module runs on them."""
        assert self.results is not None
        try:
            results = self._results(module, inputs)
        except (MeshloomError, InterpretationError):
            return
        self.inputs.append(inputs)
        self.results.append(results)

    def _run(self, module: ModuleOp) -> list[dict[str, Array]]:
        return [self._results(module, inputs) for inputs in self.inputs]

    def _results(self, module: ModuleOp, inputs: Mapping[str, Array]) -> dict[str, Array]:
        types = result_types(module)
        with np.errstate(all="ignore"):
            return {name: numbers(array, types[name]) for name, array in run_main(module, inputs).items()}

    def _suspects(self) -> str:
        names = [name for name, _ in self.pending]
        return f"pass {names[0]}" if len(names) == 1 else f"one of the passes {', '.join(names)}"

    def _compare(self, before: Mapping[str, Array], after: Mapping[str, Array]) -> None:
        if list(before) != list(after):
            raise MeshloomError(f"{self._suspects()} changed the results from {list(before)} to {list(after)}")
        kinds = [semantic_effect for _, semantic_effect in self.pending]
        loosest = max(
            kinds,
            key=lambda semantic_effect: ("exact", "reassociating", "lossy").index(semantic_effect.kind),
            default=EXACT,
        )
        semantic_effect = SemanticEffect(loosest.kind, sum(one.bound for one in kinds))
        for name, array in before.items():
            if problem := difference(array, after[name], semantic_effect):
                raise MeshloomError(f"{self._suspects()} changed result '{name}' ({semantic_effect.kind}): {problem}")


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).splitlines()), type(error).__name__)
