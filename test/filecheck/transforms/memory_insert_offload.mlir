// The thresholds of spec 1 on launches as they are compiled, at figures 6 to 8: one reduction, one restoration.

// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=named names=a,b,c,d,e,f},memory-insert-offload{chip="tiny" th-tts=2000}' --check-semantics | filecheck %s --check-prefix SWAP
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=named names=a,b,c,d,e,f},memory-insert-offload{chip="tiny" th-tts=2000 kinds="compress" format="bf16"}' | filecheck %s --check-prefix BF16
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=named names=a,b,c,d,e,f},memory-insert-offload{chip="tiny" th-tts=2000 kinds="swap","compress" format="f24"}' | filecheck %s --check-prefix BOTH
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=named names=a,b,c,d,e,f},memory-insert-offload{chip="tiny" th-tts=2000 kinds="recompute"}' --check-semantics | filecheck %s --check-prefix AGAIN
// RUN: meshloom-opt %s -p 'memory-insert-offload{chip="tiny" th-tts=2000}' 2>&1 | filecheck %s --check-prefix MORE
// RUN: meshloom-opt %s -p 'memory-insert-offload{chip="tiny" th-tts=1000000}' 2>&1 | filecheck %s --check-prefix NONE
// RUN: meshloom-opt %s -p 'memory-insert-offload{chip="tiny" budget=0.8}' 2>&1 | filecheck %s --check-prefix GAIN
// RUN: not meshloom-opt %s -p 'memory-insert-offload{chip="tiny" budget=500}' 2>&1 | filecheck %s --check-prefix SMALL
// RUN: not meshloom-opt %s -p 'memory-insert-offload{chip="tiny" budget=0.8 kinds="zip"}' 2>&1 | filecheck %s --check-prefix KIND
// RUN: not meshloom-opt %s -p 'memory-insert-offload{chip="tiny" kinds="compress" format="f12"}' 2>&1 | filecheck %s --check-prefix FORMAT
// RUN: not meshloom-opt %s -p 'memory-insert-offload{chip="tiny" n=-1}' 2>&1 | filecheck %s --check-prefix COUNT
// RUN: not meshloom-opt %s -p 'memory-insert-offload{chip="tiny" n=1 launch-bytes=64}' 2>&1 | filecheck %s --check-prefix SHARE

// In one launch, only the input and the result are in DRAM: where the operations are no launches, nothing is offloaded.
// MORE: note: memory saving has no gain: the network needs 1024 bytes of DRAM without it, {{[0-9]+}} with it
// MORE-NOT: manycore.subgraph
// NONE: note: the thresholds select no tensor to offload
// NONE-NOT: manycore.subgraph
// All values between operations stay in the cores: one launch needs its input and its result, 512 bytes each.
// GAIN: note: memory saving has no gain: a single launch needs the least, 1024 bytes
// GAIN-NOT: manycore.subgraph
// SMALL: a budget of 500 bytes of DRAM is too small: memory saving has no gain: a single launch needs the least, 1024 bytes; 1024 bytes are enough
// KIND: 'zip' is not one of swap, compress, recompute
// FORMAT: f12: expected one of f16, bf16, f24, f8e4m3, f8e5m2
// COUNT: n=-1: expected a number of at least 0
// SHARE: --launch-bytes cannot be combined with thresholds

// Figure 6: what comes behind waits until the tensor has left (serialize); the copy back begins in time (prefetch).
// SWAP:      %a = manycore.subgraph @"0"
// SWAP:      [[S:%[^ ]+]], [[GONE:%[^ ]+]] = memory.swap_out %a : tensor<4x32xf32> to !memory.stash<tensor<4x32xf32>, host>
// SWAP-NEXT: [[K:%[^ ]+]] = memory.await %a after([[GONE]])
// SWAP:      manycore.subgraph @"1"({{.*}} = [[K]]
// SWAP:      [[DONE:%[^ ]+]] = memory.completion
// SWAP:      [[A:%[^ ]+]], {{%[^ ]+}} = memory.swap_in [[S]] after([[DONE]])
// SWAP:      dataflow.sub
// SWAP-NOT:  memory.

// Figure 7.
// BF16:      memory.compress %a : tensor<4x32xf32> to !memory.stash<tensor<4x32xf32>, dram, bf16>
// BF16:      memory.decompress

// Figure 8: compress, copy, copy back, decompress.
// BOTH:      [[C:%[^ ]+]], {{%[^ ]+}} = memory.compress %a : tensor<4x32xf32> to !memory.stash<tensor<4x32xf32>, dram, f24>
// BOTH:      [[S:%[^ ]+]], {{%[^ ]+}} = memory.swap_out [[C]]
// BOTH:      [[I:%[^ ]+]], {{%[^ ]+}} = memory.swap_in [[S]]
// BOTH:      memory.decompress [[I]]

// Dropped, and computed again from the input, which the host still has.
// AGAIN-NOT: swap_out %a
// AGAIN:     memory.recompute({{%[^ ]+}})
// AGAIN-NEXT: ^bb0
// AGAIN-NEXT: manycore.subgraph @"0"
func.func @main(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %a = dataflow.neg %x : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %b = dataflow.exp %a : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %c = dataflow.abs %b : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %d = dataflow.neg %c : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %e = dataflow.mul %d, %c : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  %f = dataflow.tanh %e : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %g = dataflow.sub %f, %a : (tensor<4x32xf32>, tensor<4x32xf32>) -> tensor<4x32xf32>
  func.return %g : tensor<4x32xf32>
}
