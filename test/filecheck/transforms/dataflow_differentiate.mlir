// RUN: meshloom-opt %s -p 'dataflow-differentiate{loss="mean-squared-error" optimizer="sgd" rate=0.5},canonicalize' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-differentiate{loss="mean-squared-error" optimizer="none"},canonicalize' | filecheck %s --check-prefix GRAD
// RUN: meshloom-opt %s -p 'dataflow-differentiate{loss="mean-squared-error" optimizer="adam"},canonicalize' | filecheck %s --check-prefix ADAM
// RUN: not meshloom-opt %s -p 'dataflow-differentiate{parameters="c*"}' 2>&1 | filecheck %s --check-prefix NONE
// RUN: not meshloom-opt %s -p 'dataflow-differentiate{loss="result"}' 2>&1 | filecheck %s --check-prefix RESULT

// y = x w; loss = mean (y - t)^2 over 6 elements; dy = 2 (y - t) / 6; dw = x' dy; w' = w - dw / 2

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%x: tensor<2x4xf32> {dataflow.name = "x"}, %w: tensor<4x3xf32> {dataflow.name = "w", dataflow.parameter}, %target: tensor<2x3xf32> {dataflow.name = "target"})
// CHECK-SAME: -> (tensor<f32> {dataflow.name = "loss"}, tensor<4x3xf32> {dataflow.name = "new.w"})
// CHECK: [[Y:%[^ ]+]] = dataflow.matmul %x, %w
// CHECK-NEXT: [[D:%[^ ]+]] = dataflow.sub [[Y]], %target
// CHECK-NEXT: dataflow.mul [[D]], [[D]]
// CHECK: [[DW:%[^ ]+]] = dataflow.matmul %x, {{%[^ ]+}} transpose_a
// CHECK: [[STEP:%[^ ]+]] = dataflow.mul [[DW]]
// CHECK-NEXT: [[NEW:%[^ ]+]] = dataflow.sub %w, [[STEP]]
// CHECK-NEXT: func.return {{%[^ ]+}}, [[NEW]]

// GRAD: -> (tensor<f32> {dataflow.name = "loss"}, tensor<4x3xf32> {dataflow.name = "grad.w"})

// ADAM: {dataflow.name = "step"}, %w_mean: tensor<4x3xf32> {dataflow.name = "w.mean"}, %w_variance: tensor<4x3xf32> {dataflow.name = "w.variance"})
// ADAM-SAME: "loss"}, tensor<4x3xf32> {dataflow.name = "new.w"}, tensor<f32> {dataflow.name = "new.step"}, tensor<4x3xf32> {dataflow.name = "new.w.mean"}, tensor<4x3xf32> {dataflow.name = "new.w.variance"})

// NONE: no float weight or input is named 'c*'
// RESULT: loss="result" needs a first result of one float, it is tensor<2x3xf32>
func.func @main(%x: tensor<2x4xf32> {dataflow.name = "x"}, %w: tensor<4x3xf32> {dataflow.name = "w", dataflow.parameter}) -> (tensor<2x3xf32> {dataflow.name = "y"}) {
  %y = dataflow.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  func.return %y : tensor<2x3xf32>
}
