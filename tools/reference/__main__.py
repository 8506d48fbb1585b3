"""Writes all reference pages into a folder: `python -m meshloom.tools.reference FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from .pages import pages


def main(arguments: list[str]) -> str | None:
    """Write the pages, once all of them are made. Returns an error message, or None."""
    if len(arguments) != 1 or arguments[0].startswith("-"):
        return "error: give one folder, as docs/reference"
    folder = Path(arguments[0])
    try:
        made = list(pages(folder))
        for name, text in made:
            (folder / name).write_text(text, encoding="utf-8")
    except OSError as error:
        return f"error: {error}"
    return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
