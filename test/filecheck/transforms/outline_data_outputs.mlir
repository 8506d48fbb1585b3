// The figure of a chain whose nodes 2, 4 and 6 also give results of the network, as a program: these leave the chip at once.
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=data-outputs}' --check-semantics | filecheck %s

// CHECK:       %n2 = manycore.subgraph @"0"
// CHECK-NEXT:    %n1 = dataflow.neg
// CHECK-NEXT:    dataflow.tanh %n1
// CHECK-NEXT:    manycore.yield
// CHECK:       %n4 = manycore.subgraph @"1"
// CHECK-NEXT:    dataflow.matmul
// CHECK-NEXT:    manycore.yield
// CHECK:       %n6 = manycore.subgraph @"2"
// CHECK-NEXT:    dataflow.exp
// CHECK-NEXT:    manycore.yield
// CHECK:       %n8 = manycore.subgraph @"3"
// CHECK-NEXT:    dataflow.tanh
// CHECK-NEXT:    manycore.yield
// CHECK:       func.return %n2, %n4, %n6, %n8

func.func @main(%x: tensor<4x4xf32> {dataflow.name = "x"}) -> (tensor<4x4xf32> {dataflow.name="o3"}, tensor<4x4xf32> {dataflow.name="o5"}, tensor<4x4xf32> {dataflow.name="o7"}, tensor<4x4xf32> {dataflow.name="o9"}) {
  %n1 = dataflow.neg %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %n2 = dataflow.tanh %n1 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %n4 = dataflow.matmul %n2, %n2 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %n6 = dataflow.exp %n4 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %n8 = dataflow.tanh %n6 : (tensor<4x4xf32>) -> tensor<4x4xf32>
  func.return %n2, %n4, %n6, %n8 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
