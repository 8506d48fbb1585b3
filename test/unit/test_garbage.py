"""Tests that garbage collection is less frequent during compilation, and is restored afterwards."""

from __future__ import annotations

import gc

import pytest
from meshloom.support.garbage import NEW_OBJECTS, collect_rarely, rare_collections


@pytest.fixture(autouse=True)
def keep_setting():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


def test_collections_are_rare_inside_and_restored_afterwards() -> None:
    gc.set_threshold(700, 10, 10)
    with rare_collections():
        assert gc.get_threshold() == (NEW_OBJECTS, 10, 10)
        with rare_collections():
            assert gc.get_threshold() == (NEW_OBJECTS, 10, 10)
    assert gc.get_threshold() == (700, 10, 10)


def test_the_setting_is_restored_after_an_error() -> None:
    gc.set_threshold(700, 10, 10)
    with pytest.raises(KeyError), rare_collections():
        raise KeyError
    assert gc.get_threshold() == (700, 10, 10)


@pytest.mark.parametrize("first", [0, NEW_OBJECTS + 1])
def test_a_setting_with_fewer_or_no_collections_is_kept(first: int) -> None:
    gc.set_threshold(first, 5, 5)
    with rare_collections():
        assert gc.get_threshold() == (first, 5, 5)
    assert gc.get_threshold() == (first, 5, 5)


def test_rare_from_now_on() -> None:
    gc.set_threshold(700, 10, 10)
    collect_rarely()
    assert gc.get_threshold() == (NEW_OBJECTS, 10, 10)
