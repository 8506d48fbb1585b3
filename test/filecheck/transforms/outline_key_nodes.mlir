// Spec 3, figure 4: two diamonds in a row, key nodes k1, k2 and k3. Box 1 spans two adjacent key nodes, box 2 spans three.
// Branches are products: operators without any would count as loose (see analysis/subgraphs/deferrable_nodes.py).

// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=key-nodes}' --check-semantics | filecheck %s --check-prefix=BOX1
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=key-nodes span=2}' --check-semantics | filecheck %s --check-prefix=BOX2

// BOX1:      %k2 = manycore.subgraph @"0"({{.*}} = %x
// BOX1-NEXT:   %k1 = dataflow.neg
// BOX1-NEXT:   %a = dataflow.matmul %k1, %k1
// BOX1-NEXT:   %b = dataflow.matmul %k1, %k1
// BOX1-NEXT:   dataflow.add %a, %b
// BOX1-NEXT:   manycore.yield
// BOX1:      %k3 = manycore.subgraph @"1"({{.*}} = %k2
// BOX1-NEXT:   dataflow.matmul
// BOX1-NEXT:   dataflow.matmul
// BOX1-NEXT:   dataflow.add
// BOX1-NEXT:   manycore.yield
// BOX1-NOT:  manycore.subgraph
// BOX1:      func.return %k3

// BOX2:      %k3 = manycore.subgraph @"0"({{.*}} = %x
// BOX2-NOT:  manycore.subgraph
// BOX2:      func.return %k3
func.func @main(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %k1 = dataflow.neg %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %a = dataflow.matmul %k1, %k1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = dataflow.matmul %k1, %k1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %k2 = dataflow.add %a, %b : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %c = dataflow.matmul %k2, %k2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = dataflow.matmul %k2, %k2 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %k3 = dataflow.add %c, %d : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  func.return %k3 : tensor<8x8xf32>
}
