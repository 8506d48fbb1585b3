// RUN: meshloom-opt %s --split-input-file --verify-diagnostics

// A restoration without its reduction.
func.func @main(%s: !memory.stash<tensor<4xf32>, host>) {
  // expected-error@+1 {{restores a value that no memory.swap_out of this block has offloaded}}
  %y, %t = memory.swap_in %s : !memory.stash<tensor<4xf32>, host> to tensor<4xf32>
  func.return
}

// -----

func.func @main(%s: !memory.stash<tensor<4xf32>, dram, f16>) {
  // expected-error@+1 {{restores a value that no memory.compress of this block has offloaded}}
  %y, %t = memory.decompress %s : !memory.stash<tensor<4xf32>, dram, f16> to tensor<4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  %c, %ct = memory.compress %x : tensor<4xf32> to !memory.stash<tensor<4xf32>, dram, f16>
  %s, %st = memory.swap_out %c : !memory.stash<tensor<4xf32>, dram, f16> to !memory.stash<tensor<4xf32>, host, f16>
  // expected-error@+1 {{decompresses !memory.stash<tensor<4xf32>, host, f16>: expected a compressed stash in dram}}
  %y, %t = memory.decompress %s : !memory.stash<tensor<4xf32>, host, f16> to tensor<4xf32>
  func.return
}

// -----

// Formats and types that do not match.
func.func @main(%x: tensor<4xf32>) {
  %c, %ct = memory.compress %x : tensor<4xf32> to !memory.stash<tensor<4xf32>, dram, f16>
  // expected-error@+1 {{result has type !memory.stash<tensor<4xf32>, host, bf16>: expected !memory.stash<tensor<4xf32>, host, f16>}}
  %s, %st = memory.swap_out %c : !memory.stash<tensor<4xf32>, dram, f16> to !memory.stash<tensor<4xf32>, host, bf16>
  func.return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  %c, %ct = memory.compress %x : tensor<4xf32> to !memory.stash<tensor<4xf32>, dram, f16>
  %s, %st = memory.swap_out %c : !memory.stash<tensor<4xf32>, dram, f16> to !memory.stash<tensor<4xf32>, host, f16>
  // expected-error@+1 {{result has type tensor<4xf32>: expected !memory.stash<tensor<4xf32>, dram, f16>}}
  %y, %t = memory.swap_in %s : !memory.stash<tensor<4xf32>, host, f16> to tensor<4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  %s, %st = memory.swap_out %x : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
  // expected-error@+1 {{result has type tensor<2x2xf32>: expected tensor<4xf32>}}
  %y, %t = memory.swap_in %s : !memory.stash<tensor<4xf32>, host> to tensor<2x2xf32>
  func.return
}

// -----

// expected-error@+1 {{a stash of tensor<4xi32> as f16: only f32 is compressed}}
"test.op"() {type = !memory.stash<tensor<4xi32>, dram, f16>} : () -> ()

// -----

// expected-error@+1 {{a stash in dram in its own format is the tensor itself: expected host, or a format}}
"test.op"() {type = !memory.stash<tensor<4xf32>, dram>} : () -> ()

// -----

// expected-error@+1 {{a stash in sram: expected dram or host}}
"test.op"() {type = !memory.stash<tensor<4xf32>, sram, f16>} : () -> ()

// -----

// expected-error@+1 {{expected f16, bf16, f24, f8e4m3, f8e5m2}}
"test.op"() {type = !memory.stash<tensor<4xf32>, dram, f12>} : () -> ()

// -----

// An offloaded tensor: read without a restoration,
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{dataflow.neg reads %x after it was offloaded (memory.swap_out)}}
  %s, %st = memory.swap_out %x : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
  %y = dataflow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// -----

// in another shape,
func.func @main(%x: tensor<4xf32>) -> tensor<2x2xf32> {
  %v = dataflow.reshape %x : (tensor<4xf32>) -> tensor<2x2xf32>
  // expected-error@+1 {{dataflow.neg reads %v after it was offloaded (memory.compress)}}
  %s, %st = memory.compress %x : tensor<4xf32> to !memory.stash<tensor<4xf32>, dram, bf16>
  %y = dataflow.neg %v : (tensor<2x2xf32>) -> tensor<2x2xf32>
  func.return %y : tensor<2x2xf32>
}

// -----

// in the body's operands of what runs again,
func.func @main(%x: tensor<4xf32>) {
  // expected-error@+1 {{memory.recompute reads %x after it was offloaded (memory.swap_out)}}
  %s, %st = memory.swap_out %x : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
  %r, %rt = memory.recompute(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = dataflow.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    memory.yield %0 : tensor<4xf32>
  }
  func.return
}

// -----

// offloaded twice,
func.func @main(%x: tensor<4xf32>) {
  // expected-error@+1 {{memory.swap_out reads %x after it was offloaded (memory.swap_out)}}
  %s, %st = memory.swap_out %x : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
  %r, %rt = memory.swap_out %x : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
  func.return
}

// -----

// or kept where it was although it has come back.
func.func @main(%x: tensor<4xf32>) {
  // expected-error@+1 {{dataflow.neg reads %k after it was restored elsewhere (memory.swap_out)}}
  %s, %st = memory.swap_out %x : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
  %k = memory.await %x : tensor<4xf32>
  %b, %bt = memory.swap_in %s : !memory.stash<tensor<4xf32>, host> to tensor<4xf32>
  %y = dataflow.neg %k : (tensor<4xf32>) -> tensor<4xf32>
  func.return
}

// -----

// Control edges in a circle, and one that goes back.
func.func @main(%x: tensor<4xf32>) {
  %s, %st = memory.swap_out %x : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
  // expected-error@+1 {{control edges form a cycle: memory.swap_in, which waits for memory.completion, which waits for dataflow.neg, which waits for memory.swap_in}}
  %b, %bt = memory.swap_in %s after(%q) : !memory.stash<tensor<4xf32>, host> to tensor<4xf32>
  %y = dataflow.neg %b : (tensor<4xf32>) -> tensor<4xf32>
  %q = memory.completion %y : tensor<4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  // expected-error@+1 {{waits for a token of memory.completion, which is later in the block}}
  %s, %st = memory.swap_out %x after(%q) : tensor<4xf32> to !memory.stash<tensor<4xf32>, host>
  %q = memory.completion %x : tensor<4xf32>
  func.return
}

// -----

func.func @main(%x: tensor<4xf32>) {
  // expected-error@+1 {{the body contains memory.completion: expected operations of the dataflow dialect}}
  %r, %rt = memory.recompute(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %0 = memory.completion %a : tensor<4xf32>
    memory.yield %a : tensor<4xf32>
  }
  func.return
}
