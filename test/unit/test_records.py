"""Tests that the faster frozen dataclasses and cached properties behave as those of the standard library."""

from __future__ import annotations

from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest
from meshloom.support.records import lazy, quick_init


@quick_init
@dataclass(frozen=True)
class Point:
    x: int
    y: int = 7
    note: str = field(default="", compare=False)

    @lazy
    def total(self) -> list[int]:
        return [self.x + self.y]


def test_fields_behave_as_those_of_dataclasses() -> None:
    assert (Point(1).x, Point(1).y, Point(1, note="a").note) == (1, 7, "a")
    assert Point(1, 2) == Point(y=2, x=1, note="other")
    assert hash(Point(1, 2)) == hash(Point(1, 2, "other"))
    assert replace(Point(1, 2, "a"), y=3) == Point(1, 3)
    assert repr(Point(1)) == "Point(x=1, y=7, note='')"
    with pytest.raises(TypeError):
        Point()  # pyright: ignore[reportCallIssue]
    with pytest.raises(FrozenInstanceError):
        Point(1).x = 2  # pyright: ignore[reportAttributeAccessIssue]


def test_a_lazy_value_is_computed_once_for_each_object() -> None:
    point = Point(1)
    assert point.total is point.total
    assert point.total == [8]
    assert "total" not in replace(point, y=1).__dict__


def test_fields_and_methods_that_need_the_generated_init_are_refused() -> None:
    @dataclass(frozen=True)
    class Lists:
        rows: list[int] = field(default_factory=list[int])

    @dataclass(frozen=True)
    class Checked:
        x: int

        def __post_init__(self) -> None: ...

    for cls in (Lists, Checked):
        with pytest.raises(TypeError, match="needs the __init__ of a dataclass"):
            quick_init(cls)
