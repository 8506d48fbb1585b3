"""
Size of long tests: numbers of random cases, and combinations of networks, chips and options.

`--cases N` runs N random cases of each campaign instead of its default number; `--full-products` runs all combinations
of a matrix instead of a selection.
"""

from __future__ import annotations

from itertools import count, islice, product

import pytest
from covering import covering


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("meshloom")
    group.addoption("--cases", type=int, metavar="N", help="random cases of each slow campaign")
    group.addoption("--full-products", action="store_true", help="every combination of slow matrices")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """
    `campaign(N, first=0, without=())` gives a test the argument `seed`, N times: whole numbers from `first` on; or the
    argument `cases`, once: N. `matrix(together=2, without=(), NAME=VALUES...)` gives it an argument for each axis.
    """
    if (campaign := metafunc.definition.get_closest_marker("campaign")) is not None:
        given: int | None = metafunc.config.getoption("--cases")
        cases: int = campaign.args[0] if given is None else given
        if "cases" in metafunc.fixturenames:
            metafunc.parametrize("cases", [cases])
        else:
            first, without = campaign.kwargs.get("first", 0), campaign.kwargs.get("without", ())
            seeds = (seed for seed in count(first) if seed not in without)
            metafunc.parametrize("seed", list(islice(seeds, cases)))
    if (matrix := metafunc.definition.get_closest_marker("matrix")) is not None:
        together, without = matrix.kwargs.get("together", 2), matrix.kwargs.get("without", ())
        axes = {name: [*values] for name, values in matrix.kwargs.items() if name not in ("together", "without")}
        full = metafunc.config.getoption("--full-products")
        chosen = product(*axes.values()) if full else covering([*axes.values()], together)
        metafunc.parametrize([*axes], [case for case in chosen if case not in without])
