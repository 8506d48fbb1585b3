// Where values lie between subgraphs is in the text, and what is edited there moves them.

// As it is decided: results stay in DRAM until they are read, the last goes to the host; weights are in DRAM.
// RUN: meshloom-opt %s -p 'manycore-autotune{effort=fast}' -o %t.mlir
// RUN: filecheck %s --check-prefix TEXT --input-file %t.mlir
// RUN: meshloom-opt %t.mlir -p manycore-to-memory | filecheck %s --check-prefix DRAM
// RUN: meshloom-opt %t.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// The result of @a on the host meanwhile: copied there behind @a, and back before each of its readers.
// RUN: sed '/subgraph @a/s/in .dram./in [host]/' %t.mlir > %t.host.mlir
// RUN: meshloom-opt %t.host.mlir -p manycore-to-memory | filecheck %s --check-prefix HOST
// RUN: meshloom-opt %t.host.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// What is said before operators are tiled holds, too; the rest is decided.
// RUN: sed '/subgraph @a/s/ {$/ in [host] {/' %s > %t.above.mlir
// RUN: meshloom-opt %t.above.mlir -p 'manycore-outline-to-fit{effort=fast},manycore-fuse-subgraphs{effort=fast},manycore-autotune{effort=fast}' -o %t.tiled.mlir
// RUN: meshloom-opt %t.tiled.mlir -p manycore-to-memory | filecheck %s --check-prefix HOST
// RUN: meshloom-compile %t.above.mlir --effort fast -q -o %t.above.mlx
// RUN: meshloom-compile %t.tiled.mlir --effort fast -q -o %t.tiled.mlx
// RUN: diff %t.above.mlx %t.tiled.mlx
// RUN: meshloom-run %t.above.mlx --random 0 --validate --check %s -q

// The input comes again for each of its readers.
// RUN: sed '/func.func @main/s/residence = #memory.space<dram>/residence = #memory.space<host>/' %t.mlir > %t.input.mlir
// RUN: meshloom-opt %t.input.mlir -p manycore-to-memory | filecheck %s --check-prefix INPUT
// RUN: meshloom-opt %t.input.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// The weights of @b stay on the host and come while @a runs; or, if it is to be alone, behind it.
// RUN: sed '/subgraph @b/s/weights in dram/weights in host/' %t.mlir > %t.weights.mlir
// RUN: meshloom-opt %t.weights.mlir -p manycore-to-memory | filecheck %s --check-prefix WEIGHTS
// RUN: meshloom-opt %t.weights.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES
// RUN: sed '/subgraph @a/s/in .dram./in [dram] alone/' %t.weights.mlir > %t.alone.mlir
// RUN: meshloom-opt %t.alone.mlir -p manycore-to-memory | filecheck %s --check-prefix ALONE

// Wrong edits: one error, with the line of the subgraph.
// RUN: sed '/subgraph @a/s/in .dram./in [dram, host]/' %t.mlir > %t.two.mlir
// RUN: not meshloom-opt %t.two.mlir 2>&1 | filecheck %s --check-prefix TWO
// RUN: sed '/subgraph @a/s/in .dram./in [sram]/' %t.mlir > %t.sram.mlir
// RUN: not meshloom-opt %t.sram.mlir 2>&1 | filecheck %s --check-prefix SRAM
// RUN: sed '/subgraph @a/s/in .dram./in [disk]/' %t.mlir > %t.disk.mlir
// RUN: not meshloom-opt %t.disk.mlir 2>&1 | filecheck %s --check-prefix DISK
// RUN: sed -e 's/^dram_bytes = .*/dram_bytes = 20479/' -e 's/^name = .*/name = "small"/' %S/../../../chips/tiny.toml > %t.toml
// RUN: sed 's|chip<"tiny">|chip<"%t.toml">|' %t.mlir > %t.full.mlir
// RUN: not meshloom-opt %t.full.mlir -p manycore-to-memory 2>&1 | filecheck %s --check-prefix FULL
// RUN: not meshloom-compile %t.full.mlir --effort fast -q -o %t.mlx 2>&1 | filecheck %s --check-prefix COMPILED

// TEXT: func.func @main(%x: tensor<32x32xf32> {dataflow.name = "x", manycore.residence = #memory.space<dram>})
// TEXT: manycore.subgraph @a({{.*}}) -> tensor<32x32xf32> in [dram] {
// TEXT: manycore.subgraph @b({{.*}}) -> tensor<32x32xf32> in [dram] weights in dram {
// TEXT: manycore.subgraph @c({{.*}}) -> tensor<32x32xf32> in [host] {

// DRAM:     memory.copy %x to
// DRAM:     manycore.launch @a
// DRAM-NOT: memory.copy
// DRAM:     manycore.launch @b
// DRAM-NOT: memory.copy
// DRAM:     manycore.launch @c
// DRAM:     memory.copy {{.*}} to %y

// HOST:     manycore.launch @a
// HOST:     memory.copy {{.*}} dram, {{.*}} to !memory.buffer<32x32xf32, host
// HOST:     memory.copy {{.*}} host, {{.*}} to {{.*}} dram
// HOST:     manycore.launch @b
// HOST:     memory.copy {{.*}} host, {{.*}} to {{.*}} dram
// HOST:     manycore.launch @c

// INPUT:     memory.copy %x to
// INPUT:     manycore.launch @a
// INPUT:     memory.copy {{.*}} host, 0> to {{.*}} dram
// INPUT:     manycore.launch @c

// WEIGHTS:      memory.global {{.*}} host
// WEIGHTS:      manycore.launch @a
// WEIGHTS:      memory.copy
// WEIGHTS-NEXT: memory.wait
// WEIGHTS-NEXT: memory.wait
// WEIGHTS:      manycore.launch @b
// ALONE:        manycore.launch @a
// ALONE:        memory.wait
// ALONE:        memory.copy
// ALONE:        manycore.launch @b

// TWO:       error: {{.*}}gives memories for 2 results: expected one for each of its 1
// TWO-NEXT:  manycore.subgraph @a
// SRAM:      error: {{.*}}sram is not preserved between subgraphs: expected dram or host
// SRAM-NEXT: manycore.subgraph @a
// DISK:      disk.mlir:{{[0-9]+}}:{{[0-9]+}}: error
// FULL:      full.mlir:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}}subgraph @c does not fit: launch 2 needs 20480 bytes of DRAM at once, 20479 are available: keep values or weights on the host
// FULL-NEXT: manycore.subgraph @c
// COMPILED:  full.mlir:{{[0-9]+}}:{{[0-9]+}}: error: subgraph @c does not fit: launch 2 needs 20480 bytes of DRAM at once

// y = -x + -x w + x: each element of a row is half its sum, negated; iota counts -3 to 3 and begins again, so the 32 of
// row 0 add up to -3 - 2 - 1 + 0.
// VALUES: y: tensor<32x32xf32> = {{\[\[}} 3. ,  3. ,  3. , ...,  3. ,  3. ,  3. ],
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<32x32xf32> {dataflow.name = "x"}) -> (tensor<32x32xf32> {dataflow.name = "y"}) {
    %a = manycore.subgraph @a(%p = %x : tensor<32x32xf32>) -> tensor<32x32xf32> {
      %0 = dataflow.neg %p : (tensor<32x32xf32>) -> tensor<32x32xf32>
      manycore.yield %0 : tensor<32x32xf32>
    }
    %b = manycore.subgraph @b(%p = %a : tensor<32x32xf32>) -> tensor<32x32xf32> {
      %w = dataflow.constant dense<0.5> : tensor<32x32xf32>
      %0 = dataflow.matmul %p, %w : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      manycore.yield %0 : tensor<32x32xf32>
    }
    %c = manycore.subgraph @c(%p = %a : tensor<32x32xf32>, %q = %b : tensor<32x32xf32>, %r = %x : tensor<32x32xf32>) -> tensor<32x32xf32> {
      %0 = dataflow.add %p, %q : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      %1 = dataflow.add %0, %r : (tensor<32x32xf32>, tensor<32x32xf32>) -> tensor<32x32xf32>
      manycore.yield %1 : tensor<32x32xf32>
    }
    func.return %c : tensor<32x32xf32>
  }
}
