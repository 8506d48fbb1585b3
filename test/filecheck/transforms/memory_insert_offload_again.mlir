// RUN: meshloom-opt %s -p 'memory-insert-offload{chip=tiny th-tts=1000 kinds=swap}' --check-semantics | filecheck %s

// The pass keeps the operations of `memory` that a module has, and adds to them: %b, too, is offloaded. What reads %a
// while it is copied to the host still reads it by `memory.await`.
// CHECK:      [[A:%[^ ]+]], {{%[^ ]+}} = memory.swap_out %a : tensor<4x32xf32> to !memory.stash<tensor<4x32xf32>, host>
// CHECK:      [[KEPT:%[^ ]+]] = memory.await %a : tensor<4x32xf32>
// CHECK-NEXT: manycore.subgraph @b({{%[^ ]+}} = [[KEPT]]
// CHECK:      memory.swap_out %b : tensor<4x32xf32> to !memory.stash<tensor<4x32xf32>, host>
// CHECK:      memory.swap_in
// CHECK-DAG:  memory.swap_in [[A]]
func.func @main(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %a = dataflow.neg %x : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %stash, %left = memory.swap_out %a : tensor<4x32xf32> to !memory.stash<tensor<4x32xf32>, host>
  %kept = memory.await %a : tensor<4x32xf32>
  %b = dataflow.exp %kept : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %c = dataflow.abs %b : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %d = dataflow.neg %c : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %e = dataflow.tanh %d : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %f = dataflow.sub %e, %b : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %again, %back = memory.swap_in %stash : !memory.stash<tensor<4x32xf32>, host> to tensor<4x32xf32>
  %g = dataflow.sub %f, %again : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %g : tensor<4x32xf32>
}
