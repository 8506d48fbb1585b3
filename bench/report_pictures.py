"""
Export of charts of a report as SVG files, for pages of the documentation.

    python bench/report_pictures.py run.html timeline docs/pictures/all-five-timeline.svg
    python bench/report_pictures.py run.html traffic docs/pictures/all-five-traffic.svg --chart 2

The first argument is a page that `--report` wrote, the second a section's name in its links (`#timeline`). A chart of
the section (the first, or as `--chart` says) is written, with the page's light colours as numbers, for viewers without
variables.
"""

from __future__ import annotations

import argparse
import re
from pathlib import Path

from meshloom.support.errors import InputError
from meshloom.tools.report.style import STYLE


def chart_of(page: str, section: str, number: int = 1) -> str:
    """A chart of a section of a page, numbered from 1, as a file. Raises InputError where the page has none."""
    found = re.search(rf'<section id="{re.escape(section)}">(.*?)</section>', page, re.DOTALL)
    if found is None:
        names = ", ".join(re.findall(r'<section id="([^"]*)">', page))
        raise InputError(f"the page has no section '{section}': it has {names or 'none'}")
    charts = re.findall(r"<svg\b(.*?)>(.*?)</svg>", found[1], re.DOTALL)
    if not 1 <= number <= len(charts):
        raise InputError(f"section '{section}' has {len(charts)} charts: expected a number of one of them")
    return as_file(*charts[number - 1])


def as_file(head: str, shapes: str) -> str:
    """The text of an SVG file, from the attributes and the contents of a `svg` element."""
    ground = '<rect width="100%" height="100%" fill="var(--card)"/>'
    style = f"<style>{_style()}</style>"
    return _with_colours(f'<svg xmlns="http://www.w3.org/2000/svg"{head}>{style}{ground}{shapes}</svg>\n')


def _style() -> str:
    """The rules of the style sheet that apply to charts."""
    rules = [line.removeprefix("svg ") for line in STYLE.splitlines() if line.startswith("svg ")]
    return "\n".join(["", *(rule for rule in rules if not rule.startswith("{")), ""])


def _with_colours(chart: str) -> str:
    """A chart with the values of variables in place of their names."""
    light = re.findall(r":root \{(.*?)\n\}", STYLE, re.DOTALL)[0]
    values = dict(re.findall(r"--([\w-]+):\s*([^;]+);", light))
    while "var(--" in chart:
        chart = re.sub(r"var\(--([\w-]+)\)", lambda match: values[match[1]], chart)
    return chart


def main() -> None:
    """Write one chart."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path)
    parser.add_argument("section")
    parser.add_argument("out", type=Path)
    parser.add_argument("--chart", type=int, default=1)
    options = parser.parse_args()
    chart = chart_of(options.page.read_text(), options.section, options.chart)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(chart)


if __name__ == "__main__":
    main()
