// Spec 2, figure 2: 1->2; 2->3(out), 2->4; 4->5(out), 4->6; 6->7(out), 6->8; 8->9(out). The targets are 2, 4 and 6, and the
// subgraphs {1, 2, 3}, {4, 5}, {6, 7}, {8, 9}. Results of the network stand for the nodes that only output.

// RUN: meshloom-opt %S/../../data/figure_2.mlir -p 'manycore-outline-subgraphs{rule=data-outputs}' --check-semantics | filecheck %s

// CHECK:      %n2 = manycore.subgraph @"0"
// CHECK-NEXT:   dataflow.neg
// CHECK-NEXT:   dataflow.tanh
// CHECK-NEXT:   manycore.yield
// CHECK:      %n4 = manycore.subgraph @"1"({{.*}} = %n2
// CHECK-NEXT:   dataflow.matmul
// CHECK-NEXT:   manycore.yield
// CHECK:      %n6 = manycore.subgraph @"2"({{.*}} = %n4
// CHECK-NEXT:   dataflow.exp
// CHECK-NEXT:   manycore.yield
// CHECK:      %n8 = manycore.subgraph @"3"({{.*}} = %n6
// CHECK-NEXT:   dataflow.tanh
// CHECK-NEXT:   manycore.yield
// CHECK:      func.return %n2, %n4, %n6, %n8
