// RUN: meshloom-opt %s --split-input-file -p dataflow-interleave-gates | filecheck %s
// RUN: meshloom-opt %s --split-input-file -p dataflow-interleave-gates --check-semantics 2>&1 | filecheck %s --check-prefix SAME

// SAME: check-semantics: dataflow-interleave-gates{{.*}} kept all results

// Three gates of two units. The first and the last have the same activation: with the other one in the third place, the
// columns 0 1 | 2 3 | 4 5 are in the order 0 4 2 | 1 5 3, those of the scanned value's weights, too.
// CHECK-LABEL: @main
// CHECK-DAG: [[B:%.+]] = dataflow.constant dense<[1.000000e+01, 5.000000e+01, 3.000000e+01, 2.000000e+01, 6.000000e+01, 4.000000e+01]>
// CHECK-DAG: [[W:%.+]] = dataflow.constant {{.*}}1.000000e-01, 5.000000e-01, 3.000000e-01, 2.000000e-01, 6.000000e-01, 4.000000e-01{{.*}} : tensor<1x6xf32>
// CHECK-DAG: [[R:%.+]] = dataflow.constant {{.*}}1.000000e+00, 5.000000e+00, 3.000000e+00, 2.000000e+00, 6.000000e+00, 4.000000e+00], [{{.*}} : tensor<2x6xf32>
// CHECK: [[P:%.+]] = dataflow.matmul %x, [[W]]
// CHECK: [[S:%.+]] = dataflow.add [[P]], [[B]]
// CHECK: scan([[T:%.+]] = {{%.+}} axis 0 : tensor<3x1x6xf32>)
// CHECK-NEXT: [[M:%.+]] = dataflow.matmul {{%.+}}, [[R]]
// CHECK-NEXT: [[Z:%.+]] = dataflow.add [[M]], [[T]]
// CHECK-NEXT: [[CELLS:%.+]] = dataflow.reshape [[Z]] : (tensor<1x6xf32>) -> tensor<1x2x3xf32>
// CHECK-NEXT: [[TWO:%.+]] = dataflow.slice [[CELLS]] starts [0, 0, 0] sizes [1, 2, 2] steps [1, 1, 1]
// CHECK-NEXT: [[ACTIVE:%.+]] = dataflow.sigmoid [[TWO]]
// CHECK-NEXT: [[FLAT:%.+]] = dataflow.reshape [[ACTIVE]] : (tensor<1x2x2xf32>) -> tensor<1x4xf32>
// CHECK-NEXT: [[I:%.+]] = dataflow.slice [[FLAT]] starts [0, 0] sizes [1, 2] steps [1, 2]
// CHECK-NEXT: [[O:%.+]] = dataflow.slice [[FLAT]] starts [0, 1] sizes [1, 2] steps [1, 2]
// CHECK-NEXT: [[G:%.+]] = dataflow.slice [[Z]] starts [0, 2] sizes [1, 2] steps [1, 3]
// CHECK-NEXT: [[H:%.+]] = dataflow.tanh [[G]]
// CHECK-NEXT: [[IH:%.+]] = dataflow.mul [[I]], [[H]]
// CHECK-NEXT: dataflow.mul [[IH]], [[O]]
func.func @main(%x: tensor<3x1xf32>, %h0: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = dataflow.constant dense<[[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]]> : tensor<1x6xf32>
  %r = dataflow.constant dense<[[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [-1.0, -2.0, -3.0, -4.0, -5.0, -6.0]]> : tensor<2x6xf32>
  %b = dataflow.constant dense<[10.0, 20.0, 30.0, 40.0, 50.0, 60.0]> : tensor<6xf32>
  %p = dataflow.matmul %x, %w : (tensor<3x1xf32>, tensor<1x6xf32>) -> tensor<3x6xf32>
  %s = dataflow.add %p, %b : (tensor<3x6xf32>, tensor<6xf32>) -> tensor<3x6xf32>
  %t = dataflow.reshape %s : (tensor<3x6xf32>) -> tensor<3x1x6xf32>
  %last = dataflow.loop 3 steps carry(%h = %h0 : tensor<1x2xf32>) scan(%row = %t axis 0 : tensor<3x1x6xf32>) {
    %m = dataflow.matmul %h, %r : (tensor<1x2xf32>, tensor<2x6xf32>) -> tensor<1x6xf32>
    %z = dataflow.add %m, %row : (tensor<1x6xf32>, tensor<1x6xf32>) -> tensor<1x6xf32>
    %i_ = dataflow.slice %z starts [0, 0] sizes [1, 2] steps [1, 1] : (tensor<1x6xf32>) -> tensor<1x2xf32>
    %g_ = dataflow.slice %z starts [0, 2] sizes [1, 2] steps [1, 1] : (tensor<1x6xf32>) -> tensor<1x2xf32>
    %o_ = dataflow.slice %z starts [0, 4] sizes [1, 2] steps [1, 1] : (tensor<1x6xf32>) -> tensor<1x2xf32>
    %i = dataflow.sigmoid %i_ : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %g = dataflow.tanh %g_ : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %o = dataflow.sigmoid %o_ : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %ig = dataflow.mul %i, %g : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %next = dataflow.mul %ig, %o : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    dataflow.yield %next : tensor<1x2xf32>
  }
  func.return %last : tensor<1x2xf32>
}

// -----

// Weights of the other orientation have the gates along their first axis; a bias of one number serves all gates, and so
// does an activation of the whole value.
// CHECK-LABEL: @main
// CHECK: [[R:%.+]] = dataflow.constant {{.*}}1.000000e+00], [3.000000e+00], [2.000000e+00], [4.000000e+00{{.*}} : tensor<4x1xf32>
// CHECK: dataflow.matmul {{%.+}}, [[R]] transpose_b
// CHECK: [[Z:%.+]] = dataflow.sigmoid
// CHECK-NEXT: dataflow.slice [[Z]] starts [0, 0] sizes [1, 2] steps [1, 2]
// CHECK-NEXT: dataflow.slice [[Z]] starts [0, 1] sizes [1, 2] steps [1, 2]
func.func @main(%h0: tensor<1x1xf32>) -> tensor<1x1xf32> {
  %r = dataflow.constant dense<[[1.0], [2.0], [3.0], [4.0]]> : tensor<4x1xf32>
  %b = dataflow.constant dense<0.5> : tensor<f32>
  %last = dataflow.loop 3 steps carry(%h = %h0 : tensor<1x1xf32>) {
    %m = dataflow.matmul %h, %r transpose_b : (tensor<1x1xf32>, tensor<4x1xf32>) -> tensor<1x4xf32>
    %s = dataflow.add %m, %b : (tensor<1x4xf32>, tensor<f32>) -> tensor<1x4xf32>
    %z = dataflow.sigmoid %s : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %i = dataflow.slice %z starts [0, 0] sizes [1, 2] steps [1, 1] : (tensor<1x4xf32>) -> tensor<1x2xf32>
    %o = dataflow.slice %z starts [0, 2] sizes [1, 2] steps [1, 1] : (tensor<1x4xf32>) -> tensor<1x2xf32>
    %io = dataflow.mul %i, %o : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %next = dataflow.reduce max %io axes [1] : (tensor<1x2xf32>) -> tensor<1x1xf32>
    dataflow.yield %next : tensor<1x1xf32>
  }
  func.return %last : tensor<1x1xf32>
}

// -----

// A product before the loop whose rows are scanned, and cut into gates in each step.
// CHECK-LABEL: @main
// CHECK: [[W:%.+]] = dataflow.constant {{.*}}1.000000e+00, 3.000000e+00, 2.000000e+00, 4.000000e+00{{.*}} : tensor<1x4xf32>
// CHECK: [[P:%.+]] = dataflow.matmul %x, [[W]]
// CHECK: scan([[Q:%.+]] = [[P]] axis 0 backwards : tensor<3x1x4xf32>)
// CHECK-NEXT: dataflow.slice [[Q]] starts [0, 0] sizes [1, 2] steps [1, 2]
// CHECK-NEXT: dataflow.slice [[Q]] starts [0, 1] sizes [1, 2] steps [1, 2]
func.func @main(%x: tensor<3x1x1xf32>, %h0: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %w = dataflow.constant dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %p = dataflow.matmul %x, %w : (tensor<3x1x1xf32>, tensor<1x4xf32>) -> tensor<3x1x4xf32>
  %last = dataflow.loop 3 steps carry(%h = %h0 : tensor<1x2xf32>) scan(%q = %p axis 0 backwards : tensor<3x1x4xf32>) {
    %i = dataflow.slice %q starts [0, 0] sizes [1, 2] steps [1, 1] : (tensor<1x4xf32>) -> tensor<1x2xf32>
    %o = dataflow.slice %q starts [0, 2] sizes [1, 2] steps [1, 1] : (tensor<1x4xf32>) -> tensor<1x2xf32>
    %ih = dataflow.mul %i, %h : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %next = dataflow.add %ih, %o : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    dataflow.yield %next : tensor<1x2xf32>
  }
  func.return %last : tensor<1x2xf32>
}

// -----

// Weights with another reader would be stored twice; a carried value is in the order in which the loop has it; a slice of
// less than a gate, or the whole value read, needs the order of before.
// CHECK-LABEL: @main
// CHECK: dataflow.slice {{%.+}} starts [0, 0] sizes [1, 2] steps [1, 1]
// CHECK-NEXT: dataflow.slice {{%.+}} starts [0, 2] sizes [1, 2] steps [1, 1]
// CHECK: dataflow.slice {{%.+}} starts [0, 0] sizes [1, 2] steps [1, 1]
// CHECK-NEXT: dataflow.slice {{%.+}} starts [0, 2] sizes [1, 2] steps [1, 1]
// CHECK: dataflow.slice {{%.+}} starts [0, 0] sizes [1, 2] steps [1, 1]
// CHECK-NEXT: dataflow.slice {{%.+}} starts [0, 3] sizes [1, 1] steps [1, 1]
func.func @main(%h0: tensor<1x2xf32>, %c0: tensor<1x4xf32>) -> (tensor<1x2xf32>, tensor<1x4xf32>, tensor<2x4xf32>) {
  %r = dataflow.constant dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %q = dataflow.constant dense<[[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8]]> : tensor<2x4xf32>
  %again = dataflow.abs %r : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %last, %c = dataflow.loop 3 steps carry(%h = %h0 : tensor<1x2xf32>, %d = %c0 : tensor<1x4xf32>) {
    %m = dataflow.matmul %h, %r : (tensor<1x2xf32>, tensor<2x4xf32>) -> tensor<1x4xf32>
    %i = dataflow.slice %m starts [0, 0] sizes [1, 2] steps [1, 1] : (tensor<1x4xf32>) -> tensor<1x2xf32>
    %o = dataflow.slice %m starts [0, 2] sizes [1, 2] steps [1, 1] : (tensor<1x4xf32>) -> tensor<1x2xf32>
    %e = dataflow.tanh %d : (tensor<1x4xf32>) -> tensor<1x4xf32>
    %i2 = dataflow.slice %e starts [0, 0] sizes [1, 2] steps [1, 1] : (tensor<1x4xf32>) -> tensor<1x2xf32>
    %o2 = dataflow.slice %e starts [0, 2] sizes [1, 2] steps [1, 1] : (tensor<1x4xf32>) -> tensor<1x2xf32>
    %n = dataflow.matmul %h, %q : (tensor<1x2xf32>, tensor<2x4xf32>) -> tensor<1x4xf32>
    %i3 = dataflow.slice %n starts [0, 0] sizes [1, 2] steps [1, 1] : (tensor<1x4xf32>) -> tensor<1x2xf32>
    %o3 = dataflow.slice %n starts [0, 3] sizes [1, 1] steps [1, 1] : (tensor<1x4xf32>) -> tensor<1x1xf32>
    %io = dataflow.mul %i, %o : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %io2 = dataflow.mul %i2, %o2 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %io3 = dataflow.mul %i3, %o3 : (tensor<1x2xf32>, tensor<1x1xf32>) -> tensor<1x2xf32>
    %s = dataflow.add %io, %io2 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %t = dataflow.add %s, %io3 : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %next = dataflow.tanh %t : (tensor<1x2xf32>) -> tensor<1x2xf32>
    dataflow.yield %next, %e : tensor<1x2xf32>, tensor<1x4xf32>
  }
  func.return %last, %c, %again : tensor<1x2xf32>, tensor<1x4xf32>, tensor<2x4xf32>
}
