"""Strings that are known at import, counts of n-grams, and operators of `ai.onnx.ml`, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator
from reference import Array, check_node, random, run_reference

from meshloom.backend import MeshloomBackend

OPTIONS = settings(deadline=None, max_examples=25, derandomize=True)
STRING = TensorProto.STRING


def model_of_strings(node: onnx.NodeProto, inputs: list[Array], domain: str = "", opset: int = 21) -> onnx.ModelProto:
    """A model of one node; arrays of objects are strings."""
    infos = [
        helper.make_tensor_value_info(
            name, STRING if one.dtype == object else helper.np_dtype_to_tensor_dtype(one.dtype), one.shape
        )
        for name, one in zip(node.input, inputs, strict=True)
    ]
    graph = helper.make_graph(
        [node], "text", infos, [helper.make_empty_tensor_value_info(name) for name in node.output]
    )
    opsets = [helper.make_opsetid("", 21), *([helper.make_opsetid(domain, opset)] if domain else [])]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def onnx_runtime(model: onnx.ModelProto, inputs: dict[str, Array]) -> list[Array]:
    """ONNX Runtime's outputs."""
    return list(run_reference(model, inputs).values())


def onnx_reference(model: onnx.ModelProto, inputs: dict[str, Array]) -> list[Array]:
    """The outputs of ONNX's reference: ONNX Runtime's StringNormalizer needs a locale that not every system has."""
    evaluator: Any = ReferenceEvaluator(model)
    return evaluator.run(None, inputs)


def check_strings(
    node: onnx.NodeProto, inputs: list[Array], domain: str = "", opset: int = 21, run: Any = onnx_runtime
) -> None:
    """Compare the backend's outputs, including strings, with those of another implementation."""
    model = model_of_strings(node, inputs, domain, opset)
    got = MeshloomBackend.run_model(model, inputs)
    given = dict(zip(node.input, inputs, strict=True))
    for one, wanted in zip(got, run(model, given), strict=True):
        assert one.shape == wanted.shape
        assert one.tolist() == wanted.tolist()


def words(*text: str) -> Array:
    """An array of strings."""
    return np.asarray(text, object)


@pytest.mark.parametrize(("action", "sensitive"), [("NONE", 1), ("LOWER", 0), ("LOWER", 1), ("UPPER", 0), ("UPPER", 1)])
@pytest.mark.parametrize("stops", [[], ["tuesday"], ["monday", "tuesday"]])
def test_string_normalizer(action: str, sensitive: int, stops: list[str]) -> None:
    attributes: dict[str, Any] = {"stopwords": stops} if stops else {}
    node = helper.make_node(
        "StringNormalizer", ["x"], ["y"], case_change_action=action, is_case_sensitive=sensitive, **attributes
    )
    check_strings(node, [words("Monday", "tuesday", "Emile", "tuesday")], run=onnx_reference)


@pytest.mark.parametrize(("sensitive", "left"), [(0, ["b"]), (1, ["ALPHA", "b"])])
def test_stop_words_in_another_case(sensitive: int, left: list[str]) -> None:
    node = helper.make_node("StringNormalizer", ["x"], ["y"], stopwords=["Alpha"], is_case_sensitive=sensitive)
    x = words("ALPHA", "Alpha", "b")
    assert MeshloomBackend.run_model(model_of_strings(node, [x]), [x])[0].tolist() == left


def test_string_normalizer_of_stop_words_alone() -> None:
    node = helper.make_node("StringNormalizer", ["x"], ["y"], stopwords=["a"], is_case_sensitive=1)
    check_strings(node, [words("a", "a").reshape(1, 2)], run=onnx_reference)


def test_string_concat() -> None:
    node = helper.make_node("StringConcat", ["x", "y"], ["z"])
    check_strings(node, [words("a", "", "ü").reshape(3, 1), words(".com", "1")])


@pytest.mark.parametrize("delimiter", [None, "", ",", "ab"])
@pytest.mark.parametrize("most", [None, 1])
def test_string_split(delimiter: str | None, most: int | None) -> None:
    attributes: dict[str, Any] = {
        name: value for name, value in (("delimiter", delimiter), ("maxsplit", most)) if value is not None
    }
    node = helper.make_node("StringSplit", ["x"], ["y", "z"], **attributes)
    check_strings(node, [words("a,b c", " xabyabz ", "", "one").reshape(2, 2)])


def test_regex_full_match() -> None:
    node = helper.make_node("RegexFullMatch", ["x"], ["y"], pattern=r"[a-z]+\d?")
    check_strings(node, [words("abc1", "abc12", "", "ABC")])


def test_operators_on_strings_of_inputs_are_refused() -> None:
    node = helper.make_node("StringConcat", ["x", "y"], ["z"], name="join")
    model = model_of_strings(node, [words("a"), words("b")])
    with pytest.raises(InputError, match="executables have tensors of numbers only"):
        import_onnx(model)


@OPTIONS
@given(
    mode=st.sampled_from(["TF", "IDF", "TFIDF"]),
    batch=st.sampled_from([None, 1, 3]),
    lengths=st.sampled_from([(1, 1), (1, 2), (2, 2), (2, 3), (1, 3)]),
    skip=st.integers(0, 3),
    weighted=st.booleans(),
    dtype=st.sampled_from([np.int32, np.int64]),
    seed=st.integers(0, 99),
)
def test_tf_idf_vectorizer(
    mode: str, batch: int | None, lengths: tuple[int, int], skip: int, weighted: bool, dtype: Any, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    x = rng.integers(1, 5, (9,) if batch is None else (batch, 9)).astype(dtype)
    # Distinct n-grams of one, two and three elements.
    grams = [rng.permutation(np.stack(np.meshgrid(*[np.arange(1, 5)] * n), -1).reshape(-1, n))[:3] for n in (1, 2, 3)]
    attributes: dict[str, Any] = {"weights": rng.uniform(0.5, 2, 9).tolist()} if weighted else {}
    check_node(
        "TfIdfVectorizer",
        [x],
        mode=mode,
        min_gram_length=lengths[0],
        max_gram_length=lengths[1],
        max_skip_count=skip,
        ngram_counts=[0, 3, 9],
        ngram_indexes=rng.permutation(9).tolist(),
        pool_int64s=np.concatenate([one.reshape(-1) for one in grams]).tolist(),
        **attributes,
    )


def test_n_grams_of_strings() -> None:
    node = helper.make_node(
        "TfIdfVectorizer",
        ["x"],
        ["y"],
        mode="TF",
        min_gram_length=1,
        max_gram_length=2,
        max_skip_count=1,
        ngram_counts=[0, 2],
        ngram_indexes=[0, 1, 2],
        pool_strings=["a", "longer", "a", "b"],
    )
    check_strings(node, [words("a", "b", "a", "longer", "b")])


ML = "ai.onnx.ml"


@pytest.mark.parametrize("threshold", [0.0, 0.4])
def test_binarizer(threshold: float) -> None:
    check_node("Binarizer", [random(3, 4)], domain=ML, threshold=threshold)


@pytest.mark.parametrize("shape", [(5,), (3, 5), (2, 3, 5)])
def test_array_feature_extractor(shape: tuple[int, ...]) -> None:
    check_node("ArrayFeatureExtractor", [random(*shape)], {1: np.asarray([4, 0, 4])}, domain=ML)


@pytest.mark.parametrize(
    ("keys", "values", "default"),
    [
        ({"keys_int64s": [1, 2, 7]}, {"values_floats": [0.5, 1.5, 2.5]}, {}),
        ({"keys_int64s": [1, 2, 7]}, {"values_int64s": [3, 4, 5]}, {"default_int64": 9}),
        ({"keys_int64s": [1, 2, 7]}, {"values_strings": ["one", "two", "seven"]}, {}),
        ({"keys_strings": ["a", "bee"]}, {"values_int64s": [3, 4]}, {}),
        ({"keys_strings": ["a", "bee"]}, {"values_floats": [3.5, 4.5]}, {"default_float": 0.25}),
        ({"keys_strings": ["a", "bee"]}, {"values_strings": ["A", "B"]}, {"default_string": "none"}),
    ],
)
def test_label_encoder(keys: dict[str, Any], values: dict[str, Any], default: dict[str, Any]) -> None:
    x = words("bee", "c", "a") if "keys_strings" in keys else np.asarray([7, 3, 1])
    node = helper.make_node("LabelEncoder", ["x"], ["y"], domain=ML, **keys, **values, **default)
    check_strings(node, [x], ML, 4)
