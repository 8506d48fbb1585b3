"""
The layout of the timing kernel's arrays: columns of word classes, lanes, route nodes and links, and the numbers of
kinds of words and nodes.
"""

LOCAL, MAPPED, WAIT, PUT, PUT_MAPPED, SIGNAL, LOAD, STORE, HALT, SEQ, LOOP, DRAIN, LOOP_BY, LEAVE = range(14)
"""
Kinds of words for timing; kinds from HALT on are executed by the sequencer. The time of MAPPED, the bytes of
PUT_MAPPED, the count of LOOP_BY, and whether LEAVE ends a loop depend on values.
"""
KIND, UNIT, WAITS, SIGNALS, A, B, LEAD, TARGET = range(8)
COLUMNS = 8
"""Columns of a class of words; for A, B, LEAD and TARGET see `tables.Tables`."""

DISPATCHED, STARTED, FREE, BUSY, FIRST_START, LAST_END, BEGIN, LEFT = range(8)
LANE_COLUMNS = 8
"""
Columns of a lane (a unit of a core): numbers of instructions that entered its queue, and that started; the cycle from
which it is free (during a transfer: -1 - its word); busy cycles; first start; last completion; start of the current
transfer, and its bytes that are not offered yet.
"""

ONE_LINK, INTO_CORE, FORK, FROM_PORT, INTO_PORT, TURN = range(6)
"""Kinds of nodes of a route. TURN is not a node, but an event that reserves a link for a waiting packet."""
NODE_KIND, NODE_WAY, NODE_NEXT, NODE_MASK = range(4)
"""
Columns of a node: its kind + 8 * the input of its router (see `noc.FROM_CORE`); its link (of FORK, the router's first
one; DRAM ports are numbered after the links); the next node (HERE: data that was read has reached its core; of FORK,
the node itself); the outputs of a FORK, as bits.
"""
HERE = 0xFFFFFFFF

FREE_AT, BEGIN_AT, LAST_IN, WAITING = range(4)
PART = BEGIN_AT
LINK_COLUMNS = 4
"""
Columns of a link: the cycle in which all packets for which it is reserved have left it; the cycle in which the last of
these begins (until then others wait); the router input of that packet; the inputs (bits) with waiting packets. Of a
DRAM port, after the links: the cycle in which it is free, and the part of that cycle that is taken, in bytes of all
ports together.
"""
