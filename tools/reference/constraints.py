"""Constraints of definitions in words."""

from __future__ import annotations

from typing import Any, cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayOfConstraint, DenseArrayBase, IntegerAttr, SymbolNameConstraint, TensorType
from xdsl.ir import Attribute, TypeAttribute
from xdsl.irdl import (
    AllOf,
    AnyAttr,
    AnyOf,
    AttrConstraint,
    BaseAttr,
    EqAttrConstraint,
    ParamAttrConstraint,
    RangeConstraint,
    RangeOf,
    VarConstraint,
)
from xdsl.irdl.constraints import (
    AttrSetConstraint,
    MessageConstraint,
    RangeLengthConstraint,
    RangeVarConstraint,
)

_BUILTIN = {
    builtin.ArrayAttr: "array",
    builtin.BytesAttr: "bytes",
    builtin.DenseArrayBase: "array of numbers",
    builtin.DenseIntOrFPElementsAttr: "elements of a tensor",
    builtin.DictionaryAttr: "dictionary",
    builtin.FloatAttr: "float",
    builtin.FloatData: "float",
    builtin.FlatSymbolRefAttr: "symbol reference",
    builtin.IntAttr: "integer",
    builtin.IntegerAttr: "integer",
    builtin.IntegerType: "integer type",
    builtin.NoneAttr: "nothing",
    builtin.StringAttr: "string",
    builtin.SymbolRefAttr: "symbol reference",
    builtin.TensorType: "tensor",
    builtin.UnitAttr: "flag",
}


def in_words(constraint: AttrConstraint[Any] | RangeConstraint[Any]) -> str:
    """
    The values that a constraint allows, in words. Verifiers may require more, as the description of the operation says.

    Raises TypeError for an unknown kind of constraint.
    """
    match constraint:
        case SymbolNameConstraint():
            return "symbol name"
        case RangeOf():
            return in_words(cast("RangeOf[Attribute]", constraint).constr)
        case RangeLengthConstraint() | RangeVarConstraint():
            return in_words(cast("RangeVarConstraint[Attribute]", constraint).constraint)
        case VarConstraint():
            inner = in_words(cast("VarConstraint[Attribute]", constraint).constraint)
            return f"`{constraint.name}`: {inner}"
        case MessageConstraint():
            return in_words(cast("MessageConstraint[Attribute]", constraint).constr)
        case AnyAttr():
            return "any"
        case EqAttrConstraint():
            return f"`{cast('EqAttrConstraint[Attribute]', constraint).attr}`"
        case AttrSetConstraint():
            values = cast("AttrSetConstraint[Attribute]", constraint).values
            return " or ".join(sorted(f"`{one}`" for one in values))
        case AnyOf():
            return _joined(constraint.attr_constrs, " or ")
        case AllOf():
            return _joined(constraint.attr_constrs, " and ")
        case ArrayOfConstraint():
            return f"array of {in_words(constraint.elem_range_constraint)}"
        case BaseAttr():
            return name_of(cast("BaseAttr[Attribute]", constraint).attr)
        case ParamAttrConstraint():
            return _with_parameters(constraint.base_attr, constraint.param_constrs)
        case _:
            raise TypeError(f"no words for {type(constraint).__name__}")


def _joined(constraints: tuple[AttrConstraint[Any], ...], word: str) -> str:
    return word.join(dict.fromkeys(map(in_words, constraints)))


def _with_parameters(base: type[Attribute], parameters: tuple[AttrConstraint[Any], ...]) -> str:
    if base is DenseArrayBase:
        element = in_words(parameters[0])
        return "array of integers" if element == "integer type" else f"array of {element}"
    if base is IntegerAttr:
        type = in_words(parameters[1])
        return "integer" if type in ("any", "integer type") else f"{type} number"
    if base is TensorType and (element := in_words(parameters[1])) != "any":
        return f"tensor of {element}"
    return name_of(base)


def name_of(definition: type[Attribute]) -> str:
    """An attribute or type in a sentence: a word for those of `builtin`, else its name in the dialect."""
    if definition in _BUILTIN:
        return _BUILTIN[definition]
    return f"`{'!' if issubclass(definition, TypeAttribute) else '#'}{definition.name}`"
