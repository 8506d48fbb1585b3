// -p 'manycore-schedule{chip=tiny}'
func.func @main(%x: tensor<64x64xf32>, %y: tensor<4096xf32>) -> tensor<64x64xf32> {
  %a = manycore.task @mm1(%p = %x : tensor<64x64xf32>, %q = %x : tensor<64x64xf32>) -> tensor<64x64xf32>
      tiled <grid = [1, 1, 1], cores = [0], steps = [1, 1, 1], order = [0, 1, 2]> {
    %0 = dataflow.matmul %p, %q : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  %b = manycore.task @tanh1(%p = %a : tensor<64x64xf32>) -> tensor<64x64xf32>
      tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.tanh %p : (tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  %c = manycore.task @tanh2(%p = %y : tensor<4096xf32>) -> tensor<4096xf32>
      tiled <grid = [1], cores = [0], steps = [1], order = [0]> {
    %0 = dataflow.tanh %p : (tensor<4096xf32>) -> tensor<4096xf32>
    manycore.yield %0 : tensor<4096xf32>
  }
  %d = dataflow.reshape %c : (tensor<4096xf32>) -> tensor<64x64xf32>
  %e = manycore.task @mm2(%p = %d : tensor<64x64xf32>, %q = %x : tensor<64x64xf32>) -> tensor<64x64xf32>
      tiled <grid = [1, 1, 1], cores = [0], steps = [1, 1, 1], order = [0, 1, 2]> {
    %0 = dataflow.matmul %p, %q : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  %s = manycore.task @sum(%p = %b : tensor<64x64xf32>, %q = %e : tensor<64x64xf32>) -> tensor<64x64xf32>
      tiled <grid = [1, 1], cores = [0], steps = [1, 1], order = [0, 1]> {
    %0 = dataflow.add %p, %q : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    manycore.yield %0 : tensor<64x64xf32>
  }
  func.return %s : tensor<64x64xf32>
}
