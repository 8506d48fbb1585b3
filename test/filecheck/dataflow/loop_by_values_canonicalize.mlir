// RUN: meshloom-opt %s -p canonicalize | filecheck %s
// RUN: meshloom-opt %s -p canonicalize --check-semantics > /dev/null

// What every step yields alike is known if a step runs, and a loop of one step may have none; what moves out may, as it
// has no effects, and a carried value that does not change leaves.
// CHECK-LABEL: @main
func.func @main(%n: tensor<i64>, %x: tensor<8x4xf32>, %a: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK-NEXT: %twice = dataflow.add %a, %a
  // CHECK-NEXT: %moved, %rows = dataflow.loop 8 steps count(%n : tensor<i64>) carry(%h = %a : tensor<4xf32>) scan(%row = %x axis 0 : tensor<8x4xf32>) stack(axis 0 : tensor<8x4xf32>) {
  // CHECK-NEXT:   dataflow.yield %twice, %row : tensor<4xf32>, tensor<4xf32>
  %moved, %kept, %rows = dataflow.loop 8 steps count(%n : tensor<i64>) carry(%h = %a : tensor<4xf32>, %k = %a : tensor<4xf32>) scan(%row = %x axis 0 : tensor<8x4xf32>) stack(axis 0 : tensor<8x4xf32>) {
    %twice = dataflow.add %k, %k : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %twice, %k, %row : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
  // CHECK: dataflow.loop 1 steps while carry
  %once = dataflow.loop 1 steps while carry(%h = %a : tensor<4xf32>) {
    %next = dataflow.add %h, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %true = dataflow.constant dense<true> : tensor<i1>
    dataflow.yield %next, %true : tensor<4xf32>, tensor<i1>
  }
  // A count that is the largest is none.
  %eight = dataflow.constant dense<8> : tensor<i64>
  // CHECK: dataflow.loop 8 steps carry
  %all = dataflow.loop 8 steps count(%eight : tensor<i64>) carry(%h = %a : tensor<4xf32>) {
    %next = dataflow.add %h, %a : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next : tensor<4xf32>
  }
  // CHECK: func.return %moved, %a, %rows,
  func.return %moved, %kept, %rows, %once, %all : tensor<4xf32>, tensor<4xf32>, tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>
}
