"""
ONNX's own backend suite on the emulated chip: the score of the node cases by tier of operators, as JSON.

    python bench/onnx_suite.py [--tiers 1,2] [--match REGEX] [--failures]

A case counts as passed only if the outputs are right and the emulator took cycles for them. Of random numbers, type,
shape and range are compared: the suite has those of numpy's generator. Cases whose operators all belong to tiers up to
the highest one asked for are scored; a tier includes those before it, tier 7 is all operators.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import sys
import warnings
from collections import Counter
from collections.abc import Sequence
from types import FrameType
from typing import Any, cast

import numpy as np
import onnx
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests
from onnx.backend.test.runner import BackendIsNotSupposedToImplementIt, Runner

from meshloom.backend import MeshloomBackend

TIERS = {
    1: "Conv Relu MaxPool AveragePool GlobalAveragePool BatchNormalization Gemm MatMul Add Sum Mul Concat Reshape "
    "Flatten Transpose Softmax LRN Dropout Unsqueeze ConstantOfShape Constant Identity Clip Sigmoid Pad",
    2: "Sub Div Sqrt Pow ReduceMean LayerNormalization Erf Gelu Tanh Gather Slice Split Squeeze Expand Where Equal "
    "Cast Neg Exp Reciprocal Greater Softplus IsNaN GatherElements Shape Range And Not",
    3: "ReduceSum LogSoftmax ScatterElements ScatterND ConvTranspose LessOrEqual GreaterOrEqual Less Log Or Max Min "
    "ReduceMax SoftmaxCrossEntropyLoss NegativeLogLikelihoodLoss",
    4: "HardSigmoid HardSwish LeakyRelu PRelu Resize GlobalMaxPool Floor Abs ReduceProd ReduceMin Sin Cos Einsum "
    "ArgMax TopK Tile CumSum Elu Selu Mish InstanceNormalization GroupNormalization DepthToSpace SpaceToDepth",
    5: "QuantizeLinear DequantizeLinear QLinearConv QLinearMatMul MatMulInteger ConvInteger DynamicQuantizeLinear",
    6: "LSTM GRU RNN If Loop Scan Size ReverseSequence GatherND NonZero CastLike",
}
REST = max(TIERS) + 1
"""All other operators."""
SECONDS = 60
"""Time limit of one case."""


class CaseTimeout(Exception):
    """The time limit of a case was exceeded."""


def _alarm(number: int, frame: FrameType | None) -> None:
    raise CaseTimeout(f"over {SECONDS} s")


def arrays(values: Sequence[Any]) -> list[Any]:
    """The values of a case, arrays or protobuf tensors, as numpy arrays."""
    return [numpy_helper.to_array(value) if isinstance(value, onnx.TensorProto) else value for value in values]


RANDOM = {"Bernoulli", "RandomUniformLike"}


def compare_random(expected: Sequence[Any], got: Sequence[Any]) -> None:
    """Compare type, shape and range of outputs of 0 and 1."""
    for wanted, value in zip(expected, got, strict=True):
        assert (value.dtype, value.shape) == (wanted.dtype, wanted.shape), f"{value.dtype} of shape {value.shape}"
        assert set(np.unique(value).tolist()) == {0, 1}, "other elements than 0 and 1"


def compare(expected: Sequence[Any], got: Sequence[Any], case: Any) -> None:
    """Compare outputs as the suite does; it takes the items of sequences for sequences themselves, so one by one."""
    assert len(expected) == len(got), f"{len(got)} values, expected {len(expected)}"
    for wanted, value in zip(expected, got, strict=True):
        if isinstance(wanted, list) and isinstance(value, list):
            compare(cast("list[Any]", wanted), cast("list[Any]", value), case)
        else:
            Runner.assert_similar_outputs([wanted], [value], rtol=case.rtol, atol=case.atol)


def run_case(case: Any) -> tuple[str, str]:
    """Status (pass, fail, no-cycles, unsupported, error, timeout) of a case and the message."""
    signal.signal(signal.SIGALRM, _alarm)
    signal.alarm(SECONDS)
    try:
        program = MeshloomBackend.prepare(case.model)
        cycles: list[int] = []
        for given, wanted in case.data_sets:
            inputs, expected = arrays(given), arrays(wanted)
            got = list(program.run(inputs))
            cycles.append(program.cycles)
            if {node.op_type for node in case.model.graph.node} & RANDOM:
                compare_random(expected, got)
            else:
                compare(expected, got, case)
        return ("pass", "") if min(cycles) > 0 else ("no-cycles", "the emulator had nothing to do")
    except BackendIsNotSupposedToImplementIt as error:
        return "unsupported", str(error)
    except AssertionError as error:
        return "fail", str(error)
    except CaseTimeout as error:
        return "timeout", str(error)
    except Exception as error:
        return "error", f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)


def main() -> int:
    """Print the score; 1 if a case did not pass."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tiers", default="1,2", help="comma-separated, default 1,2")
    parser.add_argument("--match", default="", help="only cases whose names match this regular expression")
    parser.add_argument("--failures", action="store_true", help="one JSON line for each case that does not pass")
    options = parser.parse_args()
    np.random.seed(0)  # the suite's data come from numpy's global generator
    warnings.simplefilter("ignore")
    known: set[str] = set()
    wanted: dict[str, int] = {}
    cases: list[Any] = load_model_tests(kind="node")
    for tier in range(1, max(int(t) for t in options.tiers.split(",")) + 1):
        known |= set(TIERS.get(tier, "").split())
        for case in cases:
            known_all = tier >= REST or {node.op_type for node in case.model.graph.node} <= known
            if known_all and re.search(options.match, case.name):
                wanted.setdefault(case.name, tier)
    scores: dict[int, Counter[str]] = {}
    for case in cases:
        if (tier := wanted.get(case.name)) is None:
            continue
        status, message = run_case(case)
        scores.setdefault(tier, Counter())[status] += 1
        if options.failures and status != "pass":
            print(json.dumps({"case": case.name, "status": status, "message": " ".join(message.split())[:200]}))
    total = sum(scores.values(), Counter[str]())
    table = {f"tier_{tier}": dict(counts) for tier, counts in sorted(scores.items())}
    print(json.dumps({"suite": "onnx node cases", "onnx": onnx.__version__, **table, "total": dict(total)}))
    return int(total["pass"] != total.total())


if __name__ == "__main__":
    sys.exit(main())
