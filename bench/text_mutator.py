"""Random edits of the text of a module: numbers, types, names, operations, shapes and lines."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

TOKEN = re.compile(
    r'%[\w$.-]+(?:#\d+)?|@"[^"\n]*"|@[\w$.-]+|"[^"\n]*"|[#!][\w.]+|\d+\.\d+(?:[eE][+-]?\d+)?|0x[0-9a-fA-F]+|\d+'
    r"|[A-Za-z_][A-Za-z_0-9.]*|->|\s+|."
)
ELEMENTS = (
    "f32",
    "f16",
    "bf16",
    "i1",
    "i4",
    "i8",
    "i32",
    "i64",
    "ui8",
    "si8",
    "index",
    "f64",
    "f8E4M3FN",
    "!dataflow.x",
)
NUMBERS = ("0", "1", "2", "3", "7", "16", "-1", "255", "4096", "2147483647", "4294967296", "9223372036854775807",
           "-9223372036854775808", "18446744073709551616", "1.5", "1.0e+38", "0x7fc00000")  # fmt: skip


ALIKE = (
    ("dataflow.neg", "dataflow.relu", "dataflow.tanh", "dataflow.exp", "dataflow.abs", "dataflow.sqrt", "dataflow.not",
     "dataflow.isnan", "dataflow.sigmoid"),
    ("dataflow.add", "dataflow.sub", "dataflow.mul", "dataflow.div", "dataflow.maximum", "dataflow.minimum",
     "dataflow.pow", "dataflow.mod", "dataflow.and", "dataflow.equal"),
    ("sum", "max", "min", "prod"),
    ("true", "false"),
    ("sram", "dram", "host"),
    ("direct", "stride"),
    ("f16", "bf16", "f24", "f8e4m3"),
)  # fmt: skip


class Mutator:
    """Random edits of small parts of a text."""

    def __init__(self, random: Random, vocabulary: Sequence[str]) -> None:
        self.random = random
        self.vocabulary = vocabulary
        """Words of the level's modules: names of operations, attributes, keywords."""
        self.edits: tuple[Callable[[str], str], ...] = (
            self.number, self.number, self.number, self.value, self.value, self.element, self.element, self.shape,
            self.dimension, self.dimension, self.dimension, self.word, self.alike, self.alike, self.operands,
            self.line, self.line, self.bypass, self.bypass, self.token, self.items,
        )  # fmt: skip

    def mutant(self, text: str) -> str:
        """The text after one to three edits, always different from the text."""
        result = text
        for _ in range(self.random.choice((1, 1, 1, 1, 2, 3))):
            result = self.random.choice(self.edits)(result)
        return result if result != text else self.mutant(text)

    def number(self, text: str) -> str:
        """Replace a number, also in shapes."""
        at = self._pick(r"(?<![%@\w.-])-?\d+(?:\.\d+(?:[eE][+-]?\d+)?)?|(?<=x)\d+(?=x)", text)
        if at is None:
            return text
        old = at.group()
        near = [str(int(old) + 1), str(int(old) - 1), str(int(old) * 2), str(int(old) // 2)] if "." not in old else []
        return _replaced(text, at, self.random.choice((*NUMBERS, *near, *near)))

    def value(self, text: str) -> str:
        """Replace a value by another one."""
        return self._exchange(r"%[\w$.-]+(?:#\d+)?", text)

    def element(self, text: str) -> str:
        """Replace an element type, once or everywhere."""
        at = self._pick(r"(?<![A-Za-z%@])(?:bf|f|i|ui|si)\d+\b|\bindex\b", text)
        if at is None:
            return text
        new = self.random.choice(ELEMENTS)
        if self.random.random() < 0.25:
            return _replaced(text, at, new)
        return re.sub(rf"(?<![A-Za-z%@]){at.group()}\b", new, text)

    def shape(self, text: str) -> str:
        """Replace a shape, once or everywhere."""
        at = self._pick(r"(?<=<)(?:\d+x)+(?=[a-z!])|(?<=<)(?=[fi]\d+>)", text)
        if at is None:
            return text
        dims = [int(dim) for dim in at.group().split("x") if dim]
        match self.random.randrange(6):
            case 0:
                dims.insert(self.random.randint(0, len(dims)), self.random.choice((0, 1, 2, 5)))
            case 1 if dims:
                del dims[self.random.randrange(len(dims))]
            case 2:
                self.random.shuffle(dims)
            case _ if dims:
                place = self.random.randrange(len(dims))
                dims[place] = self.random.choice((0, 1, 2, dims[place] + 1, dims[place] * 2, dims[place] // 2, 1 << 33))
            case _:
                dims = [1]
        new = "".join(f"{dim}x" for dim in dims)
        if not at.group() or self.random.random() < 0.4:
            return _replaced(text, at, new)
        return text.replace(f"<{at.group()}", f"<{new}")

    def dimension(self, text: str) -> str:
        """Replace a size in all shapes."""
        at = self._pick(r"(?<=[<x])\d+(?=x)", text)
        if at is None:
            return text
        old = int(at.group())
        new = self.random.choice((0, 1, 1, 2, 3, old + 1, old + 1, old * 2, old // 2, old * 3, 100, 1 << 33))
        return re.sub(rf"(?<=[<x]){old}(?=x)", str(new), text)

    def alike(self, text: str) -> str:
        """Replace a word by another one of its group in ALIKE, such as an operation with as many operands."""
        group = self.random.choice(ALIKE)
        at = self._pick(rf"\b(?:{'|'.join(map(re.escape, group))})\b", text)
        return text if at is None else _replaced(text, at, self.random.choice(group))

    def bypass(self, text: str) -> str:
        """Remove an operation, and replace its result by one of its operands."""
        at = self._pick(r"^\s*(%[\w$-]+) = [^\n{]*?(%[\w$-]+)[^\n{]*\n", text, re.MULTILINE)
        if at is None:
            return text
        operands = re.findall(r"%[\w$-]+", at.group())[1:]
        rest = text[: at.start()] + text[at.end() :]
        return re.sub(rf"{re.escape(at[1])}(?![\w$-])", self.random.choice(operands), rest)

    def word(self, text: str) -> str:
        """Replace an operation name, an attribute, a keyword or a string."""
        at = self._pick(r'(?<![%@!#\w.])[A-Za-z_][A-Za-z_.]*\w|"[^"\n]*"|[#!][a-z][\w.]*|@[\w$.-]+', text)
        if at is None:
            return text
        alike = [one for one in self.vocabulary if one.partition(".")[0] == at.group().partition(".")[0]]
        words = alike if alike and self.random.random() < 0.7 else self.vocabulary
        return _replaced(text, at, self.random.choice(words))

    def operands(self, text: str) -> str:
        """Swap two neighbours in a list, or remove or duplicate one of them."""
        at = self._pick(r"([%\w.\"<>@!#-]+), ([%\w.\"<>@!#-]+)", text)
        if at is None:
            return text
        first, second = at.groups()
        return _replaced(text, at, self.random.choice((f"{second}, {first}", first, f"{first}, {first}, {second}")))

    def items(self, text: str) -> str:
        """Empty, shorten or extend a list in brackets, or replace it by another one."""
        at = self._pick(r"\[[^\[\]\n]*\]", text)
        if at is None:
            return text
        inner = [part for part in at.group()[1:-1].split(", ") if part]
        match self.random.randrange(4):
            case 0:
                inner = []
            case 1:
                inner = inner[:-1]
            case 2:
                inner = [*inner, self.random.choice((*inner, "0", "1", "-1"))]
            case _:
                return self._exchange(r"\[[^\[\]\n]*\]", text)
        return _replaced(text, at, f"[{', '.join(inner)}]")

    def line(self, text: str) -> str:
        """Remove, duplicate (with renamed results) or move a line, or swap it with the next one."""
        lines = text.splitlines(keepends=True)
        at = self.random.randrange(len(lines))
        match self.random.randrange(4):
            case 0:
                del lines[at]
            case 1:
                head, equals, rest = lines[at].partition(" = ")
                if equals:
                    head = re.sub(r"(%[a-zA-Z0-9_]+)", r"\1_again", head)
                lines.insert(at + 1, f"{head}{equals}{rest}")
            case 2:
                other = min(at + 1, len(lines) - 1)
                lines[at], lines[other] = lines[other], lines[at]
            case _:
                lines.insert(self.random.randrange(len(lines)), lines.pop(at))
        return "".join(lines)

    def token(self, text: str) -> str:
        """Remove or duplicate a token, or swap it with another one."""
        tokens = TOKEN.findall(text)
        places = [place for place, token in enumerate(tokens) if token.strip()]
        at, other = self.random.choice(places), self.random.choice(places)
        match self.random.randrange(3):
            case 0:
                del tokens[at]
            case 1:
                tokens.insert(at, tokens[at])
            case _:
                tokens[at], tokens[other] = tokens[other], tokens[at]
        return "".join(tokens)

    def _pick(self, pattern: str, text: str, flags: int = 0) -> re.Match[str] | None:
        found = list(re.finditer(pattern, text, flags))
        return self.random.choice(found) if found else None

    def _exchange(self, pattern: str, text: str) -> str:
        found = list(re.finditer(pattern, text))
        return _replaced(text, self.random.choice(found), self.random.choice(found).group()) if found else text


def _replaced(text: str, at: re.Match[str], new: str) -> str:
    return text[: at.start()] + new + text[at.end() :]
