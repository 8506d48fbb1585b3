"""Program deduplication: which cores share a program, and which fields become parameters."""

import time
from typing import Any

import numpy as np
import pytest
from meshloom.dialects.coreasm.encoding import NO_DESC
from meshloom.dialects.coreasm.isa import OPCODE
from meshloom.lowering.codegen.stream import IMMEDIATE, UNUSED, DescriptorTable, core_set_operand
from meshloom.lowering.linker import deduplicate_programs as module
from meshloom.lowering.linker.deduplicate_programs import deduplicate_programs
from meshloom.lowering.linker.wide_words import WIDE
from meshloom.support.errors import MeshloomError
from numpy.typing import NDArray

Words = NDArray[np.void]


def words(*rows: tuple[str, list[int], list[int], int]) -> Words:
    """Rows of (mnemonic, addresses, descriptors, imm)."""
    result = np.zeros(len(rows), dtype=WIDE)
    result["desc"] = UNUSED
    for row, (op, addr, desc, imm) in zip(result, rows, strict=True):
        row["op"], row["imm"] = OPCODE[op], imm
        row["addr"][: len(addr)], row["desc"][: len(desc)] = addr, desc
    return result


def table(count: int) -> DescriptorTable:
    descriptors = DescriptorTable()
    for size in range(2, count + 2):
        descriptors.intern((size,), (4,))
    return descriptors


def share(cores: dict[int, Words], descriptors: DescriptorTable) -> list[module.DeduplicatedProgram]:
    return deduplicate_programs(cores, descriptors, "p")


def test_addresses_descriptors_peers_semaphores_and_counts_become_parameters():
    def core(address: int, descriptor: int, peer: int, semaphore: int, count: int) -> Words:
        return words(
            ("loop", [count, 1], [], 0),
            ("copy", [address, 64], [descriptor, 7], 0),
            ("put", [0, 0], [7, 7, UNUSED, core_set_operand(peer)], semaphore),
            ("halt", [], [], 0),
        )

    shared = share({5: core(0, 3, 1, 2, 8), 2: core(128, 4, 0, 3, 9)}, table(10))
    assert len(shared) == 1
    program = shared[0].program
    assert (program.name, shared[0].cores) == ("p.0", (2, 5))
    assert program.params.tolist() == [[0, 0], [1, 0], [1, 4], [2, 7], [2, 8]]
    # Descriptors 3, 4 and 7 are used, so they are 0, 1 and 2 of the program.
    assert shared[0].values.tolist() == [[9, 128, 1, 0, 3], [8, 0, 0, 1, 2]]
    assert program.descs["size"][:, 4].tolist() == [5, 6, 9]
    assert program.words["desc"][:3].tolist() == [[NO_DESC] * 4, [1, 2, NO_DESC, NO_DESC], [2, 2, NO_DESC, 0]]


@pytest.mark.parametrize(
    "other",
    [
        ("neg", [0, 64], [0, 0], 0),
        ("copy", [0, 64], [0, IMMEDIATE], 0),
    ],
)
def test_cores_with_different_instructions_do_not_share(other: tuple[str, list[int], list[int], int]):
    one = words(("copy", [0, 64], [0, 0], 0), ("halt", [], [], 0))
    shared = share({0: one, 1: words(other, ("halt", [], [], 0)), 2: one, 3: one[1:]}, table(2))
    assert [program.cores for program in shared] == [(0, 2), (1,), (3,)]


def test_reduced_dimensions_are_no_parameter():
    def core(reduced: int) -> Words:
        return words(("reduce.sum", [0, 64], [0, 0], reduced))

    assert len(share({0: core(1), 1: core(2)}, table(1))) == 2


def test_groups_with_too_many_descriptors_are_split(monkeypatch: pytest.MonkeyPatch):
    def core(first: int) -> Words:
        return words(*[("copy", [0, 64], [first + i, first + i], 0) for i in range(3)])

    monkeypatch.setattr(module, "_MAX_DESCRIPTORS", 6)
    cores = {number: core(3 * number) for number in range(4)}
    shared = share(cores, table(12))
    assert [program.cores for program in shared] == [(0, 1), (2, 3)]
    for program in shared:
        assert len(program.program.descs) == 6
        for row, number in zip(program.values, program.cores, strict=True):
            patched = program.program.words.copy()
            for (at, code), value in zip(program.program.params.tolist(), row.tolist(), strict=True):
                patched["desc"][at, code - 4] = value
            sizes: Any = program.program.descs["size"][patched["desc"][:, 0], 4]
            assert sizes.tolist() == [2 + 3 * number + i for i in range(3)]
    monkeypatch.setattr(module, "_MAX_DESCRIPTORS", 2)
    with pytest.raises(MeshloomError, match=r"core 0 needs 3 different access descriptors.*larger tiles"):
        share(cores, table(12))


def test_many_cores_are_quick():
    """Programs of 64 cores with 20,000 words each take below 3 s, usually about 0.15 s."""
    base = words(*[("copy", [4 * i, 64], [i % 50, 0], 0) for i in range(20_000)])
    cores: dict[int, Words] = {}
    for core in range(64):
        cores[core] = base.copy()
        cores[core]["addr"][::20, 1] = core
    descriptors = table(50)
    started = time.process_time()
    shared = share(cores, descriptors)
    assert time.process_time() - started < 3
    assert shared[0].values.shape == (64, 1000)
