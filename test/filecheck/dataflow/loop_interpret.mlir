// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p canonicalize --check-semantics -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p canonicalize --check-semantics 2>&1 | filecheck %s --check-prefix SAME

// SAME: check-semantics: canonicalize kept all results

// %x is [[-3, -2], [-1, 0], [1, 2]], %h0 is [-3, -2].
func.func @main(%x: tensor<3x2xf32>, %h0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2x3xf32>, tensor<3xi64>, tensor<3x2xf32>, tensor<0xf32>) {
  // The last row comes first: [1, 2] + [-3, -2], then [-1, 0], then [-3, -2]; the sums are columns, the first one last.
  %last, %all = dataflow.loop 3 steps carry(%h = %h0 : tensor<2xf32>) scan(%row = %x axis 0 backwards : tensor<3x2xf32>)
      stack(axis 1 backwards : tensor<2x3xf32>) {
    %sum = dataflow.add %row, %h : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    dataflow.yield %sum, %sum : tensor<2xf32>, tensor<2xf32>
  }
  // The number of each step, counted from 1, and what is carried is of the step before.
  %numbers = dataflow.iota axis 0 : tensor<3xi64>
  %one = dataflow.constant dense<1> : tensor<i64>
  %zero = dataflow.constant dense<0> : tensor<i64>
  %count, %counted = dataflow.loop 3 steps carry(%before = %zero : tensor<i64>) scan(%n = %numbers axis 0 : tensor<3xi64>) stack(axis 0 : tensor<3xi64>) {
    %next = dataflow.add %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %both = dataflow.add %next, %before : (tensor<i64>, tensor<i64>) -> tensor<i64>
    dataflow.yield %next, %both : tensor<i64>, tensor<i64>
  }
  // A loop in a loop: each row is doubled twice, and what is around both is added.
  %rows = dataflow.loop 3 steps scan(%row = %x axis 0 : tensor<3x2xf32>) stack(axis 0 : tensor<3x2xf32>) {
    %four = dataflow.loop 2 steps carry(%z = %row : tensor<2xf32>) {
      %twice = dataflow.add %z, %z : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
      dataflow.yield %twice : tensor<2xf32>
    }
    %sum = dataflow.add %four, %h0 : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    dataflow.yield %sum : tensor<2xf32>
  }
  %number = dataflow.constant dense<0.0> : tensor<f32>
  %none = dataflow.loop 0 steps stack(axis 0 : tensor<0xf32>) {
    dataflow.yield %number : tensor<f32>
  }
  func.return %last, %all, %counted, %rows, %none : tensor<2xf32>, tensor<2x3xf32>, tensor<3xi64>, tensor<3x2xf32>, tensor<0xf32>
}
// CHECK: result0: tensor<2xf32> = [-6., -2.]
// CHECK-NEXT: result1: tensor<2x3xf32> = {{\[\[}}-6., -3., -2.],
// CHECK-NEXT: [-2.,  0.,  0.]]
// CHECK-NEXT: result2: tensor<3xi64> = [1, 3, 5]
// CHECK-NEXT: result3: tensor<3x2xf32> = {{\[\[}}-15., -10.],
// CHECK-NEXT: [ -7.,  -2.],
// CHECK-NEXT: [  1.,   6.]]
// CHECK-NEXT: result4: tensor<0xf32> = []
