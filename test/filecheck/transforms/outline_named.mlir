// Spec 2, S31: a split where the user says. Figure 2 behind nodes 2 and 6.

// RUN: meshloom-opt %S/../../data/figure_2.mlir -p 'manycore-outline-subgraphs{rule=named names=n2,n6}' --check-semantics | filecheck %s

// CHECK:      manycore.subgraph @"0"
// CHECK-NEXT:   dataflow.neg
// CHECK-NEXT:   dataflow.tanh
// CHECK-NEXT:   manycore.yield
// CHECK:      manycore.subgraph @"1"
// CHECK-NEXT:   dataflow.matmul
// CHECK-NEXT:   dataflow.exp
// CHECK-NEXT:   manycore.yield
// CHECK:      manycore.subgraph @"2"
// CHECK-NEXT:   dataflow.tanh
// CHECK-NEXT:   manycore.yield
// CHECK-NOT:  manycore.subgraph
