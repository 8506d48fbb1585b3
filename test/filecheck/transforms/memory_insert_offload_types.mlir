// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=named names=m,a,b,c,d,e,f},memory-insert-offload{chip="tiny" th-tts=1000 kinds="compress"}' | filecheck %s
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=named names=m,a,b,c,d,e,f},memory-insert-offload{chip="tiny" th-tts=1000 kinds="swap"}' --check-semantics | filecheck %s --check-prefix SWAP

// A mask of i1 waits longest; only f32 is compressed, everything can be swapped.
// CHECK-NOT:  tensor<8x64xi1> to
// CHECK:      memory.compress %a : tensor<8x64xf32>
// CHECK-NOT:  tensor<8x64xi1> to
// SWAP:       memory.swap_out %m : tensor<8x64xi1> to !memory.stash<tensor<8x64xi1>, host>
func.func @main(%x: tensor<8x64xf32>) -> tensor<8x64xf32> {
  %m = dataflow.compare lt %x, %x : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xi1>
  %a = dataflow.neg %x : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %b = dataflow.exp %a : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %c = dataflow.abs %b : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %d = dataflow.mul %c, %b : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %e = dataflow.tanh %d : (tensor<8x64xf32>) -> tensor<8x64xf32>
  %f = dataflow.sub %e, %a : (tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  %g = dataflow.select %m, %f, %x : (tensor<8x64xi1>, tensor<8x64xf32>, tensor<8x64xf32>) -> tensor<8x64xf32>
  func.return %g : tensor<8x64xf32>
}
