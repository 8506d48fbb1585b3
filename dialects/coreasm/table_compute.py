"""The entries of the instruction table for the matrix unit and the vector unit."""

from __future__ import annotations

from .encoding import TypeCode, Unit
from .instruction import (
    ALL_TYPES,
    CONTRACTIONS,
    FLOATS,
    INTS,
    NARROW,
    NUMBERS,
    Cost,
    Family,
    Imm,
    Instruction,
    Operand,
    TypeOf,
    TypePairs,
    same,
    to,
)

_D = Operand(0, "D", writes=True, reads=False, type=TypeOf.DESTINATION)
_D_ACC = Operand(0, "D", writes=True, reads=True, type=TypeOf.DESTINATION)
_A, _B = Operand(1, "A"), Operand(2, "B")
_A_IMM, _B_IMM, _C_IMM = (
    Operand(1, "A", immediate=True),
    Operand(2, "B", immediate=True),
    Operand(3, "C", immediate=True),
)
_SCALE, _ZERO = (
    Operand(2, "B", type=TypeOf.F32, immediate=True),
    Operand(3, "C", type=TypeOf.F32, immediate=True),
)
_D_SOURCE = Operand(0, "D", writes=True, reads=False)
_D_SOURCE_ACC = Operand(0, "D", writes=True, reads=True)
_B_BYTES = Operand(2, "B", type=TypeOf.DESTINATION)
_COND = Operand(1, "A", type=TypeOf.BOOL, immediate=True)

_FLOAT, _INT, _NUMBER, _ALL = same(FLOATS), same(INTS), same(NUMBERS), same(ALL_TYPES)
_SHORTS = to((TypeCode.I16, TypeCode.U16), TypeCode.I32)
_FROM_PAIRS = to((TypeCode.I8, TypeCode.U8), *FLOATS, TypeCode.I8)
"""Type pairs for operands that are bytes with two 4-bit integers each."""
_INT_BOOL = same((*INTS, TypeCode.BOOL))
_SLOW = 4
"""Cycles per element, relative to an addition, of functions that iterate or use a table."""


def _matmul(code: int, suffix: str, accumulate: bool) -> Instruction:
    return Instruction(
        f"matmul{suffix}",
        code,
        Unit.MPU,
        Family.MATMUL,
        Cost.MATMUL,
        (_D_ACC if accumulate else _D, _A, _B),
        "D += A x B" if accumulate else "D = A x B",
        imm=Imm.MATMUL_DIMS,
        types=CONTRACTIONS,
        function="matmul",
        accumulates=accumulate,
        doc="A has the dims (batch, m, k), B (batch, k, n), D (batch, m, n), right-aligned in their descriptors and"
        " equal where shared; a convolution is a matmul whose A accesses the image by strides.",
    )


_UNARY: tuple[tuple[str, int, TypePairs, int, str], ...] = (
    ("mov", 0x20, to(ALL_TYPES, *ALL_TYPES) | to((TypeCode.F32,), *NARROW) | to(NARROW, TypeCode.F32), 1, "A"),
    ("neg", 0x21, _NUMBER, 1, "-A"),
    ("abs", 0x22, _NUMBER, 1, "|A|"),
    ("exp", 0x23, _FLOAT, _SLOW, "e^A"),
    ("log", 0x24, _FLOAT, _SLOW, "natural logarithm of A"),
    ("sqrt", 0x25, _FLOAT, _SLOW, "square root of A"),
    ("rsqrt", 0x26, _FLOAT, _SLOW, "1 / square root of A"),
    ("rcp", 0x27, _FLOAT, _SLOW, "1 / A"),
    ("tanh", 0x28, _FLOAT, _SLOW, "hyperbolic tangent of A"),
    ("sigmoid", 0x29, _FLOAT, _SLOW, "1 / (1 + e^-A)"),
    ("erf", 0x2A, _FLOAT, _SLOW, "error function of A"),
    ("floor", 0x2B, _FLOAT, 1, "largest integer <= A"),
    ("ceil", 0x2C, _FLOAT, 1, "smallest integer >= A"),
    ("round", 0x2D, _FLOAT, 1, "nearest integer to A, ties to even"),
    ("sign", 0x2E, _NUMBER, 1, "-1, 0 or 1 as A is negative, zero or positive; NaN stays NaN"),
    ("sin", 0x2F, _FLOAT, _SLOW, "sine of A"),
    ("cos", 0x30, _FLOAT, _SLOW, "cosine of A"),
    ("not", 0x31, _INT_BOOL, 1, "bitwise complement of A, logical on bool"),
    ("isnan", 0x32, to(FLOATS, TypeCode.BOOL), 1, "whether A is NaN"),
    ("isinf", 0x33, to(FLOATS, TypeCode.BOOL), 1, "whether A is infinite, of either sign"),
    ("relu", 0x34, _NUMBER, 1, "max(A, 0); NaN stays NaN"),
    ("low4", 0x35, _FROM_PAIRS, 1, "the integer in the low 4 bits of A"),
    ("high4", 0x36, _FROM_PAIRS, 1, "the integer in the high 4 bits of A"),
)
_PAIRS_DOC = "In u8 it is unsigned, in i8 its highest bit is the sign."
_MOV_DOC = (
    "The cast between types: float to integer truncates, a cast to bool is whether the value differs from 0,"
    " integers wrap around in types of fewer bits. A float outside the range of the integer type gives an "
    "unspecified value."
)
_UNARY_DOC = {"mov": _MOV_DOC, "low4": _PAIRS_DOC, "high4": _PAIRS_DOC}

_BINARY: tuple[tuple[str, int, TypePairs, int, str], ...] = (
    ("add", 0x40, _NUMBER, 1, "A + B"),
    ("sub", 0x41, _NUMBER, 1, "A - B"),
    ("mul", 0x42, _NUMBER, 1, "A * B"),
    ("div", 0x43, _NUMBER, _SLOW, "A / B; integers truncate towards 0; division by 0 gives 0"),
    ("pow", 0x44, _NUMBER, _SLOW, "A to the power of B"),
    ("max", 0x45, _ALL, 1, "the larger of A and B; NaN if either is NaN"),
    ("min", 0x46, _ALL, 1, "the smaller of A and B; NaN if either is NaN"),
    ("mod", 0x47, _NUMBER, _SLOW, "remainder of A / B with the sign of B; integers by 0 give 0"),
    ("fmod", 0x48, _NUMBER, _SLOW, "remainder of A / B with the sign of A; integers by 0 give 0"),
    ("and", 0x49, _INT_BOOL, 1, "bitwise A and B, logical on bool"),
    ("or", 0x4A, _INT_BOOL, 1, "bitwise A or B, logical on bool"),
    ("xor", 0x4B, _INT_BOOL, 1, "bitwise exclusive or of A and B, logical on bool"),
    ("shl", 0x4C, _INT, 1, "A shifted left by B bits; 0 if B is at least the width of the type"),
    ("shr", 0x4D, _INT, 1, "A shifted right by B bits, with sign extension for signed types"),
)
_BYTE_FACTORS = (
    ("byte", "B"),
    ("low4", "the integer in the low 4 bits of B"),
    ("high4", "the integer in the high 4 bits of B"),
)
_COMPARE = (("eq", "=="), ("ne", "!="), ("lt", "<"), ("le", "<="), ("gt", ">"), ("ge", ">="))
_REDUCE = (("sum", _NUMBER, "sum"), ("max", _ALL, "maximum"), ("min", _ALL, "minimum"), ("prod", _NUMBER, "product"))


def _reductions() -> tuple[Instruction, ...]:
    entries: list[Instruction] = []
    doc = "The last `imm` dims of A are reduced; D has the kept ones, right-aligned. Overlapping strides make windows."
    for index, (name, types, text) in enumerate(_REDUCE):
        for suffix, acc in (("", False), (".acc", True)):
            into = f"D combined with the {text} of A" if acc else f"D = {text} of A"
            entries.append(
                Instruction(
                    f"reduce.{name}{suffix}", 0x70 + 2 * index + acc, Unit.VPU, Family.REDUCE, Cost.VECTOR,
                    (_D_ACC if acc else _D, _A), f"{into} over the reduced dims", imm=Imm.REDUCED_DIMS, types=types,
                    function=name, accumulates=acc, doc=doc,
                )
            )  # fmt: skip
    for index, name in enumerate(("max", "min")):
        entries.append(
            Instruction(
                f"reduce.arg{name}", 0x78 + index, Unit.VPU, Family.ARG_REDUCE, Cost.VECTOR, (_D, _A),
                f"D = index of the first {name}imum of A along the flattened reduced dims", imm=Imm.REDUCED_DIMS,
                types=to(ALL_TYPES, TypeCode.I64), function=f"arg{name}", doc=doc + " The first NaN is the extremum.",
            )
        )  # fmt: skip
    accumulating = (("", False), (".acc", True))
    for number, (name, factor) in enumerate(_BYTE_FACTORS):
        for index, (suffix, acc) in enumerate(accumulating):
            entries.append(
                Instruction(
                    f"dot.{name}{suffix}", 0x64 + 2 * number + index, Unit.VPU, Family.DOT, Cost.VECTOR,
                    (_D_SOURCE_ACC if acc else _D_SOURCE, _A, _B_BYTES),
                    f"D {'+' if acc else ''}= sum of A * {factor} over the reduced dims", imm=Imm.REDUCED_DIMS,
                    types=to((TypeCode.F32,), TypeCode.I8, TypeCode.U8), function=f"dot.{name}", accumulates=acc,
                    doc="As `dot`, with A and D of the first type and bytes B of the second, converted to the first.",
                )
            )  # fmt: skip
    for index, (suffix, acc) in enumerate(accumulating):
        entries.append(
            Instruction(
                f"dot{suffix}", 0x7A + index, Unit.VPU, Family.DOT, Cost.VECTOR, (_D_ACC if acc else _D, _A, _B),
                f"D {'+' if acc else ''}= sum of A * B over the reduced dims", imm=Imm.REDUCED_DIMS,
                types=CONTRACTIONS | _SHORTS | _NUMBER, function="dot", accumulates=acc,
                doc="A and B have equal sizes; the last `imm` dims are reduced; D has the kept ones, right-aligned.",
            )
        )  # fmt: skip
    return tuple(entries)


COMPUTE: tuple[Instruction, ...] = (
    _matmul(0x10, "", False),
    _matmul(0x11, ".acc", True),
    *(
        Instruction(
            name, code, Unit.VPU, Family.UNARY, Cost.VECTOR, (_D, _A_IMM), f"D = {text}", types=types, factor=factor,
            function=name, doc=_UNARY_DOC.get(name, ""),
        )
        for name, code, types, factor, text in _UNARY
    ),
    *(
        Instruction(
            name, code, Unit.VPU, Family.BINARY, Cost.VECTOR, (_D, _A_IMM, _B_IMM), f"D = {text}", types=types,
            factor=factor, function=name,
        )
        for name, code, types, factor, text in _BINARY
    ),
    *(
        Instruction(
            name, 0x50 + index, Unit.VPU, Family.COMPARE, Cost.VECTOR, (_D, _A_IMM, _B_IMM), f"D = A {sign} B",
            types=to(ALL_TYPES, TypeCode.BOOL), function=name,
        )
        for index, (name, sign) in enumerate(_COMPARE)
    ),
    Instruction(
        "fma", 0x60, Unit.VPU, Family.TERNARY, Cost.VECTOR, (_D, _A_IMM, _B_IMM, _C_IMM), "D = A * B + C",
        types=_NUMBER, function="fma", doc="The product is rounded before the addition.",
    ),
    Instruction(
        "select", 0x61, Unit.VPU, Family.TERNARY, Cost.VECTOR, (_D, _COND, _B_IMM, _C_IMM), "D = A ? B : C",
        types=_ALL, function="select", doc="A is bool; the types in the table are those of B, C and D.",
    ),
    Instruction(
        "quantize", 0x62, Unit.VPU, Family.TERNARY, Cost.VECTOR, (_D, _A_IMM, _SCALE, _ZERO),
        "D = round(A * B) + C, saturated", types=to((TypeCode.F32, TypeCode.I32), TypeCode.I8, TypeCode.U8), factor=2,
        function="quantize",
        doc="A is converted to f32, the type of B and C; the product is rounded in f32, then to the nearest "
            "integer, ties to even. For NaN the result is unspecified.",
    ),
    *_reductions(),
)  # fmt: skip
