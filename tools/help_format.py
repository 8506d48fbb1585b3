"""Layout of `--help`: wrapped prose, unbroken names and options, long commands continued with backslashes."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterator
from textwrap import TextWrapper


class HelpFormatter(argparse.HelpFormatter):
    """Wraps text, except text that starts with `examples:`, in which each line is a command or a `# comment`."""

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        if not text.startswith("examples:"):
            return "\n".join(indent + line for line in self._split_lines(text, width))
        return "\n".join(indent + part for line in text.splitlines() for part in _continued(line, width))

    def _split_lines(self, text: str, width: int) -> list[str]:
        return _Wrapper(width, break_on_hyphens=False).wrap(" ".join(text.split()))


class _Wrapper(TextWrapper):
    """Breaks a list without spaces after a comma."""

    def _handle_long_word(self, reversed_chunks: list[str], cur_line: list[str], cur_len: int, width: int) -> None:
        word = reversed_chunks[-1]
        room = width - cur_len
        end = word.rfind(",", 0, room) + 1
        if end:
            cur_line.append(word[:end])
            reversed_chunks[-1] = word[end:]
        elif not cur_line:
            cur_line.append(reversed_chunks.pop())


def _continued(line: str, width: int) -> Iterator[str]:
    """A long line as several lines that end with backslashes; an option stays on the line of its value."""
    if len(line) <= width:
        yield line
        return
    chunk = " "
    for word in re.findall(r"--?\S+ [^-\s]\S*|\S+", line):
        if len(chunk) + len(word) > width - 3:
            yield f"{chunk} \\"
            chunk = " " * 5
        chunk += f" {word}"
    yield chunk
