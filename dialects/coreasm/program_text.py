"""
The text of a whole program, the same in listings and in packed programs of the dialect: one descriptor or instruction
on each line, loops in braces.

    .desc [16] [4]  ; d0
    load f32 [0x0, d0], dram[0x1000, d0] signal(vpu) param(addr1 = 0) from "conv/0"  ; 0
    loop count = 5 {  ; 1
      add f32 [0x0, d0], [0x0, d0], 1.5 wait(load)  ; 2
    }
    halt  ; 3
"""

from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from .check import canonical_words
from .code import Code, Names, accesses, desc_array, numbered_params
from .encoding import MAX_DIMS, NO_SOURCE, WORD
from .isa import BY_CODE, BY_MNEMONIC
from .line_tokens import LineTokens, integers, quote
from .text import Fields, Source, format_fields, format_tail, parse_fields, parse_tail

DIRECTIVE = ".desc"


def word_fields(words: NDArray[Any]) -> list[tuple[int, Fields]]:
    """Opcode and fields of every word, as Python integers."""
    columns = (words[name].tolist() for name in ("op", "dtype", "wait", "signal", "regs", "imm", "addr", "desc"))
    return [(op, Fields(*rest)) for op, *rest in zip(*columns, strict=True)]


def params_of_words(code: Code) -> dict[int, list[tuple[int, int]]]:
    """Index of a word -> (field code, number of the value) of each of its parameters."""
    found: dict[int, list[tuple[int, int]]] = {}
    rows: list[tuple[int, int]] = code.params.tolist()
    for number, (word, field) in enumerate(rows):
        found.setdefault(word, []).append((field, number))
    return found


def code_lines(code: Code, table: Sequence[str] = (), comment: str = ";", indent: int = 0) -> Iterator[str]:
    """
    The lines of a program, whose words must be valid; comments give the numbers of descriptors and words.

    `table`: the executable's table of sources, for comments with the names of sources that are given by number.
    """
    start = "  " * indent
    for number, (sizes, strides) in enumerate(accesses(code.descs)):
        yield f"{start}.desc {sizes} {strides}  {comment} d{number}"
    params = params_of_words(code)
    sources: list[int] = code.sources.tolist()
    ends: list[int] = []
    for number, (op, fields) in enumerate(word_fields(canonical_words(code.words))):
        while ends and ends[-1] == number:
            ends.pop()
            yield f"{'  ' * (indent + len(ends))}}}"
        ins = BY_CODE[op]
        line = f"{'  ' * (indent + len(ends))}{ins.mnemonic} {format_fields(ins, fields)}".rstrip()
        source: Source = None
        if sources and sources[number] != NO_SOURCE:
            source = code.names[sources[number]]
        line += format_tail(params.get(number, ()), source, quote)
        if ins.has_body:
            line += " {"
            ends.append(number + 1 + fields.addr[1])
        known = f" {quote(table[source])}" if isinstance(source, int) and source < len(table) else ""
        yield f"{line}  {comment} {number}{known}"


class CodeReader:
    """Reads a program line by line."""

    def __init__(self, fail: Callable[[int, str], NoReturn], controller: bool) -> None:
        """`fail` raises the error for a line; its arguments are the mark of the line and the problem."""
        self._fail, self._controller = fail, controller
        self._rows: list[tuple[Any, ...]] = []
        self._lengths: dict[int, int] = {}
        self._loops: list[int] = []
        self._descs: list[tuple[list[int], list[int]]] = []
        self._params: list[tuple[int, int, int]] = []
        self._names = Names()
        self.marks: list[int] = []
        """For each word, the mark of its line."""

    @property
    def depth(self) -> int:
        """Number of loops that are open."""
        return len(self._loops)

    def line(self, tokens: LineTokens, mark: int) -> None:
        """Read a line. Raises LineError."""
        if tokens.punctuation("}"):
            if not self._loops:
                tokens.fail("'}' without 'loop'")
            at = self._loops.pop()
            self._lengths[at] = len(self._rows) - at - 1
        elif tokens.keyword(DIRECTIVE):
            self._desc(tokens)
        else:
            self._instruction(tokens, mark)
        tokens.end()

    def _desc(self, tokens: LineTokens) -> None:
        sizes = integers(tokens, 1, (1 << 32) - 1)
        strides = integers(tokens, -(1 << 31), (1 << 31) - 1)
        if self._controller or not 1 <= len(sizes) <= MAX_DIMS or len(sizes) != len(strides):
            tokens.fail(f"a descriptor of a program has 1 to {MAX_DIMS} sizes and as many strides")
        self._descs.append((sizes, strides))

    def _instruction(self, tokens: LineTokens, mark: int) -> None:
        mnemonic = tokens.word()
        if mnemonic is None:
            tokens.fail("expected an instruction or a directive")
        ins = BY_MNEMONIC.get(mnemonic)
        if ins is None:
            tokens.at -= 1
            tokens.fail(f"there is no instruction or directive {reprlib.repr(mnemonic)}")
        f = parse_fields(tokens, ins)
        params, source = parse_tail(tokens)
        self._params += [(number, len(self._rows), field) for field, number in params]
        self._names.add(source)
        if ins.has_body:
            tokens.expect("{")
            self._loops.append(len(self._rows))
        self._rows.append((ins.code, f.dtype, f.wait, f.signal, f.regs, f.imm, tuple(f.addr), tuple(f.desc)))
        self.marks.append(mark)

    def finish(self, end: int) -> Code:
        """
        The program, after all lines have been read; `end` is the mark of its end. Calls `fail` for an invalid program.
        """
        if self._loops:
            self._fail(self.marks[self._loops[-1]], "this 'loop' has no closing '}'")
        words = np.array(self._rows, WORD)
        loops = np.array(list(self._lengths), np.int64)
        words["addr"][loops, 1] = list(self._lengths.values())
        params = numbered_params(self._params)
        if isinstance(params, tuple):
            self._fail(self.marks[params[0]], params[1])
        code = Code(words, desc_array(self._descs), params, self._names.array(), tuple(self._names.names))
        if (problem := code.problem(self._controller)) is not None:
            self._fail(self.marks[problem[0]] if self.marks else end, problem[1])
        return code
