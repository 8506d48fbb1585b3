"""Properties of residency in DRAM: no overlap, every value is present when it is read, and all that fits is placed."""

from __future__ import annotations

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.lowering.sequence.dram_residency import (
    Decisions,
    DramCapacityError,
    LaunchOperands,
    Network,
    Residency,
    Value,
    plan_residency,
)


def random_network(seed: int) -> Network:
    """Up to eight successive launches; each reads some values of earlier ones and of the network's inputs."""
    rng = random.Random(seed)
    launches = rng.randint(1, 8)
    constants = tuple(rng.randint(1, 2000) for _ in range(rng.randint(0, 10)))
    producers = [-1] * rng.randint(1, 3)
    for launch in range(launches):
        producers += [launch] * rng.randint(1, 2)
    readers = [sorted(rng.sample(range(p + 1, launches), rng.randint(0, min(3, launches - p - 1)))) for p in producers]
    values = tuple(
        Value(rng.randint(1, 3000), producer, tuple(reads), rng.random() < 0.3 or not reads)
        for producer, reads in zip(producers, readers, strict=True)
    )
    needs = tuple(
        LaunchOperands(
            tuple(rng.sample(range(len(constants)), rng.randint(0, min(3, len(constants))))),
            tuple(number for number, value in enumerate(values) if launch in value.readers),
            tuple(number for number, value in enumerate(values) if value.producer == launch),
            rng.choice([0, 0, 700]),
        )
        for launch in range(launches)
    )
    kept = frozenset(rng.sample(range(len(constants)), 1) if constants and rng.random() < 0.2 else [])
    return Network(needs, values, constants, kept)


def up(size: int) -> int:
    return max(1, -(-size // 64)) * 64


def least(network: Network) -> int:
    """The largest number of bytes that one launch needs by itself."""
    always = sum(up(network.constants[one]) for one in network.outputs)
    return max(
        always
        + sum(up(network.constants[one]) for one in set(needs.constants) - network.outputs)
        + sum(up(network.values[one].nbytes) for one in (*needs.arguments, *needs.results))
        + (up(needs.scratch) if needs.scratch else 0)
        # An input that is only returned as an output passes through DRAM at the first launch.
        + sum(up(v.nbytes) for v in network.values if launch == 0 and v.producer < 0 and v.is_output and not v.readers)
        for launch, needs in enumerate(network.launches)
    )


def check(network: Network, residency: Residency, capacity: int) -> None:
    placed = list(zip(residency.allocations, residency.addresses, strict=True))
    assert all(address + up(one.nbytes) <= residency.used <= capacity for one, address in placed)
    for (a, at), (b, bt) in combinations(placed, 2):
        together = a.first <= b.last and b.first <= a.last
        apart = at + up(a.nbytes) <= bt or bt + up(b.nbytes) <= at
        assert apart or not together, (a, b)
    for launch, needs in enumerate(network.launches):
        block = residency.blocks.get(launch, ())
        for number in needs.constants:
            if number in block:
                residency.address("block", launch, launch)
            else:
                residency.address("constant", number, launch)
        for number in (*needs.arguments, *needs.results):
            residency.address("value", number, launch)
    for number, value in enumerate(network.values):
        allocations = [one for one in residency.allocations if (one.kind, one.number) == ("value", number)]
        # The first allocation begins with the computation, or with a copy from the inputs; later ones with a copy back
        # from the host, after the copy to the host.
        assert (allocations[0].copied_in_for < 0) == (value.producer >= 0)
        if len(allocations) > 1 and value.producer >= 0:
            after, beside = residency.copied_out[number]
            assert after == value.producer
            assert allocations[0].first <= after + beside <= allocations[0].last < allocations[1].first
            assert value.is_output != (number in residency.spilled)


def planned(network: Network, capacity: int) -> Residency | None:
    try:
        return plan_residency(network, capacity)
    except DramCapacityError:
        return None


@settings(max_examples=50, deadline=None)
@given(seed=st.integers(0, 10**6), room=st.floats(1.0, 3.0))
def test_random_networks(seed: int, room: float) -> None:
    network = random_network(seed)
    capacity = int(least(network) * room) // 64 * 64
    residency = planned(network, capacity)
    if residency is None:
        # Only fragmentation can be the reason.
        assert room < 1.6
    else:
        check(network, residency, capacity)


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), room=st.floats(1.0, 3.0))
def test_decisions_reproduce_the_addresses(seed: int, room: float) -> None:
    """Planning with the decisions of an earlier plan, as when printed IR is parsed, gives the same addresses."""
    network = random_network(seed)
    capacity = int(least(network) * room) // 64 * 64
    if (residency := planned(network, capacity)) is not None:
        assert plan_residency(network, capacity, residency.decided) == residency


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_values_decided_to_be_spilled(seed: int) -> None:
    """Such values are copied to the host, and back for each launch that reads them; others stay, because they fit."""
    network = random_network(seed)
    numbers = [number for number in range(len(network.values)) if random.Random(seed + number).random() < 0.5]
    residency = plan_residency(network, 1 << 30, Decisions(values=dict.fromkeys(numbers, True)))
    check(network, residency, 1 << 30)
    for number, value in enumerate(network.values):
        allocations = [one for one in residency.allocations if (one.kind, one.number) == ("value", number)]
        comes_back = number in numbers and len(value.readers) > (value.producer < 0)
        assert (len(allocations) > 1) == comes_back
        assert all(one.copied_in_for in value.readers for one in allocations[1:])


def test_values_decided_to_stay_in_dram() -> None:
    """With 64 bytes less than all values take, `a` would have to be spilled, and planning fails."""
    network = three_layers()
    all_there = Decisions(dict.fromkeys(range(4), False), dict.fromkeys(range(3), False))
    assert plan_residency(network, 3 * 1024 + 192, all_there).used == 3 * 1024 + 192
    with pytest.raises(DramCapacityError):
        plan_residency(network, 3 * 1024 + 128, all_there)


def test_nothing_is_spilled_or_streamed_if_everything_fits() -> None:
    network = random_network(3)
    residency = plan_residency(network, 1 << 30)
    assert not residency.streamed
    assert not residency.spilled
    check(network, residency, 1 << 30)


def three_layers() -> Network:
    """x -> a -> b -> c, 1000 bytes (1024 padded) of weights each, values of 64 bytes; the last launch reads a, too."""
    values = (
        Value(64, -1, (0,), False),
        Value(64, 0, (1, 2), False),
        Value(64, 1, (2,), False),
        Value(64, 2, (), True),
    )
    needs = (
        LaunchOperands((0,), (0,), (1,), 0),
        LaunchOperands((1,), (1,), (2,), 0),
        LaunchOperands((2,), (1, 2), (3,), 0),
    )
    return Network(needs, values, (1000, 1000, 1000), frozenset())


@pytest.mark.parametrize(
    ("capacity", "streamed"),
    [
        (3 * 1024 + 192, 0),  # everything
        (2 * 1024 + 192, 3),  # two layers' weights at a time: one layer's are copied during the other's launch
        (1024 + 192, 3),  # one at a time
    ],
)
def test_streamed_weights(capacity: int, streamed: int) -> None:
    residency = plan_residency(three_layers(), capacity)
    check(three_layers(), residency, capacity)
    assert len(residency.streamed) <= streamed
    assert bool(residency.streamed) == bool(streamed)
    beside = [one for one in residency.allocations if one.kind == "block" and one.first < one.copied_in_for]
    assert bool(beside) == (capacity == 2 * 1024 + 192)


def test_one_launch_that_is_too_large() -> None:
    with pytest.raises(
        DramCapacityError, match="launch 2 needs 1216 bytes of DRAM at once, 1152 are available"
    ) as caught:
        plan_residency(three_layers(), 1152)
    assert (caught.value.resource, caught.value.needed, caught.value.available) == ("DRAM", 1216, 1152)
