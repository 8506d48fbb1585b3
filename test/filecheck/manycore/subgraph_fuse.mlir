// Two subgraphs that fit as one: `auto` joins those that were cut off to fit (`to_fit`), and leaves a user's as they are,
// which another strategy joins.

// RUN: meshloom-opt %s -p 'manycore-fuse-subgraphs{chip=tiny}' --check-semantics | filecheck %s --check-prefix KEPT
// RUN: meshloom-opt %s -p 'manycore-fuse-subgraphs{chip=tiny strategy=pairs}' --check-semantics | filecheck %s --check-prefix ONE
// RUN: meshloom-opt %s -p 'manycore-fuse-subgraphs{chip=tiny effort=fast strategy=optimal}' | filecheck %s --check-prefix ONE
// RUN: sed 's/tensor<4x8xf32> {$/tensor<4x8xf32> to_fit {/; /func.func/s/ to_fit//' %s > %t.mlir
// RUN: meshloom-opt %t.mlir | filecheck %s --check-prefix MARKED
// RUN: meshloom-opt %t.mlir -p 'manycore-fuse-subgraphs{chip=tiny}' | filecheck %s --check-prefix ONE
// RUN: meshloom-compile %t.mlir --chip tiny -q -o %t.marked.mlx
// RUN: meshloom-compile %s --chip tiny -q --fuse pairs -o %t.pairs.mlx
// RUN: diff %t.marked.mlx %t.pairs.mlx
// RUN: meshloom-opt %t.mlir -p 'manycore-fuse-subgraphs{chip=tiny strategy=none}' | filecheck %s --check-prefix KEPT
// RUN: sed 's/4x8/4096x4096/g' %s > %t.large.mlir
// RUN: not meshloom-opt %t.large.mlir -p 'manycore-fuse-subgraphs{chip=tiny strategy=pairs}' 2>&1 | filecheck %s --check-prefix LARGE
// RUN: sed -e '/= dataflow/d' -e 's/yield %%0/yield %%a/' %s > %t.empty.mlir
// RUN: meshloom-opt %t.empty.mlir -p 'manycore-fuse-subgraphs{chip=tiny strategy=pairs}' | filecheck %s --check-prefix EMPTY
// RUN: meshloom-opt %t.empty.mlir -p 'manycore-outline-to-fit{chip=tiny}' | filecheck %s --check-prefix EMPTY
// RUN: not meshloom-opt %s -p 'manycore-fuse-subgraphs{chip=tiny strategy=best}' 2>&1 | filecheck %s --check-prefix STRATEGY

// KEPT:     manycore.subgraph @"1"({{.*}}) -> tensor<4x8xf32> {
// KEPT:     manycore.subgraph @"2"({{.*}}) -> tensor<4x8xf32> {
// MARKED:   manycore.subgraph @"1"({{.*}}) -> tensor<4x8xf32> to_fit {
// MARKED:   manycore.subgraph @"2"({{.*}}) -> tensor<4x8xf32> to_fit {
// ONE-NOT:  manycore.subgraph
// ONE:      dataflow.add
// ONE-NEXT: dataflow.relu
// ONE-NEXT: func.return
// EMPTY:         func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
// EMPTY-NEXT:    func.return %x
// LARGE:    error: {{.*}}subgraph @1 does not compile for chip 'tiny', see manycore-outline-to-fit: needs
// STRATEGY: error: {{.*}}no fusion strategy is named 'best': choose from auto, none
func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %sum = manycore.subgraph @"1"(%a = %x : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = dataflow.add %a, %a : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
  %positive = manycore.subgraph @"2"(%a = %sum : tensor<4x8xf32>) -> tensor<4x8xf32> {
    %0 = dataflow.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    manycore.yield %0 : tensor<4x8xf32>
  }
  func.return %positive : tensor<4x8xf32>
}
