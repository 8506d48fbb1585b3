// The same network whole and cut in three ways: the values do not depend on the tiling.
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s

// x[i] counts -3..3, w likewise: y = relu(x w + b), worked out with numpy.
// CHECK:      whole: tensor<3x5xf32> = [
// CHECK-SAME: [13., 4., 16., 0., 5.],
// CHECK-NEXT: [17., 2., 8., 0., 0.],
// CHECK-NEXT: [ 7., 0., 0., 7., 0.]]
// CHECK-NEXT: tiled: tensor<3x5xf32> = [
// CHECK-SAME: [13., 4., 16., 0., 5.],
// CHECK-NEXT: [17., 2., 8., 0., 0.],
// CHECK-NEXT: [ 7., 0., 0., 7., 0.]]
// CHECK-NEXT: window: tensor<1x1x5xf32> = [{{\[\[}}-2., -1., 0., 1., 1.]]]
func.func @main(%x: tensor<3x8xf32>, %w: tensor<8x5xf32>, %b: tensor<5xf32>, %s: tensor<1x1x5xf32>)
    -> (tensor<3x5xf32> {dataflow.name = "whole"}, tensor<3x5xf32> {dataflow.name = "tiled"},
        tensor<1x1x5xf32> {dataflow.name = "window"}) {
  %0 = dataflow.matmul %x, %w : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
  %1 = dataflow.add %0, %b : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
  %whole = dataflow.relu %1 : (tensor<3x5xf32>) -> tensor<3x5xf32>
  %tiled = manycore.task @dense(%p = %x : tensor<3x8xf32>, %q = %w : tensor<8x5xf32>, %r = %b : tensor<5xf32>)
      -> tensor<3x5xf32> tiled <grid = [2, 2, 1], cores = [0, 1, 2, 3], steps = [2, 1, 3], order = [2, 0, 1]> {
    %2 = dataflow.matmul %p, %q : (tensor<3x8xf32>, tensor<8x5xf32>) -> tensor<3x5xf32>
    %3 = dataflow.add %2, %r : (tensor<3x5xf32>, tensor<5xf32>) -> tensor<3x5xf32>
    %4 = dataflow.relu %3 : (tensor<3x5xf32>) -> tensor<3x5xf32>
    manycore.yield %4 : tensor<3x5xf32>
  }
  %window = manycore.task @pool(%v = %s : tensor<1x1x5xf32>) -> tensor<1x1x5xf32>
      tiled <grid = [1, 1, 2, 1], cores = [0, 3], steps = [1, 1, 2, 1], order = [0, 1, 2, 3]> {
    %5 = dataflow.reduce_window max %v window [1, 1, 3] strides [1, 1, 1] dilations [1, 1, 1] pad [0, 0, 1] to [0, 0, 1]
        : (tensor<1x1x5xf32>) -> tensor<1x1x5xf32>
    manycore.yield %5 : tensor<1x1x5xf32>
  }
  func.return %whole, %tiled, %window : tensor<3x5xf32>, tensor<3x5xf32>, tensor<1x1x5xf32>
}
