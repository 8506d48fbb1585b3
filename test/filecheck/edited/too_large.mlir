// Tasks that do not fit as the text tiles them: an error, not another cut, as a result that stays in SRAM cannot pass from
// one launch to another.
// RUN: not meshloom-compile %s -o %t.mlx 2>&1 | filecheck %s
// CHECK: error: the network, as it is tiled and prefetched, does not fit chip 'tiny': it needs 106,496 bytes of SRAM of a core, 65,536 are available
// CHECK-SAME: task 'big' does not fit as it is tiled

// With the first task in more steps the same text fits.
// RUN: sed '/@big/,/prefetch/s/steps = .1, 1, 1./steps = [8, 1, 2]/' %s > %t.steps.mlir
// RUN: meshloom-compile -q %t.steps.mlir -o %t.mlx
// RUN: meshloom-objdump --mlir %t.mlx | filecheck %s --check-prefix STEPS
// STEPS: ctl.launch launch(0)
// STEPS-NOT: ctl.launch launch(1)
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<64x256xf32> {dataflow.name = "x"}, %w: tensor<256x64xf32> {dataflow.name = "w"}, %v: tensor<64x64xf32> {dataflow.name = "v"}) -> (tensor<64x64xf32> {dataflow.name = "y"}) {
    %big = manycore.task @big(%a = %x : tensor<64x256xf32>, %b = %w : tensor<256x64xf32>) -> tensor<64x64xf32>
        in sram tiled <grid = [2, 1, 1], cores = [0, 1], steps = [1, 1, 1], order = [0, 1, 2]> prefetch 0 {
      %0 = dataflow.matmul %a, %b : (tensor<64x256xf32>, tensor<256x64xf32>) -> tensor<64x64xf32>
      manycore.yield %0 : tensor<64x64xf32>
    }
    %y = manycore.task @next(%a = %big : tensor<64x64xf32>, %b = %v : tensor<64x64xf32>) -> tensor<64x64xf32>
        in dram tiled <grid = [2, 1, 1], cores = [0, 1], steps = [1, 1, 1], order = [0, 1, 2]> prefetch 0 {
      %0 = dataflow.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
      manycore.yield %0 : tensor<64x64xf32>
    }
    func.return %y : tensor<64x64xf32>
  }
}
