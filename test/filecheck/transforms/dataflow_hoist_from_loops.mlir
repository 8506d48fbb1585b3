// RUN: meshloom-opt %s --split-input-file -p dataflow-hoist-from-loops | filecheck %s
// RUN: meshloom-opt %s --split-input-file -p dataflow-hoist-from-loops --check-semantics 2>&1 | filecheck %s --check-prefix SAME

// SAME: check-semantics: dataflow-hoist-from-loops{{.*}} kept all results

// The product with [x, h] becomes one with x, of all steps at once, and one with h; the bias joins the former.
// CHECK-LABEL: @main
func.func @main(%x: tensor<5x1x2xf32>, %h0: tensor<1x3xf32>, %w: tensor<5x3xf32>, %b: tensor<3xf32>) -> tensor<5x1x3xf32> {
  // CHECK: [[WX:%.+]] = dataflow.slice %w starts [0, 0] sizes [2, 3]
  // CHECK: [[WH:%.+]] = dataflow.slice %w starts [2, 0] sizes [3, 3]
  // CHECK: [[ROWS:%.+]] = dataflow.reshape %x : (tensor<5x1x2xf32>) -> tensor<5x2xf32>
  // CHECK: [[FLAT:%.+]] = dataflow.matmul [[ROWS]], [[WX]] : (tensor<5x2xf32>, tensor<2x3xf32>) -> tensor<5x3xf32>
  // CHECK: [[SUM:%.+]] = dataflow.add [[FLAT]], %b : (tensor<5x3xf32>, tensor<3xf32>) -> tensor<5x3xf32>
  // CHECK: [[ALL:%.+]] = dataflow.reshape [[SUM]] : (tensor<5x3xf32>) -> tensor<5x1x3xf32>
  // CHECK: dataflow.loop 5 steps carry([[H:%.+]] = %h0 : tensor<1x3xf32>) scan([[S:%.+]] = [[ALL]] axis 0 : tensor<5x1x3xf32>)
  // CHECK-NEXT: [[P:%.+]] = dataflow.matmul [[H]], [[WH]]
  // CHECK-NEXT: [[Z:%.+]] = dataflow.add [[P]], [[S]]
  // CHECK-NEXT: dataflow.tanh [[Z]]
  // CHECK-NEXT: dataflow.yield
  %last, %y = dataflow.loop 5 steps carry(%h = %h0 : tensor<1x3xf32>) scan(%row = %x axis 0 : tensor<5x1x2xf32>) stack(axis 0 : tensor<5x1x3xf32>) {
    %xh = dataflow.concat %row, %h axis 1 : (tensor<1x2xf32>, tensor<1x3xf32>) -> tensor<1x5xf32>
    %m = dataflow.matmul %xh, %w : (tensor<1x5xf32>, tensor<5x3xf32>) -> tensor<1x3xf32>
    %z = dataflow.add %m, %b : (tensor<1x3xf32>, tensor<3xf32>) -> tensor<1x3xf32>
    %next = dataflow.tanh %z : (tensor<1x3xf32>) -> tensor<1x3xf32>
    dataflow.yield %next, %next : tensor<1x3xf32>, tensor<1x3xf32>
  }
  func.return %y : tensor<5x1x3xf32>
}

// -----

// Weights that are known are cut in two, weights of the other orientation along their second axis.
// CHECK-LABEL: @main
// CHECK: dataflow.constant {{.*}}1.000000e+00], [4.000000e+00{{.*}} : tensor<2x1xf32>
// CHECK: dataflow.constant {{.*}}2.000000e+00, 3.000000e+00], [5.000000e+00, 6.000000e+00{{.*}} : tensor<2x2xf32>
// CHECK: dataflow.matmul {{.*}} transpose_b : (tensor<3x1xf32>, tensor<2x1xf32>) -> tensor<3x2xf32>
// CHECK: dataflow.loop
// CHECK: dataflow.matmul {{.*}} transpose_b : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
func.func @main(%x: tensor<3x1x1xf32>, %h0: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = dataflow.constant dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]> : tensor<2x3xf32>
  %last = dataflow.loop 3 steps carry(%h = %h0 : tensor<1x2xf32>) scan(%row = %x axis 0 : tensor<3x1x1xf32>) {
    %xh = dataflow.concat %row, %h axis 1 : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x3xf32>
    %m = dataflow.matmul %xh, %w transpose_b : (tensor<1x3xf32>, tensor<2x3xf32>) -> tensor<1x2xf32>
    dataflow.yield %m : tensor<1x2xf32>
  }
  func.return %last : tensor<1x2xf32>
}

// -----

// Values along another axis, and from the last to the first: what leaves has the steps in front, in the same order.
// CHECK-LABEL: @main
// CHECK-NEXT: [[T:%.+]] = dataflow.transpose %x [1, 0] : (tensor<2x4xf32>) -> tensor<4x2xf32>
// CHECK-NEXT: [[R:%.+]] = dataflow.slice %y starts [3, 0] sizes [4, 2] steps [-1, 1]
// CHECK-NEXT: [[M:%.+]] = dataflow.mul [[T]], [[R]]
// CHECK-NEXT: dataflow.loop 4 steps carry([[H:%.+]] = %h0 : tensor<2xf32>) scan([[P:%.+]] = [[M]] axis 0 backwards : tensor<4x2xf32>)
// CHECK-NEXT: dataflow.sub [[H]], [[P]]
func.func @main(%x: tensor<2x4xf32>, %y: tensor<4x2xf32>, %h0: tensor<2xf32>) -> tensor<2xf32> {
  %last = dataflow.loop 4 steps carry(%h = %h0 : tensor<2xf32>) scan(%a = %x axis 1 backwards : tensor<2x4xf32>, %b = %y axis 0 : tensor<4x2xf32>) {
    %p = dataflow.mul %a, %b : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    %s = dataflow.sub %h, %p : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    dataflow.yield %s : tensor<2xf32>
  }
  func.return %last : tensor<2xf32>
}

// -----

// Rows that words choose are gathered for all words at once.
// CHECK-LABEL: @main
// CHECK-NEXT: [[ALL:%.+]] = dataflow.gather %table, %words axis 0 : (tensor<9x2xf32>, tensor<4xi64>) -> tensor<4x2xf32>
// CHECK-NEXT: dataflow.loop 4 steps carry({{.*}}) scan({{%.+}} = [[ALL]] axis 0 : tensor<4x2xf32>)
func.func @main(%words: tensor<4xi64>, %table: tensor<9x2xf32>, %h0: tensor<2xf32>) -> tensor<2xf32> {
  %last = dataflow.loop 4 steps carry(%h = %h0 : tensor<2xf32>) scan(%word = %words axis 0 : tensor<4xi64>) {
    %row = dataflow.gather %table, %word axis 0 : (tensor<9x2xf32>, tensor<i64>) -> tensor<2xf32>
    %s = dataflow.sub %row, %h : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    dataflow.yield %s : tensor<2xf32>
  }
  func.return %last : tensor<2xf32>
}

// -----

// What would only become larger, and what only moves elements, stays in the loop.
// CHECK-LABEL: @main
// CHECK-NEXT: dataflow.loop
// CHECK-NEXT: dataflow.mul
// CHECK-NEXT: dataflow.slice
func.func @main(%x: tensor<4x2x1xf32>, %y: tensor<4x9xf32>, %row: tensor<1x3xf32>, %h0: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %last = dataflow.loop 4 steps carry(%h = %h0 : tensor<2x3xf32>) scan(%a = %x axis 0 : tensor<4x2x1xf32>, %b = %y axis 0 : tensor<4x9xf32>) {
    %p = dataflow.mul %a, %row : (tensor<2x1xf32>, tensor<1x3xf32>) -> tensor<2x3xf32>
    %c = dataflow.slice %b starts [4] sizes [3] steps [1] : (tensor<9xf32>) -> tensor<3xf32>
    %s = dataflow.sub %h, %p : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
    %t = dataflow.sub %s, %c : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
    dataflow.yield %t : tensor<2x3xf32>
  }
  func.return %last : tensor<2x3xf32>
}

// -----

// Sums of whole numbers are exact in any order; a sum of narrow floats keeps its own.
// CHECK-LABEL: @main
// CHECK: [[B:%.+]] = dataflow.add %x, %b
// CHECK: dataflow.loop 4 steps carry([[H:%.+]] = %h0 : tensor<2xi32>, [[G:%.+]] = %g0 : tensor<2xf16>) scan([[Y:%.+]] = %y axis 0 : tensor<4x2xf16>, [[X:%.+]] = [[B]] axis 0 : tensor<4x2xi32>)
// CHECK: dataflow.add [[H]], [[X]]
// CHECK: [[YG:%.+]] = dataflow.add [[Y]], [[G]]
// CHECK: dataflow.add [[YG]], %c
func.func @main(%x: tensor<4x2xi32>, %b: tensor<2xi32>, %h0: tensor<2xi32>, %y: tensor<4x2xf16>, %c: tensor<2xf16>, %g0: tensor<2xf16>) -> (tensor<2xi32>, tensor<2xf16>) {
  %last, %other = dataflow.loop 4 steps carry(%h = %h0 : tensor<2xi32>, %g = %g0 : tensor<2xf16>) scan(%a = %x axis 0 : tensor<4x2xi32>, %d = %y axis 0 : tensor<4x2xf16>) {
    %p = dataflow.add %a, %h : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
    %q = dataflow.add %p, %b : (tensor<2xi32>, tensor<2xi32>) -> tensor<2xi32>
    %r = dataflow.add %d, %g : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
    %s = dataflow.add %r, %c : (tensor<2xf16>, tensor<2xf16>) -> tensor<2xf16>
    dataflow.yield %q, %s : tensor<2xi32>, tensor<2xf16>
  }
  func.return %last, %other : tensor<2xi32>, tensor<2xf16>
}

// -----

// Inner loops first: what needs nothing that the inner loop carries leaves it, and then the outer one.
// CHECK-LABEL: @main
// CHECK-NEXT: [[ALL:%.+]] = dataflow.tanh %x : (tensor<3x2xf32>) -> tensor<3x2xf32>
// CHECK: dataflow.loop 3 steps {{.*}} scan({{%.+}} = [[ALL]] axis 0 : tensor<3x2xf32>)
// CHECK: dataflow.loop 2 steps
func.func @main(%x: tensor<3x2xf32>, %h0: tensor<f32>) -> tensor<f32> {
  %last = dataflow.loop 3 steps carry(%h = %h0 : tensor<f32>) scan(%row = %x axis 0 : tensor<3x2xf32>) {
    %inner = dataflow.loop 2 steps carry(%g = %h : tensor<f32>) scan(%one = %row axis 0 : tensor<2xf32>) {
      %t = dataflow.tanh %one : (tensor<f32>) -> tensor<f32>
      %s = dataflow.sub %g, %t : (tensor<f32>, tensor<f32>) -> tensor<f32>
      dataflow.yield %s : tensor<f32>
    }
    dataflow.yield %inner : tensor<f32>
  }
  func.return %last : tensor<f32>
}

// -----

// What follows from the number of the step alone is known once loops are unrolled; what it is compared with is not.
// CHECK-LABEL: @main
// CHECK-NOT: dataflow.mul
// CHECK: [[MASK:%.+]] = dataflow.compare lt [[N:%.+]], %length
// CHECK: dataflow.loop 4 steps carry({{.*}}) scan([[T:%.+]] = [[N]] axis 0 : tensor<4xi32>, [[M:%.+]] = [[MASK]] axis 0 : tensor<4xi1>)
// CHECK-NEXT: [[P:%.+]] = dataflow.mul [[T]], [[T]]
// CHECK-NEXT: [[S:%.+]] = dataflow.sub {{%.+}}, [[P]]
// CHECK-NEXT: dataflow.select [[M]], [[S]]
func.func @main(%length: tensor<i32>, %h0: tensor<i32>) -> tensor<i32> {
  %n = dataflow.iota axis 0 : tensor<4xi32>
  %last = dataflow.loop 4 steps carry(%h = %h0 : tensor<i32>) scan(%t = %n axis 0 : tensor<4xi32>) {
    %p = dataflow.mul %t, %t : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %m = dataflow.compare lt %t, %length : (tensor<i32>, tensor<i32>) -> tensor<i1>
    %s = dataflow.sub %h, %p : (tensor<i32>, tensor<i32>) -> tensor<i32>
    %k = dataflow.select %m, %s, %h : (tensor<i1>, tensor<i32>, tensor<i32>) -> tensor<i32>
    dataflow.yield %k : tensor<i32>
  }
  func.return %last : tensor<i32>
}

// -----

// Loops are brought into their canonical form: one step is its body, none the initial value.
// CHECK-LABEL: @main
// CHECK-NOT: dataflow.loop
func.func @main(%x: tensor<1x2xf32>, %z: tensor<0x2xf32>, %h0: tensor<2xf32>) -> (tensor<2xf32>, tensor<2xf32>) {
  %a = dataflow.loop 1 steps carry(%h = %h0 : tensor<2xf32>) scan(%row = %x axis 0 : tensor<1x2xf32>) {
    %t = dataflow.tanh %row : (tensor<2xf32>) -> tensor<2xf32>
    %s = dataflow.sub %h, %t : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    dataflow.yield %s : tensor<2xf32>
  }
  %b = dataflow.loop 0 steps carry(%h = %h0 : tensor<2xf32>) scan(%row = %z axis 0 : tensor<0x2xf32>) {
    %t = dataflow.tanh %row : (tensor<2xf32>) -> tensor<2xf32>
    dataflow.yield %t : tensor<2xf32>
  }
  func.return %a, %b : tensor<2xf32>, tensor<2xf32>
}
