// Spec 2, S51 to S54, on the four subgraphs of figure 2: {1, 2, 3}, {4, 5}, {6, 7}, {8, 9}; each is one task, and the second has
// all multiply-accumulates, 32 * 32 * 32 = 32,768.

// RUN: meshloom-opt %S/../../data/figure_2.mlir -p 'manycore-outline-subgraphs{rule=data-outputs}' -o %t.mlir
// RUN: meshloom-opt %t.mlir -p 'manycore-fuse-subgraphs{chip=tiny effort=fast strategy=grouped max-tasks=2}' --check-semantics | filecheck %s --check-prefix PAIRS
// RUN: meshloom-opt %t.mlir -p 'manycore-fuse-subgraphs{chip=tiny effort=fast strategy=grouped max-tasks=3 min-macs=1}' | filecheck %s --check-prefix THREE
// RUN: meshloom-opt %t.mlir -p 'manycore-fuse-subgraphs{chip=tiny effort=fast strategy=grouped max-macs=32767}' | filecheck %s --check-prefix LAST
// RUN: meshloom-opt %t.mlir -p 'manycore-fuse-subgraphs{chip=tiny effort=fast strategy=grouped min-weight-bytes=4}' | filecheck %s --check-prefix NONE
// RUN: meshloom-compile %t.mlir --chip tiny --effort fast --fuse grouped,max-tasks=3,min-macs=1 --print-pipeline | filecheck %s --check-prefix LIST
// RUN: not meshloom-opt %t.mlir -p 'manycore-fuse-subgraphs{chip=tiny strategy=pairs max-tasks=2}' 2>&1 | filecheck %s --check-prefix PLAIN
// RUN: not meshloom-opt %t.mlir -p 'manycore-fuse-subgraphs{chip=tiny strategy=grouped min-macs=3 max-macs=2}' 2>&1 | filecheck %s --check-prefix EMPTY
// RUN: not meshloom-opt %t.mlir -p 'manycore-fuse-subgraphs{chip=tiny strategy=grouped min-macs=-1}' 2>&1 | filecheck %s --check-prefix BELOW
// RUN: not meshloom-compile %t.mlir --chip tiny --fuse grouped,most=2 -o %t.mlx 2>&1 | filecheck %s --check-prefix WORD
// RUN: not meshloom-compile %t.mlir --chip tiny --subgraphs whole --fuse pairs -o %t.mlx 2>&1 | filecheck %s --check-prefix WHOLE
// RUN: not meshloom-compile %t.mlir --chip tiny --subgraphs whole --fuse pairs --print-pipeline 2>&1 | filecheck %s --check-prefix WHOLE

// Subgraphs 1 and 2 become one with nodes 1 to 5.
// PAIRS:      manycore.subgraph @"0+1"
// PAIRS-NEXT:   dataflow.neg
// PAIRS-NEXT:   dataflow.tanh
// PAIRS-NEXT:   dataflow.matmul
// PAIRS-NEXT:   manycore.yield
// PAIRS:      manycore.subgraph @"2+3"
// PAIRS-NOT:  manycore.subgraph

// THREE:      manycore.subgraph @"0+2"
// THREE:      manycore.subgraph @"3"
// THREE-NOT:  manycore.subgraph

// Groups with the product are above the bound.
// LAST:       manycore.subgraph @"0"
// LAST:       manycore.subgraph @"1"
// LAST:       manycore.subgraph @"2+3"
// LAST-NOT:   manycore.subgraph

// NONE:       manycore.subgraph @"3"

// LIST:       manycore-fuse-subgraphs{{.*}}min_macs=1 max_tasks=3 {{.*}}strategy="grouped"

// PLAIN: error: {{.*}}max-tasks applies to fusion strategy 'grouped' only, not to 'pairs'
// EMPTY: error: {{.*}}min-macs=3 is above max-macs=2
// BELOW: error: {{.*}}min-macs=-1: expected a number of at least 0
// WORD:  error: --fuse: cannot read 'most=2'; bounds are min-macs, max-macs, min-weight-bytes, max-weight-bytes, min-tasks, max-tasks (numbers)
// WHOLE: error: {{.*}}--subgraphs whole makes one subgraph, so none are fused: leave out --fuse
