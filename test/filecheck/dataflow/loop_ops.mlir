// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s

// All parts, each of which may be left out.
// CHECK-LABEL: @recurrence
func.func @recurrence(%x: tensor<48x1x64xf32>, %h0: tensor<1x64xf32>) -> (tensor<1x64xf32>, tensor<1x48x64xf32>) {
  // CHECK-NEXT: %last, %all = dataflow.loop 48 steps carry(%h = %h0 : tensor<1x64xf32>)
  // CHECK-SAME: scan(%row = %x axis 0 : tensor<48x1x64xf32>, %other = %x axis 0 backwards : tensor<48x1x64xf32>)
  // CHECK-SAME: stack(axis 1 backwards : tensor<1x48x64xf32>) {
  %last, %all = dataflow.loop 48 steps carry(%h = %h0 : tensor<1x64xf32>)
      scan(%row = %x axis 0 : tensor<48x1x64xf32>, %other = %x axis 0 backwards : tensor<48x1x64xf32>)
      stack(axis 1 backwards : tensor<1x48x64xf32>) {
    // CHECK-NEXT: %sum = dataflow.add %row, %h : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %sum = dataflow.add %row, %h : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    %next = dataflow.mul %sum, %other : (tensor<1x64xf32>, tensor<1x64xf32>) -> tensor<1x64xf32>
    // CHECK: dataflow.yield %next, %sum : tensor<1x64xf32>, tensor<1x64xf32>
    dataflow.yield %next, %sum : tensor<1x64xf32>, tensor<1x64xf32>
  }
  func.return %last, %all : tensor<1x64xf32>, tensor<1x48x64xf32>
}

// CHECK-LABEL: @nested
func.func @nested(%x: tensor<3x4xf32>, %y: tensor<4xf32>) -> tensor<3x4xf32> {
  // CHECK-NEXT: dataflow.loop 3 steps scan(%row = %x axis 0 : tensor<3x4xf32>) stack(axis 0 : tensor<3x4xf32>) attributes {note = "outer"} {
  %0 = dataflow.loop 3 steps scan(%row = %x axis 0 : tensor<3x4xf32>) stack(axis 0 : tensor<3x4xf32>) attributes {note = "outer"} {
    // CHECK-NEXT: dataflow.loop 2 steps carry(%z = %row : tensor<4xf32>) {
    %1 = dataflow.loop 2 steps carry(%z = %row : tensor<4xf32>) {
      %2 = dataflow.add %z, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      dataflow.yield %2 : tensor<4xf32>
    }
    dataflow.yield %1 : tensor<4xf32>
  }
  func.return %0 : tensor<3x4xf32>
}

// CHECK-LABEL: @of_nothing
func.func @of_nothing() {
  // CHECK-NEXT: dataflow.loop 0 steps {
  // CHECK-NEXT: dataflow.yield
  dataflow.loop 0 steps {
    dataflow.yield
  }
  func.return
}

// The number of steps is known at run time only.
// CHECK-LABEL: @by_values
func.func @by_values(%n: tensor<i64>, %x: tensor<8x4xf32>, %go: tensor<i1>, %all: tensor<16xi64>, %each: tensor<16xi1>) -> tensor<4xf32> {
  %zero = dataflow.constant dense<0.0> : tensor<4xf32>
  // CHECK: dataflow.loop 8 steps count(%n : tensor<i64>) while carry(%h = %zero : tensor<4xf32>) scan(%row = %x axis 0 : tensor<8x4xf32>) {
  %0 = dataflow.loop 8 steps count(%n : tensor<i64>) while carry(%h = %zero : tensor<4xf32>) scan(%row = %x axis 0 : tensor<8x4xf32>) {
    %sum = dataflow.add %h, %row : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    // CHECK: dataflow.yield %sum, %go : tensor<4xf32>, tensor<i1>
    dataflow.yield %sum, %go : tensor<4xf32>, tensor<i1>
  }
  // CHECK: dataflow.loop 8 steps while ends carry(
  %1 = dataflow.loop 8 steps while ends carry(%h = %zero : tensor<4xf32>) {
    %sum = dataflow.add %h, %h : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %sum, %go : tensor<4xf32>, tensor<i1>
  }
  // One number for each core.
  // CHECK: dataflow.loop 8 steps count(%all : tensor<16xi64>) while {
  dataflow.loop 8 steps count(%all : tensor<16xi64>) while {
    dataflow.yield %each : tensor<16xi1>
  }
  // Steps behind the count would change nothing; the count of the second is of groups of them.
  // CHECK: dataflow.loop 8 steps count(%n : tensor<i64>) masked scan(%row_1 = %x axis 0 backwards : tensor<8x4xf32>) {
  dataflow.loop 8 steps count(%n : tensor<i64>) masked scan(%row = %x axis 0 backwards : tensor<8x4xf32>) {
    dataflow.yield
  }
  // CHECK: dataflow.loop 8 steps count(%n : tensor<i64>) masked in 4 {
  dataflow.loop 8 steps count(%n : tensor<i64>) masked in 4 {
    dataflow.yield
  }
  func.return %0 : tensor<4xf32>
}
