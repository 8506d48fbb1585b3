// RUN: meshloom-opt %s -t 'interpret{inputs=random}' | filecheck %s
// RUN: meshloom-opt %s -p canonicalize --check-semantics -t 'interpret{inputs=random}' | filecheck %s
// RUN: meshloom-opt %s -p dataflow-hoist-from-loops --check-semantics -t 'interpret{inputs=random}' | filecheck %s

// %n is 6, of 8 steps; the rows of the others are 0.
func.func @main(%n: tensor<i64>) -> (tensor<i64>, tensor<8xi64>, tensor<i64>, tensor<8xi64>) {
  %zero = dataflow.constant dense<0> : tensor<i64>
  %four = dataflow.constant dense<4> : tensor<i64>
  %numbers = dataflow.iota axis 0 : tensor<8xi64>
  %sum, %squares = dataflow.loop 8 steps count(%n : tensor<i64>) carry(%s = %zero : tensor<i64>) scan(%i = %numbers axis 0 : tensor<8xi64>) stack(axis 0 : tensor<8xi64>) {
    %next = dataflow.add %s, %i : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %square = dataflow.mul %i, %i : (tensor<i64>, tensor<i64>) -> tensor<i64>
    dataflow.yield %next, %square : tensor<i64>, tensor<i64>
  }
  // The step of number 4 is the last.
  %sum4, %same = dataflow.loop 8 steps while ends carry(%s = %zero : tensor<i64>) scan(%i = %numbers axis 0 : tensor<8xi64>) stack(axis 0 : tensor<8xi64>) {
    %next = dataflow.add %s, %i : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %go = dataflow.compare ne %i, %four : (tensor<i64>, tensor<i64>) -> tensor<i1>
    dataflow.yield %next, %i, %go : tensor<i64>, tensor<i64>, tensor<i1>
  }
  func.return %sum, %squares, %sum4, %same : tensor<i64>, tensor<8xi64>, tensor<i64>, tensor<8xi64>
}
// CHECK: result0: tensor<i64> = 15
// CHECK-NEXT: result1: tensor<8xi64> = [ 0,  1,  4,  9, 16, 25,  0,  0]
// CHECK-NEXT: result2: tensor<i64> = 10
// CHECK-NEXT: result3: tensor<8xi64> = [0, 1, 2, 3, 4, 0, 0, 0]
