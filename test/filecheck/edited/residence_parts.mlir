// What subgraphs say of where values and weights lie is kept where they are joined, split, or put on several chips.

// Joined: what they say of results, and of weights what they agree on.
// RUN: meshloom-opt %s -p 'manycore-fuse-subgraphs{strategy=pairs effort=fast}' | filecheck %s --check-prefix FUSED
// Split, as DRAM does not hold %p beside the whole: each part says it.
// RUN: sed -e 's/^dram_bytes = .*/dram_bytes = 14000/' -e 's/^name = .*/name = "small"/' %S/../../../chips/tiny.toml > %t.toml
// RUN: sed 's|chip<"tiny">|chip<"%t.toml">|' %s > %t.mlir
// RUN: meshloom-opt %t.mlir -p 'manycore-outline-to-fit{effort=fast}' | filecheck %s --check-prefix SPLIT
// On two chips: names stay, too.
// RUN: meshloom-opt %s -p 'manycore-cut-stages{chips=2 effort=fast}' | filecheck %s --check-prefix CHIPS
// RUN: meshloom-compile %s --chips 2 --effort fast -q -o %t.mlx
// RUN: meshloom-run %t.mlx --random 0 --validate --check %s -q

// FUSED: manycore.subgraph @"a+b"({{.*}} in [host, dram] weights in host {
// FUSED: manycore.subgraph @"c+d"({{.*}}) -> tensor<32x32xf32> {

// SPLIT: manycore.subgraph @a({{.*}} in [host] weights in host {
// SPLIT: manycore.subgraph @d.1({{.*}}) -> tensor<32x32xf32> weights in host {
// SPLIT: manycore.subgraph @d.2({{.*}}) -> tensor<32x32xf32> weights in host {

// CHIPS: manycore.stage @chip0
// CHIPS: manycore.stage @chip1
// CHIPS: builtin.module @chip0
// CHIPS: manycore.subgraph @a({{.*}} in [host] weights in host {
// CHIPS: manycore.subgraph @b({{.*}} in [dram] weights in host {
// CHIPS: builtin.module @chip1
// CHIPS: manycore.subgraph @c({{.*}}) -> tensor<32x32xf32> {
// CHIPS: manycore.subgraph @d({{.*}}) -> tensor<32x32xf32> weights in host {

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<32x32xf32> {dataflow.name = "x"}) -> (tensor<32x32xf32> {dataflow.name = "y"}) {
    %p = manycore.subgraph @a(%0 = %x : tensor<32x32xf32>) -> tensor<32x32xf32> in [host] weights in host {
      %w = dataflow.constant dense<0.03125> : tensor<32x32xf32>
      %1 = dataflow.matmul %0, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      %2 = dataflow.matmul %1, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      manycore.yield %2 : tensor<32x32xf32>
    }
    %q = manycore.subgraph @b(%0 = %p : tensor<32x32xf32>) -> tensor<32x32xf32> in [dram] weights in host {
      %w = dataflow.constant dense<0.0625> : tensor<32x32xf32>
      %1 = dataflow.matmul %0, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      manycore.yield %1 : tensor<32x32xf32>
    }
    %r = manycore.subgraph @c(%0 = %q : tensor<32x32xf32>) -> tensor<32x32xf32> {
      %w = dataflow.constant dense<-0.0625> : tensor<32x32xf32>
      %1 = dataflow.matmul %0, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      manycore.yield %1 : tensor<32x32xf32>
    }
    %s = manycore.subgraph @d(%0 = %r : tensor<32x32xf32>, %3 = %p : tensor<32x32xf32>) -> tensor<32x32xf32> weights in host {
      %w = dataflow.constant dense<0.125> : tensor<32x32xf32>
      %1 = dataflow.matmul %0, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      %2 = dataflow.add %1, %3 : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      manycore.yield %2 : tensor<32x32xf32>
    }
    func.return %s : tensor<32x32xf32>
  }
}
