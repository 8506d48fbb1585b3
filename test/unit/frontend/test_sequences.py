"""Sequences of tensors exist during import only: models with them give ONNX Runtime's results."""

from __future__ import annotations

import onnx
import pytest
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from onnx import parser
from reference import check, random

MODELS = {
    "parts of equal size": """
        agraph (float[2,7] x) => (float[2,4] y, int64 n) <int64 two = {2}, int64 last = {-1}, int64 first = {0}>
        { parts = SplitToSequence <axis = 1> (x, two)  n = SequenceLength(parts)  rest = SequenceErase(parts)
          a = SequenceAt(rest, last)  b = SequenceAt(rest, first)  y = Concat <axis = 1> (a, b) }""",
    "parts of given sizes": """
        agraph (float[2,7] x) => (float[2,7] y) <int64[3] sizes = {3, 0, 4}, int64 last = {-1}, int64 first = {0}>
        { parts = SplitToSequence <axis = -1> (x, sizes)  a = SequenceAt(parts, last)  b = SequenceAt(parts, first)
          y = Concat <axis = 1> (a, b) }""",
    "rows, stacked again": """
        agraph (float[3,5] x) => (float[5,3] y)
        { rows = SplitToSequence <axis = 0, keepdims = 0> (x)
          y = ConcatFromSequence <axis = -1, new_axis = 1> (rows) }""",
    "inserted before the last": """
        agraph (float[2,3] x) => (float[6,3] y) <int64 last = {-1}>
        { two = Add(x, x)  empty = SequenceEmpty()  one = SequenceInsert(empty, x)  pair = SequenceInsert(one, two)
          sum = Add(two, x)  three = SequenceInsert(pair, sum, last)  y = ConcatFromSequence <axis = 0> (three) }""",
    "a loop that collects": """
        agraph (float[2,3] x) => (float[2,12] y) <int64 times = {3}>
        { none = SequenceConstruct(x)
          all = Loop <body = step (int64 i, bool going, seq(float[2,3]) before) => (bool goes, seq(float[2,3]) grown)
                      { goes = Identity(going)  value = CastLike(i, x)  same = Identity(before)
                        added = Add(x, value)  grown = SequenceInsert(same, added) }> (times, , none)
          y = ConcatFromSequence <axis = 1> (all) }""",
    "an optional": """
        agraph (float[2,3] x) => (float[2,3] y, bool there)
        { some = Optional(x)  there = OptionalHasElement(some)  same = OptionalGetElement(some)  y = Neg(same) }""",
}


def model_of(graph: str) -> onnx.ModelProto:
    """The model of a graph in ONNX's textual syntax."""
    return parser.parse_model(f'<ir_version: 9, opset_import: ["" : 18]> {graph}')


@pytest.mark.parametrize("name", MODELS)
def test_results_equal_onnx_runtimes(name: str) -> None:
    model = model_of(MODELS[name])
    shape = [dim.dim_value for dim in model.graph.input[0].type.tensor_type.shape.dim]
    check(model, {"x": random(*shape)})


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            "one = SequenceConstruct(x)  y = SequenceAt(one, far)",
            "position 1 is out of range in a sequence of 1 tensors",
        ),
        ("one = SequenceConstruct(x)  y = Neg(one)", "operand 0 is a sequence, expected a tensor"),
        ("y = SequenceAt(x, far)", "operand 0 is a tensor, expected a sequence"),
        ("y = SequenceConstruct(x)", "output 'y' is a sequence"),
    ],
)
def test_invalid_uses_are_refused(body: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_onnx(model_of(f"agraph (float[2] x) => (float[2] y) <int64 far = {{1}}> {{ {body} }}"))
