// RUN: meshloom-opt %s -p manycore-outline-subgraphs --check-semantics | filecheck %s
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=fewest-bytes parts=2}' --check-semantics | filecheck %s --check-prefix=LEAST
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=key-nodes at-least=1}' --check-semantics | filecheck %s --check-prefix=KEY
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=weight-bytes weight-bytes=64}' --check-semantics | filecheck %s --check-prefix=WEIGHTS
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=named names=wide,back}' --check-semantics | filecheck %s --check-prefix=HAND
// RUN: meshloom-opt %s -p manycore-outline-subgraphs,manycore-inline-subgraphs --check-semantics | filecheck %s --check-prefix=INLINE
// RUN: not meshloom-opt %s -p 'manycore-outline-subgraphs{rule=named names=wild}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: not meshloom-opt %s -p 'manycore-outline-subgraphs{rule=best}' 2>&1 | filecheck %s --check-prefix=RULE
// RUN: not meshloom-opt %s -p 'manycore-outline-subgraphs{rule=named}' 2>&1 | filecheck %s --check-prefix=NONAMES
// RUN: not meshloom-opt %s -p 'manycore-outline-subgraphs{rule=weight-bytes}' 2>&1 | filecheck %s --check-prefix=NOBYTES
// RUN: not meshloom-opt %s -p 'manycore-outline-subgraphs{rule=key-nodes at-least=0}' 2>&1 | filecheck %s --check-prefix=NONE
// RUN: not meshloom-opt %s -p manycore-outline-subgraphs,manycore-outline-subgraphs 2>&1 | filecheck %s --check-prefix=AGAIN

// NAME:    error: {{.*}}no operator is named 'wild'; the operators are wide, narrow, top, low, both, ...
// RULE:    error: {{.*}}no split rule is named 'best': choose from data-outputs, fewest-bytes, key-nodes, weight-bytes, named
// NONAMES: error: {{.*}}rule named needs operators to cut after: give names=NAME,...
// NOBYTES: error: {{.*}}rule weight-bytes needs a number: give weight-bytes=N
// NONE:    error: {{.*}}at-least = 0 should be at least 1
// AGAIN:   error: {{.*}}@main already has subgraphs: run manycore-inline-subgraphs first

// %join is a result and read on, so the network is cut behind it. The weight stands where it is read, on both sides.
// CHECK:       %[[J:.*]] = manycore.subgraph @"0"(%[[X:.*]] = %x : tensor<2x4xf32>) -> tensor<2x4xf32> {
// CHECK-NEXT:    %w = dataflow.constant
// CHECK-NEXT:    dataflow.matmul %[[X]], %w
// CHECK:         dataflow.broadcast
// CHECK-NEXT:    manycore.yield
// CHECK-NEXT:  }
// CHECK-NEXT:  %[[B:.*]] = manycore.subgraph @"1"(%{{.*}} = %[[J]] : tensor<2x4xf32>) -> tensor<2x4xf32> {
// CHECK-NEXT:    %w = dataflow.constant
// CHECK-NEXT:    dataflow.matmul
// CHECK-NEXT:    dataflow.relu
// CHECK-NEXT:    manycore.yield
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %[[J]], %[[B]]

// Least crosses behind %narrow (2 numbers).
// LEAST:       manycore.subgraph @"0"({{.*}}) -> tensor<2x1xf32> {
// LEAST:         dataflow.reduce sum
// LEAST:       manycore.subgraph @"1"({{.*}} : tensor<2x1xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>)
// LEAST-NOT:   manycore.subgraph

// %top and %low may come in any order; all others are key nodes.
// KEY:         manycore.subgraph @"0"
// KEY-NEXT:      %w = dataflow.constant
// KEY-NEXT:      dataflow.matmul
// KEY-NEXT:      manycore.yield
// KEY:         manycore.subgraph @"1"
// KEY-NEXT:      dataflow.reduce
// KEY-NEXT:      manycore.yield
// KEY:         manycore.subgraph @"2"
// KEY-NEXT:      dataflow.exp
// KEY-NEXT:      dataflow.neg
// KEY-NEXT:      dataflow.add
// KEY-NEXT:      manycore.yield
// KEY:         manycore.subgraph @"3"
// KEY:         manycore.subgraph @"5"

// Each of both products reads 64 bytes of weights.
// WEIGHTS:     manycore.subgraph @"0"
// WEIGHTS:     manycore.subgraph @"1"
// WEIGHTS-NEXT:  %w = dataflow.constant
// WEIGHTS-NEXT:  dataflow.matmul
// WEIGHTS-NOT: manycore.subgraph

// HAND:        manycore.subgraph @"0"
// HAND-NEXT:     %w = dataflow.constant
// HAND-NEXT:     dataflow.matmul
// HAND-NEXT:     manycore.yield
// HAND:        manycore.subgraph @"1"
// HAND:        manycore.subgraph @"2"
// HAND-NEXT:     dataflow.relu
// HAND-NOT:    manycore.subgraph

// INLINE-NOT:  manycore.subgraph
// INLINE:      %wide = dataflow.matmul %x, %w
// INLINE:      func.return %join, %last
func.func @main(%x: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %w = dataflow.constant dense<[[1.0, 2.0, 3.0, 4.0], [0.5, 1.5, 2.5, 3.5], [0.0, 1.0, 0.0, 1.0], [2.0, 0.0, 2.0, 0.0]]> : tensor<4x4xf32>
  %wide = dataflow.matmul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %narrow = dataflow.reduce sum %wide axes [1] : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %top = dataflow.exp %narrow : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %low = dataflow.neg %narrow : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %both = dataflow.add %top, %low : (tensor<2x1xf32>, tensor<2x1xf32>) -> tensor<2x1xf32>
  %join = dataflow.broadcast %both : (tensor<2x1xf32>) -> tensor<2x4xf32>
  %back = dataflow.matmul %join, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %last = dataflow.relu %back : (tensor<2x4xf32>) -> tensor<2x4xf32>
  func.return %join, %last : tensor<2x4xf32>, tensor<2x4xf32>
}
