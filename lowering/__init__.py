"""
Conversions between levels, the passes that search for fast variants, and code generation. The tools read the passes
from `PASSES`.
"""

PASSES: dict[str, str] = {
    "dataflow-to-manycore": "dataflow_to_manycore:DataflowToManycorePass",
    "manycore-autotune": "manycore_autotune:ManycoreAutotunePass",
    "manycore-cut-stages": "driver.manycore_cut_stages:ManycoreCutStagesPass",
    "manycore-fuse-subgraphs": "manycore_fuse_subgraphs:ManycoreFuseSubgraphsPass",
    "manycore-outline-to-fit": "manycore_outline_to_fit:ManycoreOutlineToFitPass",
    "manycore-to-memory": "manycore_to_memory:ManycoreToMemoryPass",
    "memory-insert-offload": "memory_insert_offload:MemoryInsertOffloadPass",
    "meshloom": "driver.meshloom_pass:MeshloomPass",
    "memory-to-coreasm": "memory_to_coreasm:MemoryToCoreasmPass",
    "sparse-encode-if-faster": "driver.sparse_encode_if_faster:SparseEncodeIfFasterPass",
    "sparse-to-dataflow": "sparse_to_dataflow:SparseToDataflowPass",
}
"""Pass name -> `module:Class`, the module relative to this package. Modules are imported when a pass is asked for."""
