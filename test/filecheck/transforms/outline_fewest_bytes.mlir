// Spec 2, the next configured rule: figure 2 without its outputs on the way, so that there is no target node. The default
// cuts where the fewest bytes cross: behind node 4, which sums rows (8 numbers), not behind nodes of 64 numbers.

// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{parts=2}' --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=data-outputs}' | filecheck %s --check-prefix=WHOLE

// CHECK:      %n4 = manycore.subgraph @"0"({{.*}}) -> tensor<8x1xf32> {
// CHECK-NEXT:   dataflow.neg
// CHECK-NEXT:   dataflow.tanh
// CHECK-NEXT:   dataflow.reduce sum
// CHECK-NEXT:   manycore.yield
// CHECK:      manycore.subgraph @"1"({{.*}} = %n4 : tensor<8x1xf32>)
// CHECK-NEXT:   dataflow.broadcast
// CHECK-NEXT:   dataflow.tanh
// CHECK-NEXT:   manycore.yield
// CHECK-NOT:  manycore.subgraph

// WHOLE:      manycore.subgraph @"0"
// WHOLE-NOT:  manycore.subgraph
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %n1 = dataflow.neg %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %n2 = dataflow.tanh %n1 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %n4 = dataflow.reduce sum %n2 axes [1] : (tensor<8x8xf32>) -> tensor<8x1xf32>
  %n6 = dataflow.broadcast %n4 : (tensor<8x1xf32>) -> tensor<8x8xf32>
  %n8 = dataflow.tanh %n6 : (tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %n8 : tensor<8x8xf32>
}
