// RUN: meshloom-opt %s -p canonicalize | filecheck %s

// A carried value that does not change is the initial one, for whoever reads it; it leaves.
// CHECK-LABEL: @unchanged
func.func @unchanged(%x: tensor<5x4xf32>, %a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %0 = dataflow.loop 5 steps carry(%h = %b : tensor<4xf32>) scan(%row = %x axis 0 : tensor<5x4xf32>) {
  // CHECK-NEXT: %sum = dataflow.add %row, %a
  // CHECK-NEXT: %next = dataflow.mul %sum, %h
  // CHECK-NEXT: dataflow.yield %next : tensor<4xf32>
  // CHECK: func.return %a, %0
  %0, %1 = dataflow.loop 5 steps carry(%same = %a : tensor<4xf32>, %h = %b : tensor<4xf32>) scan(%row = %x axis 0 : tensor<5x4xf32>) {
    %sum = dataflow.add %row, %same : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %next = dataflow.mul %sum, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %same, %next : tensor<4xf32>, tensor<4xf32>
  }
  func.return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// What does not depend on the step moves out, constants and whole loops too.
// CHECK-LABEL: @invariant
func.func @invariant(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %two = dataflow.constant
  // CHECK-NEXT: %twice = dataflow.mul %a, %two
  // CHECK-NEXT: %inner = dataflow.loop 3 steps carry(%z = %a : tensor<4xf32>) {
  // CHECK-NEXT: dataflow.mul %z, %twice
  // CHECK: dataflow.loop 5 steps carry(%h = %a : tensor<4xf32>) {
  // CHECK-NEXT: dataflow.add %h, %inner
  // CHECK-NEXT: dataflow.yield
  %0 = dataflow.loop 5 steps carry(%h = %a : tensor<4xf32>) {
    %two = dataflow.constant dense<2.0> : tensor<4xf32>
    %twice = dataflow.mul %a, %two : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %inner = dataflow.loop 3 steps carry(%z = %a : tensor<4xf32>) {
      %power = dataflow.mul %z, %twice : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      dataflow.yield %power : tensor<4xf32>
    }
    %next = dataflow.add %h, %inner : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// What every step yields alike needs no loop.
// CHECK-LABEL: @alike
func.func @alike(%a: tensor<4xf32>, %b: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x3xf32>) {
  // CHECK-NEXT: %0 = dataflow.reshape %a : (tensor<4xf32>) -> tensor<4x1xf32>
  // CHECK-NEXT: %1 = dataflow.broadcast %0 : (tensor<4x1xf32>) -> tensor<4x3xf32>
  // CHECK-NEXT: func.return %b, %1
  %0, %1 = dataflow.loop 3 steps carry(%h = %a : tensor<4xf32>) stack(axis 1 : tensor<4x3xf32>) {
    dataflow.yield %b, %a : tensor<4xf32>, tensor<4xf32>
  }
  func.return %0, %1 : tensor<4xf32>, tensor<4x3xf32>
}

// What nobody reads leaves: stacked results, carried values that feed only themselves, and what these scan.
// CHECK-LABEL: @unread
func.func @unread(%x: tensor<5x4xf32>, %y: tensor<5x4xf32>, %a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %0 = dataflow.loop 5 steps carry(%h = %a : tensor<4xf32>) scan(%row = %x axis 0 : tensor<5x4xf32>) {
  // CHECK-NEXT: dataflow.add %row, %h
  // CHECK-NEXT: dataflow.yield
  %0, %1, %2 = dataflow.loop 5 steps carry(%h = %a : tensor<4xf32>, %alone = %a : tensor<4xf32>)
      scan(%row = %x axis 0 : tensor<5x4xf32>, %other = %y axis 0 : tensor<5x4xf32>) stack(axis 0 : tensor<5x4xf32>) {
    %next = dataflow.add %row, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %more = dataflow.mul %alone, %other : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next, %more, %more : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// A carried value that nobody reads at the end stays where the next step's result depends on it.
// CHECK-LABEL: @read_later
func.func @read_later(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: %0, %1 = dataflow.loop 5 steps carry(%h = %a : tensor<4xf32>, %before = %a : tensor<4xf32>) {
  %0, %1 = dataflow.loop 5 steps carry(%h = %a : tensor<4xf32>, %before = %a : tensor<4xf32>) {
    %next = dataflow.add %h, %before : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next, %h : tensor<4xf32>, tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}

// What is scanned or stacked twice alike is so once; what is scanned and stacked again is there already.
// CHECK-LABEL: @twice
func.func @twice(%x: tensor<5x4xf32>, %a: tensor<4xf32>) -> (tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>) {
  // CHECK-NEXT: %0, %1 = dataflow.loop 5 steps carry(%h = %a : tensor<4xf32>) scan(%row = %x axis 0 : tensor<5x4xf32>, %back = %x axis 0 backwards : tensor<5x4xf32>) stack(axis 0 : tensor<5x4xf32>) {
  // CHECK-NEXT: dataflow.add %row, %row
  // CHECK: func.return %x, %1, %1
  %0, %1, %2, %3 = dataflow.loop 5 steps carry(%h = %a : tensor<4xf32>)
      scan(%row = %x axis 0 : tensor<5x4xf32>, %again = %x axis 0 : tensor<5x4xf32>, %back = %x axis 0 backwards : tensor<5x4xf32>)
      stack(axis 0 : tensor<5x4xf32>, axis 0 : tensor<5x4xf32>, axis 0 : tensor<5x4xf32>) {
    %double = dataflow.add %row, %again : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %sum = dataflow.add %double, %back : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %next = dataflow.sub %sum, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next, %row, %next, %next : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  func.return %1, %2, %3 : tensor<5x4xf32>, tensor<5x4xf32>, tensor<5x4xf32>
}

// A loop of one step is its body.
// CHECK-LABEL: @one_step
func.func @one_step(%x: tensor<1x4xf32>, %a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4x1xf32>) {
  // CHECK-NEXT: %row = dataflow.reshape %x : (tensor<1x4xf32>) -> tensor<4xf32>
  // CHECK-NEXT: %next = dataflow.add %row, %a
  // CHECK-NEXT: %all = dataflow.reshape %next : (tensor<4xf32>) -> tensor<4x1xf32>
  // CHECK-NEXT: func.return %next, %all
  %last, %all = dataflow.loop 1 steps carry(%h = %a : tensor<4xf32>) scan(%row = %x axis 0 : tensor<1x4xf32>) stack(axis 1 : tensor<4x1xf32>) {
    %next = dataflow.add %row, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next, %next : tensor<4xf32>, tensor<4xf32>
  }
  func.return %last, %all : tensor<4xf32>, tensor<4x1xf32>
}

// Of no steps there are the initial values, and nothing.
// CHECK-LABEL: @no_steps
func.func @no_steps(%x: tensor<0x4xf32>, %a: tensor<4xf32>) -> (tensor<4xf32>, tensor<0x4xf32>) {
  // CHECK-NEXT: %0 = dataflow.constant dense<> : tensor<0x4xf32>
  // CHECK-NEXT: func.return %a, %0
  %0, %1 = dataflow.loop 0 steps carry(%h = %a : tensor<4xf32>) scan(%row = %x axis 0 : tensor<0x4xf32>) stack(axis 0 : tensor<0x4xf32>) {
    %next = dataflow.add %row, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next, %next : tensor<4xf32>, tensor<4xf32>
  }
  func.return %0, %1 : tensor<4xf32>, tensor<0x4xf32>
}

// Operations of the body are folded and simplified as others are.
// CHECK-LABEL: @folded
func.func @folded(%a: tensor<4xf32>) -> tensor<4xf32> {
  // CHECK-NEXT: dataflow.loop 5 steps carry(%h = %a : tensor<4xf32>) {
  // CHECK-NEXT: dataflow.neg %h
  // CHECK-NEXT: dataflow.yield
  %0 = dataflow.loop 5 steps carry(%h = %a : tensor<4xf32>) {
    %one = dataflow.constant dense<1.0> : tensor<4xf32>
    %same = dataflow.mul %h, %one : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %next = dataflow.neg %same : (tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next : tensor<4xf32>
  }
  func.return %0 : tensor<4xf32>
}
