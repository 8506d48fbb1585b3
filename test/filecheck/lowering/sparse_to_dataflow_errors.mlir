// What no dense operation computes: the error shows the line.
// RUN: not meshloom-opt %s -p sparse-to-dataflow 2>&1 | filecheck %s
// RUN: sed 's/group = 2/group = 1/g; s/groups 3/groups 4/' %s | not meshloom-opt -p sparse-to-dataflow 2>&1 | filecheck %s --check-prefix=SIZE
// RUN: sed 's/-> (tensor<2x4xf32>, .*{/-> (tensor<2x4xf32, #sparse.index<direct, threshold = 0.5, group = 2>>, tensor<2x3xf32>) {/; s/return %1, %2 : tensor<2x4xf32>/return %0, %2 : tensor<2x4xf32, #sparse.index<direct, threshold = 0.5, group = 2>>/' %s | not meshloom-opt -p sparse-to-dataflow 2>&1 | filecheck %s --check-prefix=INTERFACE

// CHECK:      sparse_to_dataflow_errors.mlir:12:8: error: pass 'sparse-to-dataflow': tensor<2x4xf32> is encoded in groups of 2 above a threshold at run time, which no dense operation does: run sparse-pack{chip=NAME} first
// CHECK-NEXT: {{^}}  %0 = sparse.encode %x
// SIZE:       14:8: error: pass 'sparse-to-dataflow': sparse.prune_groups cuts 6 elements into 4 groups at run time: expected groups of equal size
// SIZE-NEXT:  {{^}}  %2 = sparse.prune_groups %z
// INTERFACE:  11:1: error: pass 'sparse-to-dataflow': function @main has encoded arguments or results: run sparse-pack{chip=NAME} first, which converts them to bytes
func.func @main(%x: tensor<2x4xf32>, %z: tensor<2x3xf32>) -> (tensor<2x4xf32>, tensor<2x3xf32>) {
  %0 = sparse.encode %x : tensor<2x4xf32> -> tensor<2x4xf32, #sparse.index<direct, threshold = 0.5, group = 2>>
  %1 = sparse.decode %0 : tensor<2x4xf32, #sparse.index<direct, threshold = 0.5, group = 2>> -> tensor<2x4xf32>
  %2 = sparse.prune_groups %z groups 3 threshold 0.5 limit 1 : tensor<2x3xf32>
  func.return %1, %2 : tensor<2x4xf32>, tensor<2x3xf32>
}
