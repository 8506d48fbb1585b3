"""
The layout of the timing kernel's arrays: columns of word classes, lanes, route nodes and links, and the numbers that
stand for kinds of words and nodes.
"""

LOCAL, MAPPED, WAIT, PUT, PUT_MAPPED, SIGNAL, LOAD, STORE, HALT, SEQ, LOOP, DRAIN, LOOP_BY, LEAVE = range(14)
"""
Kinds of words for timing; kinds from HALT on are executed by the sequencer. The time of MAPPED ones, the bytes of
PUT_MAPPED ones, the count of LOOP_BY and whether LEAVE ends a loop depend on values.
"""
KIND, UNIT, WAITS, SIGNALS, A, B, LEAD, TARGET = range(8)
COLUMNS = 8
"""Columns of a class of words; for A, B, LEAD and TARGET see `tables.Tables`."""

DISPATCHED, STARTED, FREE, BUSY, FIRST_START, LAST_END, BEGIN, LEFT = range(8)
LANE_COLUMNS = 8
"""
Columns of a lane (a unit of a core): instructions that entered its queue, and that started; the cycle from which it is
free (while a transfer is under way: -1 - its word); cycles in which it worked; first start; last completion; start of
the transfer under way, and its bytes that are not yet offered.
"""

ONE_LINK, INTO_CORE, FORK, FROM_PORT, INTO_PORT, TURN = range(6)
"""Kinds of nodes of a route. A TURN is none: the event says that a link may be promised to a packet that waits."""
NODE_KIND, NODE_WAY, NODE_NEXT, NODE_MASK = range(4)
"""
Columns of a node: its kind + 8 * the way into its router (`noc.FROM_CORE`); its link (of FORK the first of the
router's; DRAM ports are numbered after the links); the node after it (HERE: what was read is at its core; of FORK
itself); the ways out that a FORK takes.
"""
HERE = 0xFFFFFFFF

FREE_AT, BEGIN_AT, LAST_IN, WAITING = range(4)
PART = BEGIN_AT
LINK_COLUMNS = 4
"""
Columns of a link: when all packets have left it that it is promised to; when the last of them begins (until then others
wait); the way in by which this one came; the ways in (bits) by which those came that wait. Of a DRAM port, after the
links: the cycle in which it is free, and the part of that cycle which is still taken, in bytes of all ports together.
"""
