"""Dialects as IRDL: `meshloom-opt --export-irdl`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from xdsl.dialects import builtin
from xdsl.dialects.builtin import ArrayOfConstraint, SymbolNameConstraint
from xdsl.ir import Attribute, BuiltinAttribute, Data, Dialect, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import (
    AllOf,
    AnyOf,
    AttrConstraint,
    BaseAttr,
    EqAttrConstraint,
    IRDLOperation,
    OpDef,
    ParamAttrConstraint,
    RangeConstraint,
    RangeOf,
    VarConstraint,
)
from xdsl.irdl.constraints import MessageConstraint, RangeLengthConstraint
from xdsl.irdl.operations import OptionalDef, VariadicDef

from .names import can_declare, symbol_of

_BUILTIN = {
    builtin.ArrayAttr: "#builtin.array",
    builtin.BytesAttr: "#builtin.string",
    builtin.DenseArrayBase: "#builtin.dense_array",
    builtin.DictionaryAttr: "#builtin.dictionary",
    builtin.FloatAttr: "#builtin.float",
    builtin.FloatData: "#builtin.float",
    builtin.IntAttr: "#builtin.integer",
    builtin.IntegerAttr: "#builtin.integer",
    builtin.IntegerType: "!builtin.integer",
    builtin.NoneAttr: "#builtin.unit",
    builtin.StringAttr: "#builtin.string",
    builtin.SymbolRefAttr: "#builtin.symbol_ref",
    builtin.TensorType: "!builtin.tensor",
    builtin.UnitAttr: "#builtin.unit",
}
"""MLIR's names of attributes and types of `builtin`."""
_STRING = 'irdl.base "#builtin.string"'


def export_irdl(dialects: Mapping[str, Dialect]) -> str:
    """A module of IRDL that declares dialects, by name."""
    lines = ["builtin.module {"]
    for name, dialect in dialects.items():
        lines += [f"  {line}" for line in _dialect(name, dialect, set(dialects))]
    return "\n".join((*lines, "}")) + "\n"


def _dialect(name: str, dialect: Dialect, own: set[str]) -> Iterator[str]:
    yield f"irdl.dialect @{name} {{"
    for attribute in dialect.attributes:
        kind = "type" if issubclass(attribute, TypeAttribute) else "attribute"
        yield f"  irdl.{kind} @{symbol_of(attribute.name)} {{"
        yield from (f"    {line}" for line in _Body(own).attribute(attribute))
        yield "  }"
    for operation in dialect.operations:
        if issubclass(operation, IRDLOperation) and can_declare(operation):
            yield f"  irdl.operation @{symbol_of(operation.name)} {{"
            yield from (f"    {line}" for line in _Body(own).operation(operation.get_irdl_definition()))
            yield "  }"
    yield "}"


class _Body:
    """The constraints of one definition, each as a numbered value."""

    def __init__(self, own: set[str]) -> None:
        self.own = own
        self.lines: list[str] = []
        self.variables: dict[str, str] = {}

    def attribute(self, attribute: type[Attribute]) -> list[str]:
        """The body of an attribute or a type."""
        if issubclass(attribute, ParametrizedAttribute):
            parameters = attribute.get_irdl_definition().parameters
            values = [f"{name}: {self.constraint(part.constr)}" for name, part in parameters]
        else:
            assert issubclass(attribute, Data)
            values = [f"data: {self._add(_STRING)}"]
        if values:
            self.lines.append(f"irdl.parameters({', '.join(values)})")
        return self.lines

    def operation(self, definition: OpDef) -> list[str]:
        """The body of an operation: operands, results, required properties and attributes, regions."""
        for kind, parts in (("operands", definition.operands), ("results", definition.results)):
            if values := [f"{name}: {_count(part)}{self.constraint(part.constr)}" for name, part in parts]:
                self.lines.append(f"irdl.{kind}({', '.join(values)})")
        named = {**definition.properties, **definition.attributes}
        required = {name: part for name, part in named.items() if not isinstance(part, OptionalDef)}
        if values := [f'"{name}" = {self.constraint(part.constr)}' for name, part in required.items()]:
            self.lines.append(f"irdl.attributes {{{', '.join(values)}}}")
        if values := [f"{name}: {self._add('irdl.region')}" for name, _ in definition.regions]:
            self.lines.append(f"irdl.regions({', '.join(values)})")
        return self.lines

    def constraint(self, constraint: AttrConstraint[Any] | RangeConstraint[Any]) -> str:
        """The value of a constraint; `irdl.any` for constraints that IRDL or MLIR cannot express."""
        match constraint:
            case RangeOf():
                return self.constraint(cast("RangeOf[Attribute]", constraint).constr)
            case RangeLengthConstraint():
                return self.constraint(cast("RangeLengthConstraint[Attribute]", constraint).constraint)
            case VarConstraint():
                variable = cast("VarConstraint[Attribute]", constraint)
                if variable.name not in self.variables:
                    self.variables[variable.name] = self.constraint(variable.constraint)
                return self.variables[variable.name]
            case MessageConstraint():
                return self.constraint(cast("MessageConstraint[Attribute]", constraint).constr)
            case SymbolNameConstraint():
                return self._add(_STRING)
            case EqAttrConstraint():
                attribute = cast("EqAttrConstraint[Attribute]", constraint).attr
                if not isinstance(attribute, BuiltinAttribute):
                    return self._base(type(attribute))
                return self._add(f"irdl.is {attribute}")
            case AnyOf() | AllOf():
                word = "any_of" if isinstance(constraint, AnyOf) else "all_of"
                return self._joined(word, constraint.attr_constrs)
            case ArrayOfConstraint():
                return self._add('irdl.base "#builtin.array"')
            case BaseAttr():
                return self._base(cast("BaseAttr[Attribute]", constraint).attr)
            case ParamAttrConstraint():
                return self._base(constraint.base_attr)
            case _:
                return self._add("irdl.any")

    def _joined(self, word: str, constraints: Iterable[AttrConstraint[Any]]) -> str:
        return self._add(f"irdl.{word}({', '.join([self.constraint(one) for one in constraints])})")

    def _base(self, attribute: type[Attribute]) -> str:
        if attribute in _BUILTIN:
            return self._add(f'irdl.base "{_BUILTIN[attribute]}"')
        dialect = Dialect.split_name(attribute.name)[0] if "." in attribute.name else ""
        if dialect in self.own:
            return self._add(f"irdl.base @{dialect}::@{symbol_of(attribute.name)}")
        return self._add("irdl.any")

    def _add(self, text: str) -> str:
        value = f"%{sum(line.startswith('%') for line in self.lines)}"
        self.lines.append(f"{value} = {text}")
        return value


def _count(part: object) -> str:
    if isinstance(part, OptionalDef):
        return "optional "
    return "variadic " if isinstance(part, VariadicDef) else ""
