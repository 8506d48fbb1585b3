// RUN: meshloom-opt %s -t interpret | filecheck %s

// 2049 = 2^11 + 1 lies between two f16 (2048, the even one, and 2050), 257 between two bf16 (256, 258), 65537 between
// two f24 (65536, 65538); 17 between two f8e4m3 (16, 18), 9 between two f8e5m2 (8, 10); -90000 is beyond f16 and f8.
// CHECK:      swapped: tensor<3xf32> = [  2049.,      1., -90000.]
// CHECK-NEXT: f16: tensor<3xf32> = [2048.,    1.,  -inf]
// CHECK-NEXT: bf16: tensor<2xf32> = [256., 258.]
// CHECK-NEXT: f24: tensor<2xf32> = [65536., 65540.]
// CHECK-NEXT: f8e4m3: tensor<3xf32> = [16.      ,  0.015625,       nan]
// CHECK-NEXT: f8e5m2: tensor<3xf32> = [  8.,  12., -inf]
// CHECK-NEXT: again: tensor<3xf32> = [2049.,    1.,    0.]
func.func @main() -> (tensor<3xf32> {dataflow.name = "swapped"}, tensor<3xf32> {dataflow.name = "f16"},
    tensor<2xf32> {dataflow.name = "bf16"}, tensor<2xf32> {dataflow.name = "f24"},
    tensor<3xf32> {dataflow.name = "f8e4m3"}, tensor<3xf32> {dataflow.name = "f8e5m2"},
    tensor<3xf32> {dataflow.name = "again"}) {
  %x = dataflow.constant dense<[2049.0, 1.0, -90000.0]> : tensor<3xf32>
  %c, %ct = memory.compress %x : tensor<3xf32> to !memory.stash<tensor<3xf32>, dram, f16>
  %s, %st = memory.swap_out %c : !memory.stash<tensor<3xf32>, dram, f16> to !memory.stash<tensor<3xf32>, host, f16>
  %i, %it = memory.swap_in %s : !memory.stash<tensor<3xf32>, host, f16> to !memory.stash<tensor<3xf32>, dram, f16>
  %y, %yt = memory.decompress %i : !memory.stash<tensor<3xf32>, dram, f16> to tensor<3xf32>
  %x1 = dataflow.constant dense<[2049.0, 1.0, -90000.0]> : tensor<3xf32>
  %s1, %st1 = memory.swap_out %x1 : tensor<3xf32> to !memory.stash<tensor<3xf32>, host>
  %k = memory.await %x1 after(%st1) : tensor<3xf32>
  %r, %rt = memory.recompute(%k) after(%st1) : (tensor<3xf32>) -> tensor<3xf32> {
  ^bb0(%a: tensor<3xf32>):
    %0 = dataflow.relu %a : (tensor<3xf32>) -> tensor<3xf32>
    memory.yield %0 : tensor<3xf32>
  }
  %y1, %yt1 = memory.swap_in %s1 after(%rt) : !memory.stash<tensor<3xf32>, host> to tensor<3xf32>
  %x2 = dataflow.constant dense<[257.0, 258.9]> : tensor<2xf32>
  %c2, %ct2 = memory.compress %x2 : tensor<2xf32> to !memory.stash<tensor<2xf32>, dram, bf16>
  %y2, %yt2 = memory.decompress %c2 : !memory.stash<tensor<2xf32>, dram, bf16> to tensor<2xf32>
  %x3 = dataflow.constant dense<[65537.0, 65539.0]> : tensor<2xf32>
  %c3, %ct3 = memory.compress %x3 : tensor<2xf32> to !memory.stash<tensor<2xf32>, dram, f24>
  %y3, %yt3 = memory.decompress %c3 : !memory.stash<tensor<2xf32>, dram, f24> to tensor<2xf32>
  %x4 = dataflow.constant dense<[17.0, 0.015625, -90000.0]> : tensor<3xf32>
  %c4, %ct4 = memory.compress %x4 : tensor<3xf32> to !memory.stash<tensor<3xf32>, dram, f8e4m3>
  %y4, %yt4 = memory.decompress %c4 : !memory.stash<tensor<3xf32>, dram, f8e4m3> to tensor<3xf32>
  %x5 = dataflow.constant dense<[9.0, 11.0, -90000.0]> : tensor<3xf32>
  %c5, %ct5 = memory.compress %x5 : tensor<3xf32> to !memory.stash<tensor<3xf32>, dram, f8e5m2>
  %y5, %yt5 = memory.decompress %c5 : !memory.stash<tensor<3xf32>, dram, f8e5m2> to tensor<3xf32>
  func.return %y1, %y, %y2, %y3, %y4, %y5, %r
    : tensor<3xf32>, tensor<3xf32>, tensor<2xf32>, tensor<2xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>
}
