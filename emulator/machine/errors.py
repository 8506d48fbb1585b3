"""Run-time errors of programs, with core, instruction and source operator."""

from __future__ import annotations

from ...support.errors import MeshloomError


class Fault(Exception):
    """An error inside one instruction; the engine adds the location (see `EmulationError`)."""


class EmulationError(MeshloomError):
    """
    A violation of the machine's rules: an address out of range, a read of unwritten memory, a race, a deadlock.

    `core`, `program` (name), `word` (index in the program), `mnemonic` and `source` (operator of the network) are the
    location; they are None or empty if the error concerns no single instruction.
    """

    def __init__(
        self,
        what: str,
        core: int | None = None,
        program: str = "",
        word: int | None = None,
        mnemonic: str = "",
        source: str = "",
    ) -> None:
        self.what = what
        self.core = core
        self.program = program
        self.word = word
        self.mnemonic = mnemonic
        self.source = source
        where = "" if core is None else f"core {core}, {place(program, word, mnemonic, source)}: "
        super().__init__(where + what)


def place(program: str, word: int | None, mnemonic: str, source: str) -> str:
    """A description of one instruction, as `word 17 'matmul' of program 'p0' (from conv1)`."""
    text = f"word {word} '{mnemonic}' of program '{program}'"
    return f"{text} (from {source})" if source else text
