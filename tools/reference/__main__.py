"""Writes all reference pages into a folder: `python -m meshloom.tools.reference FOLDER`."""

from __future__ import annotations

import sys
from pathlib import Path

from .pages import pages

if __name__ == "__main__":
    for name, text in pages(Path(sys.argv[1])):
        (Path(sys.argv[1]) / name).write_text(text, encoding="utf-8")
