"""Rewrites that stay on one level, one pass a file. `PASSES` is the table that the tools read."""

PASSES: dict[str, str] = {
    "coreasm-pack": "coreasm_pack:CoreasmPackPass",
    "coreasm-unpack": "coreasm_unpack:CoreasmUnpackPass",
    "dataflow-differentiate": "dataflow_differentiate:DataflowDifferentiatePass",
    "dataflow-fold-affine": "dataflow_fold_affine:DataflowFoldAffinePass",
    "dataflow-merge-constants": "dataflow_merge_constants:DataflowMergeConstantsPass",
    "dataflow-prune": "dataflow_prune:DataflowPrunePass",
    "dataflow-remove-zero-channels": "dataflow_remove_zero_channels:DataflowRemoveZeroChannelsPass",
    "dataflow-split-frames": "dataflow_split_frames:DataflowSplitFramesPass",
    "dataflow-split-to-fit": "dataflow_split_to_fit:DataflowSplitToFitPass",
    "dataflow-unroll-loops": "dataflow_unroll_loops:DataflowUnrollLoopsPass",
    "manycore-inline-subgraphs": "manycore_inline_subgraphs:ManycoreInlineSubgraphsPass",
    "manycore-outline-subgraphs": "manycore_outline_subgraphs:ManycoreOutlineSubgraphsPass",
    "manycore-place": "manycore_place:ManycorePlacePass",
    "manycore-split-reductions": "manycore_split_reductions:ManycoreSplitReductionsPass",
    "manycore-prefetch": "manycore_prefetch:ManycorePrefetchPass",
    "manycore-schedule": "manycore_schedule:ManycoreSchedulePass",
    "manycore-tile": "manycore_tile:ManycoreTilePass",
    "sparse-balance-lanes": "sparse_balance_lanes:SparseBalanceLanesPass",
    "sparse-encode-stored": "sparse_encode_stored:SparseEncodeStoredPass",
    "sparse-pack": "sparse_pack:SparsePackPass",
    "sparse-prune-groups": "sparse_prune_groups:SparsePruneGroupsPass",
    "sparse-select-encoding": "sparse_select_encoding:SparseSelectEncodingPass",
    "sparse-split-inputs": "sparse_split_inputs:SparseSplitInputsPass",
    "sparse-store-parameters": "sparse_store_parameters:SparseStoreParametersPass",
}
"""Pass name -> `module:Class`, the module relative to this package. Modules are imported when a pass is asked for."""
