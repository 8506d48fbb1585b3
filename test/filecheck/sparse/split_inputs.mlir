// RUN: meshloom-opt %s -p 'sparse-split-inputs{chip=grid}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-prune{density=0.1},sparse-split-inputs{chip=grid}' | filecheck %s --check-prefix=PARTS
// RUN: not meshloom-opt %s -p 'sparse-split-inputs' 2>&1 | filecheck %s --check-prefix=CHIP

// A product that takes a few loads of weights is faster in one than in two tasks; dense weights are not cut.
// CHECK: %y = dataflow.matmul %x, %w : (tensor<1x4xf32>, tensor<4x2xf32>) -> tensor<1x2xf32>
// CHECK: %y = dataflow.matmul %x, %w transpose_b
// PARTS: %y = dataflow.matmul %x, %w : (tensor<1x4xf32>, tensor<4x2xf32>) -> tensor<1x2xf32>
// CHIP:  error: {{.*}}no chip is given: use sparse-split-inputs{chip=NAME}
func.func @main(%x: tensor<1x4xf32>) -> tensor<1x2xf32> {
  %w = dataflow.constant dense<[[1.0, 0.0], [3.0, 0.0], [5.0, 0.0], [0.0, 8.0]]> : tensor<4x2xf32>
  %y = dataflow.matmul %x, %w : (tensor<1x4xf32>, tensor<4x2xf32>) -> tensor<1x2xf32>
  func.return %y : tensor<1x2xf32>
}

// Of a tenth of the weights, six neurons of 64 have all of theirs: in one product they share lanes with few others, in parts all lanes have some.
// PARTS:      func.func @six(%x: tensor<1x1024xf32>)
// PARTS-NEXT:   %y = dataflow.reshape %x : (tensor<1x1024xf32>) -> tensor<1x1024x1xf32>
// PARTS-NEXT:   %w = dataflow.weight @w_parts {{.*}} : tensor<1024x64x1xf32>
// PARTS-NEXT:   %y_1 = dataflow.conv %y, %w strides [1] dilations [1] pad [0] to [0] groups 16 : (tensor<1x1024x1xf32>, tensor<1024x64x1xf32>) -> tensor<1x1024x1xf32>
// PARTS-NEXT:   %y_2 = dataflow.reshape %y_1 : (tensor<1x1024x1xf32>) -> tensor<16x64xf32>
// PARTS-NEXT:   %y_3 = dataflow.reduce sum %y_2 axes [0] : (tensor<16x64xf32>) -> tensor<1x64xf32>
// PARTS-NEXT:   %y_4 = dataflow.reshape %y_3 : (tensor<1x64xf32>) -> tensor<1x64xf32>
// PARTS-NEXT:   func.return %y_4 : tensor<1x64xf32>
func.func @six(%x: tensor<1x1024xf32>) -> tensor<1x64xf32> {
  %w = dataflow.constant dense<1.0> : tensor<64x1024xf32>
  %y = dataflow.matmul %x, %w transpose_b : (tensor<1x1024xf32>, tensor<64x1024xf32>) -> tensor<1x64xf32>
  func.return %y : tensor<1x64xf32>
}
