// Both units of a core compute channels of a depthwise convolution: on one core, 8 channels of 12 x 12 positions and
// 3 x 3 weights. One channel takes 12 * 12 * 9 / 8 = 162 cycles of the vector unit; of the matrix unit, of which 8 of the
// 9 rows of weights fill an array, 2 * (12 * 12 + 2 * 8 + 8 - 2) = 332. Of the 8 channels it takes two: 664 cycles, while
// the vector unit needs 4 + 6 * 162 = 976.

// RUN: meshloom-compile %s --chip tiny -o %t.mlx -q && meshloom-objdump %t.mlx -d | filecheck %s
// RUN: meshloom-run %t.mlx --random 0 --check %s -q
// CHECK:      .desc [6, 12, 12] [576, 48, 4]  ; d2
// CHECK:      .desc [2, 12, 12] [576, 48, 4]  ; d5
// CHECK:      dot f32 [{{.*}}, d2], {{.*}} wait(load)
// CHECK-NEXT: matmul f32 [{{.*}}, d5], {{.*}} wait(load)
func.func @main(%x: tensor<1x8x14x14xf32> {dataflow.name = "x"}, %w: tensor<8x1x3x3xf32> {dataflow.name = "w"})
    -> (tensor<1x8x12x12xf32> {dataflow.name = "y"}) {
  %y = manycore.task @conv(%a = %x : tensor<1x8x14x14xf32>, %b = %w : tensor<8x1x3x3xf32>) -> tensor<1x8x12x12xf32>
      in dram tiled <grid = [1, 1, 1, 1, 1, 1, 1], cores = [0], steps = [1, 1, 1, 1, 1, 1, 1], order = [0, 1, 2, 3, 4, 5, 6]> {
    %0 = dataflow.conv %a, %b strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 8
      : (tensor<1x8x14x14xf32>, tensor<8x1x3x3xf32>) -> tensor<1x8x12x12xf32>
    manycore.yield %0 : tensor<1x8x12x12xf32>
  }
  func.return %y : tensor<1x8x12x12xf32>
}
