// Tilings that cannot be carried out: one error each, with the task's name and the remedy.
// RUN: not meshloom-opt %s -p 'manycore-tile' 2>&1 | filecheck %s
// RUN: sed 's/steps = .4, 1, 1./steps = [1, 1, 1]/; s/in sram/in dram/' %s | not meshloom-opt -p manycore-tile 2>&1 | filecheck %s --check-prefix=BIG
// RUN: sed 's/in sram/in host/' %s | not meshloom-opt -p manycore-tile 2>&1 | filecheck %s --check-prefix=HOST
// RUN: sed 's/in sram/in dram/; s/steps = .4, 1, 1./steps = [8, 1, 8]/; s/order = .0, 1, 2./order = [2, 1, 0]/' %s | not meshloom-opt -p manycore-tile 2>&1 | filecheck %s --check-prefix=ORDER

// CHECK: error: {{.*}}task 'big' leaves its result in sram, but it is a result of the function or read by index: place it in dram
// BIG: error: {{.*}}task 'big' does not fit as it is tiled: it needs {{[0-9]+}} bytes of SRAM on core 1 (65536 of them for 'w'), where 65536 of 65536 are free; cut it into more steps
// HOST: error: {{.*}}task 'big' leaves its result in host memory: cores can only write to sram and dram
// ORDER: error: {{.*}}task 'big': order = [2, 1, 0] loops over the reduced dimensions [2] outside of others; put the reduced ones last
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<64x256xf32>, %w: tensor<256x64xf32>) -> tensor<64x64xf32> {
    %big = manycore.task @big(%a = %x : tensor<64x256xf32>, %b = %w : tensor<256x64xf32>) -> tensor<64x64xf32>
        in sram tiled <grid = [2, 1, 1], cores = [0, 1], steps = [4, 1, 1], order = [0, 1, 2]> {
      %0 = dataflow.matmul %a, %b : (tensor<64x256xf32>, tensor<256x64xf32>) -> tensor<64x64xf32>
      manycore.yield %0 : tensor<64x64xf32>
    }
    func.return %big : tensor<64x64xf32>
  }
}
