"""Rewrites that stay on one level, one pass a file. `PASSES` is the table that the tools read."""

PASSES: dict[str, str] = {
    "dataflow-fold-affine": "dataflow_fold_affine:DataflowFoldAffinePass",
    "manycore-tile": "manycore_tile:ManycoreTilePass",
}
"""Pass name -> `module:Class`, the module relative to this package. Modules are imported when a pass is asked for."""
