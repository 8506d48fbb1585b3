"""The arrays of the timing kernel in groups. The kernel addresses all of them in one dimension, in C order."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from ...chips.chip import Chip
from ...dialects.coreasm.isa import MAX_LOOPS, QUEUES
from ..machine.noc import INPUTS, LINKS
from .kernel_arrays import FIRST_START, LANE_COLUMNS, LAST_END, LINK_COLUMNS

Numbers = NDArray[Any]
Group = TypeVar("Group", bound="tuple[Numbers, ...]")


class Words(NamedTuple):
    """The words of all cores."""

    word_class: Numbers
    """[words] class of each static word of all cores, one after the other."""
    classes: Numbers
    """[classes, 8] the classes; columns as in `kernel_arrays.KIND`."""


class RouteNodes(NamedTuple):
    """Routes (see `noc.Routes`)."""

    nodes: Numbers
    """[nodes, 4] columns as in `kernel_arrays.NODE_KIND`."""
    children: Numbers
    put_root: Numbers
    load_root: Numbers
    store_root: Numbers


class Values(NamedTuple):
    """What depends on values."""

    mapped: Numbers
    """Cycles or bytes by lane; empty: as declared in column A of the classes."""
    mapped_next: Numbers
    """[lanes] index of the next one of each lane."""
    decided: Numbers
    """Decisions of sequencers, by core."""
    decided_next: Numbers
    """[cores] index of the next decision of each core."""
    decided_end: Numbers
    """[cores] end of the decisions of each core."""


class CoreState(NamedTuple):
    """The state of all cores, zero at the start; at the end it tells which units are blocked."""

    pc: Numbers
    """[cores] the next word of each sequencer."""
    halted: Numbers
    """[cores] whether the program has ended."""
    lanes: Numbers
    """[lanes, 8] columns as in `kernel_arrays.DISPATCHED`."""
    queued: Numbers
    """[lanes, ring] the words in the queue of each lane."""
    when: Numbers
    """[lanes, ring] the cycle from which a queued instruction may start or, if it has started, its start."""
    semaphores: Numbers
    """[cores * semaphores] counts."""
    seq_time: Numbers
    """[cores] the cycle that each sequencer has reached."""
    tokens: Numbers
    """[cores * 64] the first entry in the queue of tokens between each pair of units; 0 if it is empty."""

    @staticmethod
    def at_start(chip: Chip, first_words: NDArray[np.int64], ring: int) -> CoreState:
        """The state before a launch; `first_words`: [cores] the first word of each core's program."""
        cores, lanes = chip.cores, chip.cores * QUEUES
        state = CoreState(
            first_words.copy(), np.zeros(cores, np.uint8), np.zeros((lanes, LANE_COLUMNS), np.int64),
            np.zeros((lanes, ring), np.uint32), np.zeros((lanes, ring), np.int64),
            np.zeros(cores * chip.semaphores, np.int64), np.zeros(cores, np.int64), np.zeros(cores * 64, np.uint32),
        )  # fmt: skip
        state.lanes[:, [FIRST_START, LAST_END]] = -1
        return state


class Sequencers(NamedTuple):
    """What the sequencers work on."""

    blocked_sem: Numbers
    """[lanes] the semaphore that a lane waits for; -1: none."""
    loop_depth: Numbers
    """[cores] number of loops that are open."""
    loop_start: Numbers
    """[cores, loops] first word of each open loop."""
    loop_end: Numbers
    """[cores, loops] the word after its last one."""
    loop_left: Numbers
    """[cores, loops] its remaining iterations."""
    under_way: Numbers
    """[cores] number of loads and stores in progress."""
    draining: Numbers
    """[cores] whether the sequencer waits for idle units."""

    @staticmethod
    def at_start(chip: Chip) -> Sequencers:
        """The sequencers before a launch."""
        cores = chip.cores
        start, end, left = (np.zeros((cores, MAX_LOOPS), np.int64) for _ in range(3))
        blocked, depth = np.full(cores * QUEUES, -1, np.int32), np.zeros(cores, np.int32)
        return Sequencers(blocked, depth, start, end, left, np.zeros(cores, np.int64), np.zeros(cores, np.int64))


class Network(NamedTuple):
    """Links and DRAM ports, and packets at their sources."""

    links: Numbers
    """[links + ports, 4] columns as in `kernel_arrays.FREE_AT`."""
    w_head: Numbers
    """[links * inputs] first packet that waits at a router input for a link; 0: none."""
    w_tail: Numbers
    """[links * inputs] the last one."""
    to_leave: Numbers
    """[lanes] number of links, less one, that the lane's packet at the source must still take."""
    left_at: Numbers
    """[lanes] the cycle in which it leaves those taken."""
    complete: Numbers
    """[lanes] the cycle in which the lane's loads or stores so far are complete."""

    @staticmethod
    def at_start(chip: Chip) -> Network:
        """The network without packets."""
        links, lanes = chip.cores * LINKS, chip.cores * QUEUES
        ways = np.zeros((links + chip.dram_ports, LINK_COLUMNS), np.int64)
        head, tail = (np.zeros(links * INPUTS, np.uint32) for _ in range(2))
        left, complete = (np.zeros(lanes, np.int64) for _ in range(2))
        return Network(ways, head, tail, np.zeros(lanes, np.uint8), left, complete)


class TimeQueues(NamedTuple):
    """Queues of tokens and of counts of semaphores (see `time_queues`); heads are 0 if the queue is empty."""

    q_tail: Numbers
    """[cores * 64] last entry in each queue of tokens."""
    s_head: Numbers
    """[cores * semaphores] first count of each semaphore."""
    s_tail: Numbers
    """[cores * semaphores] last count of each semaphore."""
    p_time: Numbers
    """[room] time of each entry of the pool."""
    p_next: Numbers
    """[room] the next entry of its queue."""
    pool: Numbers
    """[3] counters of the pool."""

    @staticmethod
    def at_start(chip: Chip, room: int) -> TimeQueues:
        """Empty queues, with capacity for `room` entries."""
        tokens, counts = chip.cores * 64, chip.cores * chip.semaphores
        last, s_head, s_tail = (np.zeros(length, np.uint32) for length in (tokens, counts, counts))
        counters = np.array([0, 1, 0], np.int64)
        return TimeQueues(last, s_head, s_tail, np.empty(room, np.int64), np.empty(room, np.uint32), counters)


class Results(NamedTuple):
    """What the kernel counts."""

    seq_count: Numbers
    """[cores] number of instructions that each sequencer executed itself."""
    entered: Numbers
    """[nodes] bytes that entered the routes that start at each node."""
    finish: Numbers
    """[2] cycles of the launch, and number of entries in the trace."""
    trace_lane: Numbers
    """[traced] lane of each instruction, in the order in which its end was determined."""
    trace_word: Numbers
    """[traced] its word."""
    trace_start: Numbers
    """[traced] its start."""
    trace_end: Numbers
    """[traced] its end."""

    @staticmethod
    def empty(cores: int, nodes: int, traced: int) -> Results:
        """The results before a launch, with room for a trace of `traced` instructions."""
        count, entered, finish = (np.zeros(size, np.int64) for size in (cores, nodes, 2))
        lane, word = (np.zeros(traced, np.int32) for _ in range(2))
        start, end = (np.zeros(traced, np.int64) for _ in range(2))
        return Results(count, entered, finish, lane, word, start, end)


def flat(group: Group) -> Group:
    """A group whose arrays have one dimension, without copies."""
    return type(group)(*(array.reshape(-1) for array in group))
