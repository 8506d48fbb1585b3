"""The style sheet of reports. Colours are variables: one set for light, one for dark surroundings, one for paper."""

from __future__ import annotations

STYLE = """
:root {
  color-scheme: light dark;
  --page: #f4f5f7; --card: #ffffff; --ink: #1a1c21; --muted: #5c6370; --line: #dcdfe5; --faint: #eef0f3;
  --heat: #1f6fd0; --accent: #1f6fd0; --warn: #b3261e; --inverse: #ffffff;
  --mpu: #2a78d6; --vpu: #1baf7a; --dau: #d99500; --load: #6a56d0; --store: #d9619a; --send: #e34948;
  --recv: #eb7f34; --map: #3f8f3f; --host: #7b8494;
  --tile: #2a78d6; --constant: #6a56d0; --slice: #1baf7a; --staging: #d9619a; --temporary: #d99500;
  --input: #1baf7a; --output: #d9619a; --between: #d99500; --free: var(--faint);
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #131519; --card: #1c1f25; --ink: #e8eaee; --muted: #9ba3b0; --line: #343943; --faint: #272b33;
    --heat: #5aa2f0; --accent: #6fb0f5; --warn: #ff8a80; --inverse: #0d0f13;
    --mpu: #4a93e6; --vpu: #2bb889; --dau: #d6a02a; --load: #9387ea; --store: #dc6fa5; --send: #ea6a6a;
    --recv: #e88a4c; --map: #62ad62; --host: #8d97a8;
    --tile: #4a93e6; --constant: #9387ea; --slice: #2bb889; --staging: #dc6fa5; --temporary: #d6a02a;
    --input: #2bb889; --output: #dc6fa5; --between: #d6a02a;
  }
}
* { box-sizing: border-box; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 14px/1.5 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 1160px; margin: 0 auto; padding: 28px 20px 60px; }
.title h1 { margin: 0; font-size: 26px; line-height: 1.25; overflow-wrap: anywhere; }
.title p { margin: 4px 0 18px; color: var(--muted); }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(140px, 1fr)); gap: 12px; }
.figures > div, section {
  background: var(--card); border: 1px solid var(--line); border-radius: 10px; padding: 12px 16px;
}
.figures span { display: block; }
.figures .name { color: var(--muted); font-size: 12px; }
.figures .value { font-size: 22px; font-weight: 600; line-height: 1.3; font-variant-numeric: tabular-nums; }
.figures .remark { color: var(--muted); font-size: 12px; }
nav { margin: 18px 0 6px; display: flex; flex-wrap: wrap; gap: 4px 18px; font-size: 13px; }
a { color: var(--accent); text-decoration: none; }
a:hover { text-decoration: underline; }
section { margin-top: 14px; padding: 16px 20px 18px; }
h2 { font-size: 17px; margin: 0 0 4px; }
h3 { font-size: 13px; margin: 14px 0 4px; color: var(--muted); font-weight: 600; }
p.note { margin: 0 0 12px; color: var(--muted); max-width: 90ch; }
.facts { display: grid; grid-template-columns: repeat(auto-fill, minmax(300px, 1fr)); gap: 2px 28px; margin: 0; }
.facts div {
  display: flex; justify-content: space-between; gap: 12px; border-bottom: 1px solid var(--faint); padding: 3px 0;
}
.facts dt { color: var(--muted); }
.facts dd { margin: 0; text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
.table { overflow-x: auto; }
.scroll { max-height: 720px; overflow-y: auto; }
table { border-collapse: collapse; width: 100%; font-size: 12.5px; font-variant-numeric: tabular-nums; }
th {
  position: sticky; top: 0; z-index: 1; background: var(--card); color: var(--muted); font-weight: 600;
  text-align: left; vertical-align: bottom;
}
th, td { padding: 3px 6px; border-bottom: 1px solid var(--faint); }
td { white-space: nowrap; }
.wide td, .wide th { font-size: 11.5px; padding: 3px 5px; }
.number { text-align: right; }
tbody tr:hover { background: var(--faint); }
.log { margin: 0; padding-left: 22px; font-size: 12.5px; color: var(--muted); overflow-wrap: anywhere; }
.meter { position: relative; display: inline-block; min-width: 64px; padding: 0 4px; }
.meter .fill { position: absolute; inset: 2px auto 2px 0; background: var(--heat); opacity: 0.28; border-radius: 2px; }
.meter .text { position: relative; }
.legend { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 6px 0 2px; font-size: 12.5px; color: var(--muted); }
.legend i, .dot {
  display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 6px; vertical-align: -1px;
}
.row { display: flex; flex-wrap: wrap; gap: 18px 28px; align-items: flex-start; }
.row figure { margin: 0; }
figcaption { font-size: 12.5px; color: var(--muted); margin-bottom: 4px; }
svg { display: block; max-width: 100%; height: auto; }
svg text { fill: var(--ink); font: 11.5px system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
svg .muted { fill: var(--muted); }
svg .small { font-size: 10.5px; }
svg .inverse { fill: var(--inverse); }
svg .end { text-anchor: end; }
svg .middle { text-anchor: middle; }
svg .axis { stroke: var(--line); stroke-width: 1; }
svg .grid { stroke: var(--faint); stroke-width: 1; }
svg .track { fill: var(--faint); }
svg .frame { fill: none; stroke: var(--line); }
svg .mark { stroke: var(--warn); stroke-width: 1.5; stroke-dasharray: 4 3; }
svg .limit { stroke-width: 1.5; stroke-dasharray: 4 3; }
svg .heat { fill: var(--heat); }
svg .flow { stroke: var(--heat); stroke-linecap: round; }
svg .odd { fill: var(--heat); fill-opacity: 0.34; }
svg .even { fill: var(--heat); fill-opacity: 0.16; }
@media print {
  body { background: none; }
  section, .figures > div { break-inside: avoid; }
  .scroll { max-height: none; }
}
"""

COLOURS = (
    "mpu", "vpu", "dau", "load", "store", "send", "recv", "map", "host", "heat", "ink", "muted", "warn", "tile",
    "constant",     "slice", "staging", "temporary", "input", "output", "between", "free",
)  # fmt: skip
"""Names of the variables that charts may fill shapes with."""


def colour_of(name: str) -> str:
    """The value that stands for one of `COLOURS` in a style."""
    assert name in COLOURS, name
    return f"var(--{name})"


def fill(colour: str) -> str:
    """A `style` attribute that fills with one of `COLOURS`."""
    return f"fill:{colour_of(colour)}"
