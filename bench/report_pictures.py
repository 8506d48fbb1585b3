"""
Charts of a report as SVG files of their own, for pages that show them.

    python bench/report_pictures.py run.html timeline docs/pictures/all-five-timeline.svg
    python bench/report_pictures.py run.html traffic docs/pictures/all-five-traffic.svg

The first argument is a page that `--report` wrote, the second a section's name in its links (`#timeline`). The first
chart of the section is written, with the colours of the page, on a ground of its own.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from meshloom.support.errors import InputError
from meshloom.tools.report.style import STYLE


def chart_of(page: str, section: str) -> str:
    """The first chart of a section of a page, as a file. Raises InputError where the page has none."""
    found = re.search(rf'<section id="{re.escape(section)}">(.*?)</section>', page, re.DOTALL)
    if found is None:
        names = ", ".join(re.findall(r'<section id="([^"]*)">', page))
        raise InputError(f"the page has no section '{section}': it has {names or 'none'}")
    chart = re.search(r"<svg\b(.*?)>(.*?)</svg>", found[1], re.DOTALL)
    if chart is None:
        raise InputError(f"section '{section}' has no chart")
    ground = '<rect width="100%" height="100%" fill="var(--card)"/>'
    style = f"<style>{_style()}</style>"
    return f'<svg xmlns="http://www.w3.org/2000/svg"{chart[1]}>{style}{ground}{chart[2]}</svg>\n'


def _style() -> str:
    """The rules of the style sheet that charts take."""
    variables = re.findall(r":root \{.*?\n\}", STYLE, re.DOTALL)[0]
    dark = re.findall(r"@media screen.*?\n\}\n", STYLE, re.DOTALL)[0]
    rules = [line.replace("svg ", "", 1) for line in STYLE.splitlines() if line.startswith("svg ")]
    return "\n".join(["", variables, dark, *rules, ""])


def main() -> None:
    """Write one chart."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("section")
    parser.add_argument("out", type=Path)
    options = parser.parse_args()
    chart = chart_of(options.page.read_text(), options.section)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(chart)


if __name__ == "__main__":
    main()
