// RUN: meshloom-opt %s -p cse | filecheck %s

// Equal loops are one.
// CHECK-LABEL: @equal
func.func @equal(%x: tensor<4xf32>, %a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %0 = dataflow.loop 3 steps carry(%h = %a : tensor<4xf32>) {
  // CHECK: }
  // CHECK-NEXT: %1 = dataflow.loop 2 steps carry(%h_1 = %a : tensor<4xf32>) {
  // CHECK: }
  // CHECK-NEXT: func.return %0, %0, %1
  %0 = dataflow.loop 3 steps carry(%h = %a : tensor<4xf32>) {
    %next = dataflow.add %h, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next : tensor<4xf32>
  }
  %1 = dataflow.loop 3 steps carry(%h = %a : tensor<4xf32>) {
    %next = dataflow.add %h, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next : tensor<4xf32>
  }
  %2 = dataflow.loop 2 steps carry(%h = %a : tensor<4xf32>) {
    %next = dataflow.add %h, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next : tensor<4xf32>
  }
  func.return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// What a body computes that is known before it is not computed again.
// CHECK-LABEL: @known_before
func.func @known_before(%x: tensor<4xf32>, %a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %0 = dataflow.neg %x
  // CHECK-NEXT: %1 = dataflow.loop 3 steps carry(%h = %a : tensor<4xf32>) {
  // CHECK-NEXT: %2 = dataflow.add %h, %0
  %0 = dataflow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dataflow.loop 3 steps carry(%h = %a : tensor<4xf32>) {
    %2 = dataflow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
    %3 = dataflow.add %h, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %3 : tensor<4xf32>
  }
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// Loops that nobody reads leave; those that are read stay, though nobody reads what they stack.
// CHECK-LABEL: @unread
func.func @unread(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: dataflow.loop 3 steps carry
  // CHECK-NOT: dataflow.loop
  // CHECK: func.return
  %0, %1 = dataflow.loop 3 steps carry(%h = %a : tensor<4xf32>) stack(axis 0 : tensor<3x4xf32>) {
    %next = dataflow.neg %h : (tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next, %next : tensor<4xf32>, tensor<4xf32>
  }
  %2 = dataflow.loop 4 steps carry(%h = %0 : tensor<4xf32>) {
    %next = dataflow.neg %h : (tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
