// RUN: meshloom-opt %s | meshloom-opt | filecheck %s
// RUN: meshloom-opt %s --print-op-generic | meshloom-opt | filecheck %s

// CHECK:      %s, %t = memory.swap_out %y : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
// CHECK-NEXT: %y1 = memory.await %y after(%t) : tensor<4xf32>
// CHECK-NEXT: %z = dataflow.neg %y1 : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT: %q = memory.completion %z : tensor<4xf32>
// CHECK-NEXT: %c, %ct = memory.compress %z after(%t, %q) : tensor<4xf32> to !memory.stash<tensor<4xf32>, dram, f24>
// CHECK-NEXT: %h, %ht = memory.swap_out %c : !memory.stash<tensor<4xf32>, dram, f24> to !memory.stash<tensor<4xf32>, host, f24>
// CHECK-NEXT: %y2, %t2 = memory.swap_in %s after(%q) : !memory.stash<tensor<4xf32>, host> to tensor<4xf32>
// CHECK-NEXT: %d, %dt = memory.swap_in %h : !memory.stash<tensor<4xf32>, host, f24> to !memory.stash<tensor<4xf32>, dram, f24>
// CHECK-NEXT: %z2, %zt = memory.decompress %d : !memory.stash<tensor<4xf32>, dram, f24> to tensor<4xf32>
// CHECK-NEXT: %r, %rt = memory.recompute(%x) after(%zt) : (tensor<4xf32>) -> tensor<4xf32> {
// CHECK-NEXT: ^bb0(%a: tensor<4xf32>):
// CHECK-NEXT:   %0 = dataflow.relu %a : (tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:   memory.yield %0 : tensor<4xf32>
// CHECK-NEXT: }
func.func @main(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %y = dataflow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %s, %t = memory.swap_out %y : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
  %y1 = memory.await %y after(%t) : tensor<4xf32>
  %z = dataflow.neg %y1 : (tensor<4xf32>) -> tensor<4xf32>
  %q = memory.completion %z : tensor<4xf32>
  %c, %ct = memory.compress %z after(%t, %q) : tensor<4xf32> to !memory.stash<tensor<4xf32>, dram, f24>
  %h, %ht = memory.swap_out %c : !memory.stash<tensor<4xf32>, dram, f24> to !memory.stash<tensor<4xf32>, host, f24>
  %y2, %t2 = memory.swap_in %s after(%q) : !memory.stash<tensor<4xf32>, host> to tensor<4xf32>
  %d, %dt = memory.swap_in %h : !memory.stash<tensor<4xf32>, host, f24> to !memory.stash<tensor<4xf32>, dram, f24>
  %z2, %zt = memory.decompress %d : !memory.stash<tensor<4xf32>, dram, f24> to tensor<4xf32>
  %r, %rt = memory.recompute(%x) after(%zt) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = dataflow.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    memory.yield %0 : tensor<4xf32>
  }
  func.return %y2, %z2, %r : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}
