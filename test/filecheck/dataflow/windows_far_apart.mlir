// Windows of one element have no dilation, and one window has no stride: any number may stand there.
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -t 'emulate{chip=tiny inputs=iota}' | filecheck %s

// CHECK: y: tensor<1x1x1x7xf32> = [[[[-6., -4., -2.,  0.,  2.,  4.,  6.]]]]
// CHECK-NEXT: z: tensor<1x1x1x1xf32> = [[[[-6.]]]]
func.func @main(%x: tensor<1x1x1x7xf32>)
    -> (tensor<1x1x1x7xf32> {dataflow.name = "y"}, tensor<1x1x1x1xf32> {dataflow.name = "z"}) {
  %w = dataflow.constant dense<2.0> : tensor<1x1x1x1xf32>
  %y = dataflow.conv %x, %w strides [1, 1] dilations [1, 9223372036854775807] pad [0, 0] to [0, 0] groups 1
      : (tensor<1x1x1x7xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x7xf32>
  %z = dataflow.conv %x, %w strides [1, 9223372036854775807] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
      : (tensor<1x1x1x7xf32>, tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32>
  func.return %y, %z : tensor<1x1x1x7xf32>, tensor<1x1x1x1xf32>
}
