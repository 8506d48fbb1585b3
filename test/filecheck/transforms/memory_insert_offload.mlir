// RUN: meshloom-opt %s -p 'memory-insert-offload{chip="tiny" budget=0.8 kinds="swap" link=8e9},canonicalize,cse' | filecheck %s
// RUN: meshloom-opt %s -p 'memory-insert-offload{chip="tiny" budget=0.8 kinds="recompute"}' | filecheck %s --check-prefix AGAIN
// RUN: meshloom-opt %s -p 'memory-insert-offload{chip="tiny" th-tts=20 kinds="compress" format="bf16"}' | filecheck %s --check-prefix BF16
// RUN: meshloom-opt %s -p 'memory-insert-offload{chip="tiny" th-tts=20 kinds="swap","compress" format="f24"}' | filecheck %s --check-prefix BOTH
// RUN: meshloom-opt %s -p 'memory-insert-offload{chip="tiny" budget=0.8 kinds="swap","recompute" link=8e9},canonicalize,cse' --check-semantics 2>&1 | filecheck %s --check-prefix SAME
// RUN: not meshloom-opt %s -p 'memory-insert-offload{chip="tiny" budget=1000}' 2>&1 | filecheck %s --check-prefix SMALL
// RUN: not meshloom-opt %s -p 'memory-insert-offload{chip="tiny" budget=0.8 kinds="zip"}' 2>&1 | filecheck %s --check-prefix KIND
// RUN: not meshloom-opt %s -p 'memory-insert-offload{chip="tiny" kinds="recompute"}' 2>&1 | filecheck %s --check-prefix BUDGET
// RUN: not meshloom-opt %s -p 'memory-insert-offload{chip="tiny" kinds="compress" format="f12"}' 2>&1 | filecheck %s --check-prefix FORMAT
// RUN: not meshloom-opt %s -p 'memory-insert-offload{chip="tiny" n=-1}' 2>&1 | filecheck %s --check-prefix COUNT

// SAME: check-semantics: memory-insert-offload, canonicalize, cse kept all results (seed 0)
// SMALL: operation e (id 4) alone works on 1536 bytes; the smallest budget that works is 1536
// KIND: unknown kind 'zip': choose from swap, compress, recompute
// BUDGET: thresholds go with kinds swap, compress or both: recomputation needs a budget
// FORMAT: unknown format 'f12': choose one of f16, bf16, f24, f8e4m3, f8e5m2
// COUNT: n=-1: expected a number of at least 0

// Tensors have 512 bytes. While %e is computed, %a, %c, %d and %e are there: 2,048 bytes, of which 0.8 are 1,638.
// So %e waits until %a is gone, and %a comes back when %e is done and with it %c and %d are free.
// CHECK:      %a = dataflow.neg %x
// CHECK-NEXT: %b = dataflow.exp %a
// CHECK-NEXT: [[S:%[^ ]+]], [[GONE:%[^ ]+]] = memory.swap_out %a : tensor<4x32xf32> to !memory.stash<tensor<4x32xf32>, host>
// CHECK-NEXT: %c = dataflow.abs %b
// CHECK-NEXT: %d = dataflow.neg %c
// CHECK-NEXT: [[D:%[^ ]+]] = memory.after %d after([[GONE]])
// CHECK-NEXT: %e = dataflow.mul [[D]], %c
// CHECK-NEXT: [[DONE:%[^ ]+]] = memory.done %e
// CHECK-NEXT: %f = dataflow.tanh %e
// CHECK-NEXT: [[A:%[^ ]+]], {{%[^ ]+}} = memory.swap_in [[S]] after([[DONE]])
// CHECK-NEXT: %g = dataflow.sub %f, [[A]]

// Just before its use, by what computed it.
// AGAIN:      %f = dataflow.tanh %e
// AGAIN-NEXT: [[A:%[^ ]+]], {{%[^ ]+}} = memory.recompute(%x) : (tensor<4x32xf32>) -> tensor<4x32xf32> {
// AGAIN-NEXT: ^bb0([[X:%[^ ]+]]: tensor<4x32xf32>):
// AGAIN-NEXT:   [[Y:%[^ ]+]] = dataflow.neg [[X]]
// AGAIN-NEXT:   memory.yield [[Y]]
// AGAIN-NEXT: }
// AGAIN-NEXT: %g = dataflow.sub %f, [[A]]

// Figure 7: the early reader is held back (serialize), the last operation upstream of %g prefetches.
// BF16:      %a = dataflow.neg %x
// BF16-NEXT: [[S:%[^ ]+]], [[GONE:%[^ ]+]] = memory.compress %a : tensor<4x32xf32> to !memory.stash<tensor<4x32xf32>, dram, bf16>
// BF16-NEXT: [[K:%[^ ]+]] = memory.after %a after([[GONE]])
// BF16-NEXT: %b = dataflow.exp [[K]]
// BF16:      %f = dataflow.tanh %e
// BF16-NEXT: [[DONE:%[^ ]+]] = memory.done %f
// BF16-NEXT: [[A:%[^ ]+]], {{%[^ ]+}} = memory.decompress [[S]] after([[DONE]])
// BF16-NEXT: %g = dataflow.sub %f, [[A]]

// Figure 8: compress, copy, copy back, decompress; tiny's link takes 192 ns for 384 bytes, so the copy begins early.
// BOTH:      [[C:%[^ ]+]], {{%[^ ]+}} = memory.compress %a : tensor<4x32xf32> to !memory.stash<tensor<4x32xf32>, dram, f24>
// BOTH-NEXT: [[S:%[^ ]+]], [[GONE:%[^ ]+]] = memory.swap_out [[C]]
// BOTH-NEXT: [[K:%[^ ]+]] = memory.after %a after([[GONE]])
// BOTH-NEXT: %b = dataflow.exp [[K]]
// BOTH:      [[I:%[^ ]+]], {{%[^ ]+}} = memory.swap_in [[S]] after({{%[^ ]+}}) : !memory.stash<tensor<4x32xf32>, host, f24> to !memory.stash<tensor<4x32xf32>, dram, f24>
// BOTH-NEXT: [[A:%[^ ]+]], {{%[^ ]+}} = memory.decompress [[I]]
// BOTH:      %g = dataflow.sub %f, [[A]]
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
