"""Property tests of tensors encoded at run time and of encoded inputs, in the emulator, against NumPy."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from meshloom.analysis.execution.interpret import run_main
from meshloom.dialects.coreasm.isa import MNEMONICS
from meshloom.lowering.ir.module_text import module_of_text
from meshloom.tools.api import CompiledNetwork
from numpy.typing import NDArray

import meshloom

Array = NDArray[Any]
DATA = Path(__file__).parents[2] / "data/sparse"


def compiled(text: str, chip: str = "tiny") -> CompiledNetwork:
    return meshloom.compile(module_of_text(text), chip=chip, effort="fast")


def executed(network: CompiledNetwork) -> list[str]:
    """The mnemonics in the programs of an executable, each once."""
    words = np.concatenate([program.words["op"] for program in network.executable.programs])
    found = {MNEMONICS[int(op)] for op in np.unique(words)}
    return sorted(found - {"halt", "nop"})


@dataclass(frozen=True)
class Index:
    """An index: its text in the IR, and the elements of a tensor that it stores."""

    kind: str = "direct"
    order: str = "output"
    axis: int = 0
    threshold: float = 0.0
    group: int = 1

    def type(self, shape: tuple[int, ...], element: str = "f32") -> str:
        sizes = "x".join(map(str, shape))
        text = f"{self.kind}, order = {self.order}, axis = {self.axis}, threshold = {self.threshold}"
        return f"tensor<{sizes}x{element}, #sparse.index<{text}, group = {self.group}>>"

    def keeps(self, values: Array) -> Array:
        """The mask of stored elements: whole groups along fibers in which an element is above the threshold."""
        mask = np.abs(values.astype(np.float64)) > self.threshold
        rows = np.moveaxis(mask, self.axis, 0).reshape(mask.shape[self.axis], -1)
        rows = (rows if self.order == "output" else rows.T).copy()
        for row in rows:
            for start in range(0, len(row), self.group):
                row[start : start + self.group] = row[start : start + self.group].any()
        rows = rows if self.order == "output" else rows.T
        others = mask.shape[: self.axis] + mask.shape[self.axis + 1 :]
        return np.moveaxis(rows.reshape(mask.shape[self.axis], *others), 0, self.axis)

    def of(self, values: Array) -> Array:
        return np.where(self.keeps(values), values, values.dtype.type(0))


KINDS = ("direct", "stride, bits = 2", "stride, bits = 3", "stride, bits = 8")


@st.composite
def indices(draw: st.DrawFn, shape: tuple[int, ...]) -> Index:
    """A random index for tensors of the given shape."""
    kind, axis = draw(st.sampled_from(KINDS)), draw(st.integers(0, len(shape) - 1))
    order = draw(st.sampled_from(["output", "input"])) if kind == "direct" else "output"
    length = int(np.prod(shape)) // shape[axis] if order == "output" else shape[axis]
    group = draw(st.integers(1, min(3, length)))
    return Index(kind, order, axis, draw(st.sampled_from([0.0, 1.5, 2.0])), group)


def whole_numbers(seed: int, shape: tuple[int, ...], density: float) -> Array:
    """Integers whose products and sums are exact in f32."""
    rng = np.random.default_rng(seed)
    signs = np.where(rng.random(shape) < 0.5, -1, 1)
    return (rng.integers(1, 5, shape) * signs * (rng.random(shape) < density)).astype(np.float32)


densities = st.sampled_from([0.0, 0.1, 0.5, 1.0])


@given(st.data())
@settings(max_examples=25, deadline=None)
def test_products_of_random_operands(data: st.DataObject) -> None:
    """Products of neurons and weights, one or both encoded in any way, equal NumPy's product of the stored elements."""
    m, k, n = (data.draw(st.integers(1, high)) for high in (20, 40, 20))
    flags = data.draw(st.booleans()), data.draw(st.booleans())
    shapes = ((k, m) if flags[0] else (m, k)), ((n, k) if flags[1] else (k, n))
    which = data.draw(st.sampled_from([(True, True), (True, False), (False, True)]))
    index = [data.draw(indices(shape)) if encoded else None for shape, encoded in zip(shapes, which, strict=True)]
    as_arguments = data.draw(st.booleans())
    arguments: list[str] = []
    body: list[str] = []
    types: list[str] = []
    for name, shape, one in zip("xw", shapes, index, strict=True):
        dense = f"tensor<{shape[0]}x{shape[1]}xf32>"
        types.append(dense if one is None else one.type(shape))
        given_type = types[-1] if as_arguments else dense
        arguments.append(f'%{name}: {given_type} {{dataflow.name = "{name}"}}')
        if one is not None and not as_arguments:
            body.append(f"%{name}e = sparse.encode %{name} : {dense} -> {types[-1]}")
    names = [f"%{name}" + ("e" if one and not as_arguments else "") for name, one in zip("xw", index, strict=True)]
    suffix = "".join(f" transpose_{side}" for side, flag in zip("ab", flags, strict=True) if flag)
    text = f"""
        func.func @main({", ".join(arguments)}) -> (tensor<{m}x{n}xf32> {{dataflow.name = "y"}}) {{
          {chr(10).join(body)}
          %y = sparse.matmul {", ".join(names)}{suffix} : ({", ".join(types)}) -> tensor<{m}x{n}xf32>
          func.return %y : tensor<{m}x{n}xf32>
        }}"""
    values = [whole_numbers(data.draw(st.integers(0, 99)), shape, data.draw(densities)) for shape in shapes]
    kept = [array if one is None else one.of(array) for array, one in zip(values, index, strict=True)]
    want = (kept[0].T if flags[0] else kept[0]) @ (kept[1].T if flags[1] else kept[1])
    inputs = dict(zip("xw", values, strict=True))
    assert np.array_equal(run_main(module_of_text(text), inputs)["y"], want)
    network = compiled(text)
    assert np.array_equal(network.run(inputs, check=True).outputs["y"], want)
    assert "encode" in executed(network) or as_arguments
    assert not {"le", "ge", "select"} & set(executed(network)), "no masks"


@given(st.data())
@settings(max_examples=20, deadline=None)
def test_connections_of_random_operands(data: st.DataObject) -> None:
    """Combined connections of two tensors, and a third tensor compacted by them, equal NumPy's, for any index."""
    rank = data.draw(st.integers(1, 3))
    shape = tuple(data.draw(st.integers(1, (40, 12, 5)[rank - 1])) for _ in range(rank))
    first, second, result = (data.draw(indices(shape)) for _ in range(3))
    sizes = "x".join(map(str, shape))
    dense, bits = f"tensor<{sizes}xf32>", f"tensor<{sizes}xi1>"
    text = f"""
        func.func @main(%a: {dense} {{dataflow.name = "a"}}, %b: {second.type(shape, "i1")} {{dataflow.name = "b"}},
            %x: {dense} {{dataflow.name = "x"}})
            -> ({bits} {{dataflow.name = "both"}}, {result.type(shape)} {{dataflow.name = "kept"}}) {{
          %ae = sparse.encode %a : {dense} -> {first.type(shape)}
          %ac = sparse.connections %ae : {first.type(shape)} -> {first.type(shape, "i1")}
          %c = sparse.combine %ac, %b
              : {first.type(shape, "i1")}, {second.type(shape, "i1")} -> {result.type(shape, "i1")}
          %d = sparse.decode %c : {result.type(shape, "i1")} -> {bits}
          %k = sparse.compact %x by %c : {dense}, {result.type(shape, "i1")} -> {result.type(shape)}
          func.return %d, %k : {bits}, {result.type(shape)}
        }}"""
    seeds = [data.draw(st.integers(0, 99)) for _ in range(3)]
    a, b, x = (whole_numbers(seed, shape, data.draw(densities)) for seed in seeds)
    # In connection data, true elements are stored, in whole groups if the index has groups.
    groups = Index(second.kind, second.order, second.axis, 0.0, second.group)
    both = first.keeps(a) & groups.keeps(b)
    anew = Index(result.kind, result.order, result.axis, 0.0, result.group)
    inputs = {"a": a, "b": b != 0, "x": x}
    expected = run_main(module_of_text(text), inputs)
    network = compiled(text)
    found = network.run(inputs, check=True)
    assert np.array_equal(found.outputs["kept"], np.where(anew.keeps(both), x, np.float32(0)))
    for name, value in expected.items():
        assert np.array_equal(found.outputs[name], value), name
    assert {"encode", "connect", "combine", "compact"} <= set(executed(network))
    assert found.encoded["kept"].format.group == result.group
