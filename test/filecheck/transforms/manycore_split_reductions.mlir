// RUN: meshloom-opt %s -p 'manycore-split-reductions{chip=edge}' --check-semantics | filecheck %s
// RUN: not meshloom-opt %s -p manycore-split-reductions 2>&1 | filecheck %s --check-prefix=NOCHIP

// NOCHIP: error: {{.*}}no chip is given: use manycore-split-reductions{chip=NAME}, or module attribute manycore.chip

// 512 channels at few positions: sixteen cores that all read all channels would wait for them. @few has nothing to gain.

// CHECK:      manycore.task @many.parts(
// CHECK-NEXT:   dataflow.partial_conv %{{.*}}, %{{.*}} parts {{[0-9]+}} strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0]
// CHECK:      manycore.task @many(
// CHECK-NEXT:   dataflow.reduce sum %{{.*}} axes [0]
// CHECK-NEXT:   dataflow.relu
// CHECK:      manycore.task @few(
// CHECK-NEXT:   dataflow.conv
// Sixteen rows: sixteen cores with a few columns each would all read all of the rows, and the array would not be filled.
// CHECK:      [[P:%.+]] = manycore.task @rows.parts(
// CHECK-NEXT:   dataflow.partial_matmul %{{.*}}, %{{.*}} parts {{[0-9]+}} : (tensor<16x768xf32>, tensor<768x384xi8>)
// CHECK:      [[S:%.+]] = manycore.task @rows(%{{.*}} = [[P]] : {{.*}}) -> tensor<1x16x384xf32>
// CHECK-NEXT:   dataflow.reduce sum %{{.*}} axes [0]
// CHECK-NEXT:   dataflow.mul %{{.*}} : (tensor<1x16x384xf32>, tensor<1x384xf32>) -> tensor<1x16x384xf32>
// CHECK:      dataflow.reshape [[S]] : (tensor<1x16x384xf32>) -> tensor<16x384xf32>
// One element: a single core would read all of the input.
// CHECK:      manycore.task @all.parts(
// CHECK-NEXT:   dataflow.reduce max %{{.*}} axes [0, 2] : (tensor<1x256x4096xf32>) -> tensor<1x256x1xf32>
// CHECK:      manycore.task @all(
// CHECK-NEXT:   dataflow.reduce max %{{.*}} axes [1] : (tensor<1x256x1xf32>) -> tensor<1x1x1xf32>
// CHECK-NEXT:   dataflow.relu
func.func @main(%x: tensor<1x512x14x14xf32>, %w: tensor<128x512x1x1xf32>, %v: tensor<4x128x1x1xf32>, %i: tensor<768x384xi8>, %s: tensor<1x384xf32>, %long_input: tensor<1x256x4096xf32>) -> (tensor<1x4x14x14xf32>, tensor<16x384xf32>, tensor<1x1x1xf32>) {
  %r = manycore.task @first(%a = %x : tensor<1x512x14x14xf32>) -> tensor<1x512x14x14xf32>
      tiled <grid = [1, 1, 1, 1], cores = [0], steps = [1, 1, 1, 1], order = [0, 1, 2, 3]> {
    %5 = dataflow.relu %a : (tensor<1x512x14x14xf32>) -> tensor<1x512x14x14xf32>
    manycore.yield %5 : tensor<1x512x14x14xf32>
  }
  %0 = manycore.task @many(%a = %r : tensor<1x512x14x14xf32>, %b = %w : tensor<128x512x1x1xf32>) -> tensor<1x128x14x14xf32>
      tiled <grid = [1, 1, 1, 1, 1, 1, 1], cores = [0], steps = [1, 1, 1, 1, 1, 1, 1], order = [0, 1, 2, 3, 4, 5, 6]> {
    %1 = dataflow.conv %a, %b strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1 : (tensor<1x512x14x14xf32>, tensor<128x512x1x1xf32>) -> tensor<1x128x14x14xf32>
    %2 = dataflow.relu %1 : (tensor<1x128x14x14xf32>) -> tensor<1x128x14x14xf32>
    manycore.yield %2 : tensor<1x128x14x14xf32>
  }
  %3 = manycore.task @few(%a = %0 : tensor<1x128x14x14xf32>, %b = %v : tensor<4x128x1x1xf32>) -> tensor<1x4x14x14xf32>
      tiled <grid = [1, 1, 1, 1, 1, 1, 1], cores = [0], steps = [1, 1, 1, 1, 1, 1, 1], order = [0, 1, 2, 3, 4, 5, 6]> {
    %4 = dataflow.conv %a, %b strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1 : (tensor<1x128x14x14xf32>, tensor<4x128x1x1xf32>) -> tensor<1x4x14x14xf32>
    manycore.yield %4 : tensor<1x4x14x14xf32>
  }
  %flat = dataflow.reshape %3 : (tensor<1x4x14x14xf32>) -> tensor<16x49xf32>
  %long = manycore.task @long(%a = %flat : tensor<16x49xf32>) -> tensor<16x768xf32>
      tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %6 = dataflow.pad %a low [0, 0] high [0, 719] interior [0, 0] value 0.0 : f32 : (tensor<16x49xf32>) -> tensor<16x768xf32>
    manycore.yield %6 : tensor<16x768xf32>
  }
  %7 = manycore.task @rows(%a = %long : tensor<16x768xf32>, %b = %i : tensor<768x384xi8>, %c = %s : tensor<1x384xf32>) -> tensor<16x384xf32>
      tiled <grid = [1, 1, 1], cores = [0], steps = [1, 1, 1], order = [0, 1, 2]> {
    %8 = dataflow.matmul %a, %b : (tensor<16x768xf32>, tensor<768x384xi8>) -> tensor<16x384xf32>
    %9 = dataflow.mul %8, %c : (tensor<16x384xf32>, tensor<1x384xf32>) -> tensor<16x384xf32>
    manycore.yield %9 : tensor<16x384xf32>
  }
  %last = manycore.task @last(%a = %7 : tensor<16x384xf32>) -> tensor<16x384xf32>
      tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %10 = dataflow.relu %a : (tensor<16x384xf32>) -> tensor<16x384xf32>
    manycore.yield %10 : tensor<16x384xf32>
  }
  %11 = manycore.task @all(%a = %long_input : tensor<1x256x4096xf32>) -> tensor<1x1x1xf32>
      tiled <grid = [1, 1, 1], cores = [0], steps = [1, 1, 1], order = [0, 1, 2]> {
    %12 = dataflow.reduce max %a axes [0, 1, 2] : (tensor<1x256x4096xf32>) -> tensor<1x1x1xf32>
    %13 = dataflow.relu %12 : (tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
    manycore.yield %13 : tensor<1x1x1xf32>
  }
  %least = manycore.task @least(%a = %11 : tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
      tiled <grid = [1, 1, 1], cores = [0], steps = [1, 1, 1], order = [0, 1, 2]> {
    %14 = dataflow.neg %a : (tensor<1x1x1xf32>) -> tensor<1x1x1xf32>
    manycore.yield %14 : tensor<1x1x1xf32>
  }
  func.return %3, %last, %least : tensor<1x4x14x14xf32>, tensor<16x384xf32>, tensor<1x1x1xf32>
}
