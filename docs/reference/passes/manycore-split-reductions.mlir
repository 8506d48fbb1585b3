// -p 'manycore-split-reductions{chip=edge}'
func.func @main(%x: tensor<1x512x14x14xf32>, %w: tensor<128x512x1x1xf32>) -> tensor<1x128x14x14xf32> {
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
  func.return %0 : tensor<1x128x14x14xf32>
}
