"""Known indices beyond an axis are refused by the importer, as by ONNX Runtime; the error names the node."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from meshloom.dialects.dataflow.interpreter import interpret_function
from meshloom.frontend.onnx_import import import_onnx
from meshloom.support.errors import InputError
from numpy.typing import NDArray
from onnx import helper
from reference import model_of, random, run_reference

Array = NDArray[Any]
BEYOND = {
    "gather": ("Gather", (2, 3), [[3]], None, 1),
    "gather_below": ("Gather", (2, 3), [-4], None, 1),
    "gather_from_nothing": ("Gather", (0, 3), [0], None, 0),
    "gather_elements": ("GatherElements", (2, 3), [[0, 3], [0, 0]], None, 1),
    "gather_nd": ("GatherND", (2, 3), [[0, 4]], None, None),
    "gather_nd_from_nothing": ("GatherND", (2, 0), [[1, 0]], None, None),
    "scatter_elements": ("ScatterElements", (2, 3), [[0, 1, 2]], (1, 3), 0),
    "scatter_elements_in_part": ("ScatterElements", (2, 3), [[3], [0]], (2, 1), 1),
    "scatter_nd": ("ScatterND", (2, 3), [[0, 4]], (1,), None),
}
"""Operator, shape of the data, indices, shape of the updates, axis. Some indices are valid in the flattened data."""


@pytest.mark.parametrize("known_data", [False, True], ids=["data_of_an_input", "known_data"])
@pytest.mark.parametrize("case", BEYOND)
def test_index_beyond_an_axis(case: str, known_data: bool) -> None:
    op, shape, indices, updates, axis = BEYOND[case]
    arrays: dict[str, Array] = {"x": random(*shape), "i": np.array(indices, np.int64)}
    if updates is not None:
        arrays["u"] = random(*updates)
    given = {name: array for name, array in arrays.items() if name != "i" and not (known_data and name == "x")}
    constants = {name: array for name, array in arrays.items() if name not in given}
    attributes: dict[str, Any] = {} if axis is None else {"axis": axis}
    model = model_of([helper.make_node(op, [*arrays], ["y"], name="n", **attributes)], given, ["y"], constants)
    with pytest.raises(Exception, match=r"(?i)ind(ex|ice)"):
        run_reference(model, given)
    with pytest.raises(InputError, match=f"operator {op} .*node n: an index is out of range for an axis of size"):
        interpret_function(import_onnx(model), given)
