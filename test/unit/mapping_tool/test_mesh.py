"""Tests of meshes: positions, hops, arrays of chips, rectangles."""

from __future__ import annotations

import numpy as np
import pytest
from meshloom.chips import load_chip
from meshloom.mapping.mesh import Mesh
from meshloom.support.errors import InputError


def test_links_between_chips_of_an_array_cost_more() -> None:
    mesh = Mesh(2, 1, unusable=(1,)).array(2, 2, 5)
    # Row 0: cores 0 1 | 2 3, row 1: cores 4 5 | 6 7; the right one of each chip is broken.
    assert (mesh.width, mesh.height, mesh.unusable) == (4, 2, (1, 3, 5, 7))
    assert mesh.column_positions.tolist() == [0, 1, 6, 7]
    assert mesh.row_positions.tolist() == [0, 5]
    assert mesh.hops(np.array([0, 0, 2]), np.array([2, 6, 4])).tolist() == [6, 11, 11]


def test_rectangle_keeps_the_numbers_of_cores() -> None:
    part = Mesh(4, 4, unusable=(5,)).rectangle(1, 1, 2, 2)
    assert part.usable_cores.tolist() == [6, 9, 10]
    assert part.cores == 16


def test_mesh_of_a_chip() -> None:
    mesh = Mesh.of_chip(load_chip("grid"))
    assert (mesh.width, mesh.height, len(mesh.usable_cores)) == (8, 8, 64)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Mesh(0, 3),
        lambda: Mesh(2, 2, unusable=(4,)),
        lambda: Mesh(2, 2, column_costs=(1, 1)),
        lambda: Mesh(2, 2, column_costs=(0,)),
        lambda: Mesh(1, 2, unusable=(0, 1)),
        lambda: Mesh.parse("3"),
        lambda: Mesh(2, 2).array(0, 1, 1),
        lambda: Mesh(2, 2).rectangle(1, 1, 2, 1),
    ],
)
def test_impossible_meshes_are_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(InputError):
        make()
