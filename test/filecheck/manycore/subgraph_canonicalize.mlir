// RUN: meshloom-opt %s -p canonicalize --check-semantics | filecheck %s

// An operand given twice is given once, an unused one goes, constants move in; results: %e is not read, %t repeats %s,
// %p is an operand that is only passed on. What is said of %s stays.
// CHECK-LABEL: @main
// CHECK-NEXT:  %s = manycore.subgraph @g(%a = %x : tensor<4xf32>) -> tensor<4xf32> in [host] to_fit {
// CHECK-NEXT:    %k = dataflow.constant
// CHECK-NEXT:    %0 = dataflow.add %a, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    %1 = dataflow.mul %0, %k : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
// CHECK-NEXT:    manycore.yield %1 : tensor<4xf32>
// CHECK-NEXT:  }
// CHECK-NEXT:  func.return %s, %s, %x
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %k = dataflow.constant dense<3.0> : tensor<1xf32>
  %s, %e, %t, %p = manycore.subgraph @g(
      %a = %x : tensor<4xf32>, %b = %x : tensor<4xf32>, %c = %y : tensor<4xf32>, %d = %k : tensor<1xf32>)
      -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) in [host, dram, dram, dram] to_fit {
    %0 = dataflow.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %1 = dataflow.mul %0, %d : (tensor<4xf32>, tensor<1xf32>) -> tensor<4xf32>
    %2 = dataflow.exp %c : (tensor<4xf32>) -> tensor<4xf32>
    manycore.yield %1, %2, %1, %b : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %s, %t, %p : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @unused
// CHECK-NEXT:  func.return
func.func @unused(%x: tensor<4xf32>) {
  %0 = manycore.subgraph @g(%a = %x : tensor<4xf32>) -> tensor<4xf32> {
    %1 = dataflow.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    manycore.yield %1 : tensor<4xf32>
  }
  func.return
}
