"""The entries of the instruction table for the mapping unit, and for the matrix unit's products of encoded operands."""

from __future__ import annotations

from .encoding import TypeCode, Unit
from .instruction import ALL_TYPES, CONTRACTIONS, Cost, Family, Imm, Instruction, Operand, Scalar, TypeOf, same, to

_EXPECTED = Scalar(3, "cycles")
_EXPECTED_DOC = "`cycles` is what the instruction is expected to take, for timing without values; nothing else uses it."

_CONNECTIONS = (
    "Connection data is a block of bool, true for connections and false for fillers. All bytes of D count as"
    " written; those after the stored index and values have unspecified contents."
)

_D = Operand(0, "D", writes=True, reads=False, type=TypeOf.DESTINATION)
_D_ACC = Operand(0, "D", writes=True, reads=True, type=TypeOf.DESTINATION)

_SOURCES = {
    "w": (Operand(1, "A"), Operand(2, "B", encoded=True), "the stored elements of B"),
    "z": (Operand(1, "A"), Operand(2, "B"), "the elements of A that are not 0"),
    "zw": (Operand(1, "A"), Operand(2, "B", encoded=True), "the elements of A that are not 0 and the stored ones of B"),
    "x": (Operand(1, "A", encoded=True), Operand(2, "B"), "the stored elements of A"),
    "xw": (Operand(1, "A", encoded=True), Operand(2, "B", encoded=True), "the stored elements of A and of B"),
}
"""
The source of the mapping unit's indices: w, encoded weights; x, encoded neurons; z, neurons in which it finds the zeros
itself.
"""

_PRODUCT_DOC = (
    "As `matmul`. An encoded A is a block of batch * m fibers along k, an encoded B one of batch * n fibers along k;"
    " `imm` counts the dims of dense operands only. Whether an element that is left out is multiplied by an infinite"
    f" one or NaN, which would give NaN, is not specified. {_EXPECTED_DOC}"
)


def _products() -> tuple[Instruction, ...]:
    entries: list[Instruction] = []
    for index, (name, (a, b, pairs)) in enumerate(_SOURCES.items()):
        for suffix, accumulate in (("", False), (".acc", True)):
            entries.append(
                Instruction(
                    f"matmul.{name}{suffix}", 0x12 + 2 * index + accumulate, Unit.MPU, Family.SPARSE_MATMUL,
                    Cost.SPARSE_MATMUL, (_D_ACC if accumulate else _D, a, b),
                    f"D {'+' if accumulate else ''}= A x B over {pairs}", scalars=(_EXPECTED,), imm=Imm.MATMUL_DIMS,
                    types=CONTRACTIONS, function=name, accumulates=accumulate, doc=_PRODUCT_DOC,
                )
            )  # fmt: skip
    return tuple(entries)


MAP: tuple[Instruction, ...] = (
    *_products(),
    Instruction(
        "encode", 0xD0, Unit.MAP, Family.ENCODE, Cost.ENCODE,
        (
            Operand(0, "D", writes=True, reads=False, encoded=True),
            Operand(1, "S"),
            Operand(2, "T", immediate=True, always_immediate=True),
        ),
        "D = index and values of the elements of S with |S| > T", scalars=(_EXPECTED,), types=same(ALL_TYPES),
        function="encode",
        doc="T is at least 0. S is read in row-major order, one fiber after the other. All bytes of D count as"
        f" written; those after the stored index and values have unspecified contents. {_EXPECTED_DOC}",
    ),
    Instruction(
        "decode", 0xD1, Unit.MAP, Family.DECODE, Cost.DECODE,
        (Operand(0, "D", writes=True, reads=False), Operand(1, "S", encoded=True)),
        "D = the stored elements of S, 0 elsewhere", scalars=(_EXPECTED,), types=same(ALL_TYPES), function="decode",
        doc=f"D is written in row-major order, one fiber after the other. {_EXPECTED_DOC}",
    ),
    Instruction(
        "connect", 0xD2, Unit.MAP, Family.CONNECT, Cost.CONNECT,
        (
            Operand(0, "D", writes=True, reads=False, type=TypeOf.DESTINATION, encoded=True),
            Operand(1, "S", encoded=True),
        ),
        "D = connection data of S: the elements that S stores, except fillers", scalars=(_EXPECTED,),
        types=to(ALL_TYPES, TypeCode.BOOL), function="connect",
        doc=f"S and D have equally many fibers of the same length. {_CONNECTIONS} {_EXPECTED_DOC}",
    ),
    Instruction(
        "combine", 0xD3, Unit.MAP, Family.COMBINE, Cost.COMBINE,
        (
            Operand(0, "D", writes=True, reads=False, encoded=True),
            Operand(1, "A", encoded=True),
            Operand(2, "B", encoded=True),
        ),
        "D = the connections in both A and B", scalars=(_EXPECTED,), types=same((TypeCode.BOOL,)), function="combine",
        doc="All three are connection data of equally many fibers of the same length, each with an index of its "
            "own: a bitwise AND if D's is direct, common prefix sums if it is a stride index; operands of the "
            f"other kind are converted. {_CONNECTIONS} {_EXPECTED_DOC}",
    ),
    Instruction(
        "compact", 0xD4, Unit.MAP, Family.COMPACT, Cost.COMPACT,
        (
            Operand(0, "D", writes=True, reads=False, encoded=True),
            Operand(1, "S"),
            Operand(2, "C", type=TypeOf.BOOL, encoded=True),
        ),
        "D = index and values of the elements of S that C connects", scalars=(_EXPECTED,), types=same(ALL_TYPES),
        function="compact",
        doc="S is read in row-major order, one fiber after the other; its elements are stored whatever their values."
        f" {_CONNECTIONS} {_EXPECTED_DOC}",
    ),
)  # fmt: skip
