"""Tests of DRAM ports: the rows that each serves, and the cores that load for a group."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest
from meshloom.chips import load_chip
from meshloom.chips.dram_ports import choose_loaders, port_of_core, port_rows

EDGE = load_chip("edge")


@pytest.mark.parametrize(
    ("rows", "ports"), [(rows, ports) for rows in (1, 2, 5, 8, 12, 64) for ports in range(1, rows + 1)]
)
def test_ports_serve_equally_many_rows_and_are_at_one_of_them(rows: int, ports: int) -> None:
    chip = replace(EDGE, rows=rows, dram_ports=ports)
    served = Counter(port_of_core(chip, row * chip.cols) for row in range(rows))
    assert sorted(served) == list(range(ports))
    assert max(served.values()) - min(served.values()) <= 1
    for port, home in enumerate(port_rows(chip)):
        assert port_of_core(chip, home * chip.cols) == port


def test_loaders_use_all_ports() -> None:
    """On 8 x 8 cores, four ports at the rows 1, 3, 5, 7 serve two rows each."""
    chip = replace(EDGE, rows=8, cols=8, dram_ports=4)
    assert choose_loaders(chip, range(64)) == [0, 16, 32, 48]
    # A column of cores.
    assert choose_loaders(chip, range(3, 64, 8)) == [3, 19, 35, 51]
    # Cores of two ports: the first two cores of each.
    assert choose_loaders(chip, [0, 1, 8, 9, 16, 17, 18]) == [0, 1, 16, 17]
    # Five cores of one port and one of another: the only core of the second port is included.
    assert choose_loaders(chip, [0, 1, 2, 3, 4, 63]) == [0, 1, 2, 63]
    assert choose_loaders(chip, [5, 6]) == [5, 6]
