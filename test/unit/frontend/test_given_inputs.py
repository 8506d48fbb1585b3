"""Inputs that are sequences, optionals or strings: programs of the ONNX backend against ONNX's reference."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import onnx
import pytest
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from numpy.typing import NDArray
from onnx import parser
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt
from onnx.reference import ReferenceEvaluator
from reference import random

from meshloom.backend import CompiledModel, MeshloomBackend

WORDS = np.asarray([["a", "b", "ab"], ["", "Ünïcode", "b"]], object)


def model_of(graph: str) -> onnx.ModelProto:
    """The model of a graph in ONNX's textual syntax."""
    return parser.parse_model(f'<ir_version: 9, opset_import: ["" : 19]> {graph}')


def compare(got: Any, expected: Any) -> None:
    """Assert equal structure, shapes and elements; only floats may differ slightly."""
    assert isinstance(got, list) == isinstance(expected, list)
    if isinstance(expected, list):
        items = cast("list[Any]", expected)
        assert len(got) == len(items)
        for one, wanted in zip(got, items, strict=True):
            compare(one, wanted)
    elif expected is None:
        assert got is None
    else:
        wanted = np.asarray(expected)
        assert got.shape == wanted.shape
        if wanted.dtype.kind == "f":
            np.testing.assert_allclose(got, wanted, rtol=1e-6)
        else:
            np.testing.assert_array_equal(got, wanted)


def check(program: CompiledModel, inputs: Mapping[str, Any]) -> None:
    """Compare a run on the emulated chip with ONNX's reference."""
    expected = cast(Any, ReferenceEvaluator(program.model)).run(None, dict(inputs))
    got = program.run(inputs)
    assert program.cycles > 0
    compare(list(got), list(expected))


MOVED = {
    "Identity": "y = Identity(x)",
    "Transpose": "y = Transpose(x)",
    "Reshape": "y = Reshape(x, flat)",
    "Slice": "y = Slice(x, one, three, one)",
    "Concat": "y = Concat <axis = 1> (x, longer)",
    "Gather": "y = Gather <axis = 1> (x, picks)",
    "Where": "y = Where(mask, x, longer)",
    "Expand": "wide = Unsqueeze(x, zero)  y = Expand(wide, shape)",
    "Tile": "y = Tile(x, twice)",
    "Split": "a, y = Split <axis = 0, num_outputs = 2> (x)",
}


@pytest.mark.parametrize("name", MOVED)
def test_movement_of_strings(name: str) -> None:
    constants = """int64[1] zero = {0}, int64[1] one = {1}, int64[1] three = {3}, int64[1] flat = {-1},
        int64[2] picks = {2, 0}, int64[2] twice = {2, 3}, int64[3] shape = {2, 2, 3}, bool[3] mask = {1, 0, 1},
        string[2,3] longer = {"longer than", "b", "", "d", "e", "f"}"""
    program = MeshloomBackend.prepare(
        model_of(f"agraph (string[2,3] x) => (string y) <{constants}> {{ {MOVED[name]} }}")
    )
    check(program, {"x": WORDS})


def test_equality_of_strings() -> None:
    program = MeshloomBackend.prepare(
        model_of(
            """agraph (string[n,3] x, string[m] y) => (bool[n,3] same, bool[n,3] fixed)
            <string some = {"Ünïcode"}> { same = Equal(x, y)  fixed = Equal(x, some) }"""
        )
    )
    check(program, {"x": WORDS, "y": np.asarray(["a"], object)})
    check(program, {"x": WORDS, "y": np.asarray(["", "a longer one", "ab"], object)})
    check(program, {"x": WORDS[:1], "y": np.asarray(["ab"], object)})


SEQUENCES = {
    "joined": ("float[5,3] y", "y = ConcatFromSequence <axis = 0> (xs)"),
    "one more": ("seq(float[n,3]) y", "twice = Add(x, x)  y = SequenceInsert(xs, twice, at)"),
    "one less": ("seq(float[n,3]) y", "y = SequenceErase(xs, at)"),
    "one of them": ("float[n,3] y, int64 count", "y = SequenceAt(xs, at)  count = SequenceLength(xs)"),
    "mapped": (
        "seq(float[n,3]) y",
        "y = SequenceMap <body = twice (float[n,3] a) => (float[n,3] b) { b = Add(a, a) }> (xs)",
    ),
    "chosen": (
        "seq(float[n,3]) y",
        """first = Equal(at, zero)
        y = If <then_branch = all () => (seq(float[n,3]) same) { same = Identity(xs) },
                else_branch = none () => (seq(float[n,3]) other) { other = SequenceConstruct(x) }> (first)""",
    ),
}


@pytest.mark.parametrize("name", SEQUENCES)
def test_sequences(name: str) -> None:
    outputs, body = SEQUENCES[name]
    program = MeshloomBackend.prepare(
        model_of(
            f"""agraph (seq(float[n,3]) xs, float[4,3] x, int64 at) => ({outputs}) <int64 zero = {{0}}>
            {{ {body} }}"""
        )
    )
    for at in (0, 1):
        check(program, {"xs": [random(2, 3), random(3, 3, seed=1)], "x": random(4, 3), "at": np.asarray(at)})
    if name != "joined":  # declared for five rows
        three = [random(2, 3), random(1, 3, seed=1), random(4, 3, seed=2)]
        check(program, {"xs": three, "x": random(4, 3), "at": np.asarray(-1)})


def test_sequences_of_strings() -> None:
    program = MeshloomBackend.prepare(
        model_of("agraph (seq(string[n]) xs) => (string[m] y) { y = ConcatFromSequence <axis = 0> (xs) }")
    )
    check(program, {"xs": [np.asarray(["a", "bcd"], object), np.asarray(["a longer one"], object)]})


def test_optionals() -> None:
    program = MeshloomBackend.prepare(
        model_of(
            """agraph (optional(float[3]) some, float[3] x) => (bool there, float[3] y)
            { there = OptionalHasElement(some)
              y = If <then_branch = with () => (float[3] a) { value = OptionalGetElement(some)  a = Add(value, x) },
                      else_branch = without () => (float[3] b) { b = Neg(x) }> (there) }"""
        )
    )
    for some in (random(3), None, random(3, seed=1)):
        check(program, {"some": some, "x": random(3, seed=2)})


def test_absent_outputs_are_none() -> None:
    program = MeshloomBackend.prepare(
        model_of(
            "agraph (optional(float[3]) some, float[3] x) => (optional(float[3]) y, float[3] z)"
            "{ y = Identity(some)  z = Neg(x) }"
        )
    )
    x = random(3)
    assert program.run([None, x])[0] is None
    np.testing.assert_array_equal(program.run([x, x])[0], x)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        (
            "(seq(float[2]) x) => (float[2] y) { y = ConcatFromSequence <axis = 0> (x) }",
            "input 'x' is a sequence: .*backend",
        ),
        ("(optional(float[2]) x) => (float[2] y) { y = OptionalGetElement(x) }", "input 'x' is an optional: .*backend"),
        ("(string[2] x) => (bool[2] y) { y = Equal(x, x) }", "input 'x' is a tensor of strings: .*backend"),
        ("(float[2] x) => (seq(float[2]) y) { y = SequenceConstruct(x) }", "output 'y' is a sequence: .*backend"),
        ('(float[2] x) => (string y) <string y = {"a"}> { }', "output 'y' is a tensor of strings: .*backend"),
    ],
)
def test_executables_have_tensors_of_numbers_only(graph: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        import_onnx(model_of("agraph " + graph))


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("y = Add(x, x)", "operator Add .* strings are not supported here"),
        ("y = Less(x, x)", "operator Less .* strings are not supported here"),
        ("y = Cast <to = 1> (x)", "operator Cast .* strings are not supported here"),
    ],
)
def test_other_operators_refuse_strings(body: str, message: str) -> None:
    with pytest.raises(BackendIsNotSupposedToImplementIt, match=message):
        MeshloomBackend.run_model(model_of(f"agraph (string[2] x) => (float[2] y) {{ {body} }}"), [WORDS[0, :2]])


@pytest.mark.parametrize(
    ("kind", "value", "message"),
    [
        ("string[2]", np.asarray(["a", "b\0"], object), "input 'x': .* has a NUL"),
        ("string[2]", np.zeros(2), "input 'x' has elements of type float64, expected strings"),
        ("seq(float[2])", np.zeros(2, np.float32), "input 'x' is a sequence: give a list of arrays"),
        ("float[2]", None, "input 'x' has no value"),
    ],
)
def test_wrong_inputs(kind: str, value: NDArray[Any] | None, message: str) -> None:
    with pytest.raises(InputError, match=message):
        MeshloomBackend.run_model(model_of(f"agraph ({kind} x) => ({kind} y) {{ y = Identity(x) }}"), [value])


def test_names_stay_unique() -> None:
    model = model_of(
        "agraph (seq(float[2]) x, float[2] z) => (float[2] y) { a = ConcatFromSequence <axis = 0> (x)  y = Add(a, z) }"
    )
    model.graph.input[1].name = "x.0"
    model.graph.node[1].input[1] = "x.0"
    with pytest.raises(BackendIsNotSupposedToImplementIt, match=r"two inputs have the name 'x.0'"):
        MeshloomBackend.run_model(model, [[np.zeros(2, np.float32)], np.zeros(2, np.float32)])


def test_single_nodes() -> None:
    node = onnx.helper.make_node("ConcatFromSequence", ["xs"], ["y"], axis=0)
    (joined,) = MeshloomBackend.run_node(node, [[np.ones((2, 3), np.float32), np.zeros((1, 3), np.float32)]])
    np.testing.assert_array_equal(joined, [[1, 1, 1], [1, 1, 1], [0, 0, 0]])
    (same,) = MeshloomBackend.run_node(onnx.helper.make_node("Equal", ["x", "y"], ["z"]), [WORDS, np.asarray("b")])
    np.testing.assert_array_equal(same, [[False, True, False], [False, False, True]])
