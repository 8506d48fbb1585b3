// The figure of two diamonds in a row, as a program: %k1, %k2 and %k3 are key nodes.
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=key-nodes}' --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=key-nodes span=2}' --check-semantics | filecheck %s --check-prefix=SPAN

// CHECK:       manycore.subgraph @"0"
// CHECK-NEXT:    %k1 = dataflow.neg
// CHECK-NEXT:    %a = dataflow.tanh
// CHECK-NEXT:    %b = dataflow.exp
// CHECK-NEXT:    %[[K:k2.*]] = dataflow.add
// CHECK-NEXT:    manycore.yield %[[K]]
// CHECK:       manycore.subgraph @"1"
// CHECK-NEXT:    %c = dataflow.tanh
// CHECK-NEXT:    %d = dataflow.exp
// CHECK-NEXT:    %[[K:k3.*]] = dataflow.sub
// CHECK-NEXT:    manycore.yield %[[K]]
// CHECK-NOT:   manycore.subgraph

// SPAN:        manycore.subgraph @"0"
// SPAN:          dataflow.sub
// SPAN-NOT:    manycore.subgraph

func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %k1 = dataflow.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %a = dataflow.tanh %k1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %b = dataflow.exp %k1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %k2 = dataflow.add %a, %b : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %c = dataflow.tanh %k2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %d = dataflow.exp %k2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %k3 = dataflow.sub %c, %d : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  func.return %k3 : tensor<4x8xf32>
}
