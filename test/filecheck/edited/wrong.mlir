// Wrong edits of `transfers.mlir`: an error with the line of the text, from the verifier, or where instructions are
// selected and in the interpreter.

// Weights where columns of x lie, which are alive at that time.
// RUN: sed '/%%ws/s/sram, 0>/sram, 320>/' %S/transfers.mlir > %t.overlap.mlir
// RUN: not meshloom-opt %t.overlap.mlir 2>&1 | filecheck %s --check-prefix OVERLAP
// OVERLAP:      overlap.mlir:[[LINE:[0-9]+]]:{{[0-9]+}}: error: buffers %ws : {{.*}} and %x0 : {{.*}} are live at the same time and share bytes
// OVERLAP-NEXT: %x0 = memory.alloc

// A value of the launch in DRAM where the result lies.
// RUN: sed 's/dram, 1024>/dram, 960>/g' %S/transfers.mlir > %t.dram.mlir
// RUN: not meshloom-opt %t.dram.mlir 2>&1 | filecheck %s --check-prefix DRAM
// DRAM:      dram.mlir:{{[0-9]+}}:{{[0-9]+}}: error: buffers %yd : {{.*}} and %h : {{.*}} are live at the same time and share bytes
// DRAM-NEXT: %h = memory.alloc

// Beyond the SRAM of a core.
// RUN: sed 's/sram, 448>/sram, 65500>/g' %S/transfers.mlir > %t.large.mlir
// RUN: not meshloom-opt %t.large.mlir 2>&1 | filecheck %s --check-prefix LARGE
// LARGE:      large.mlir:{{[0-9]+}}:{{[0-9]+}}: error: the buffer ends at byte 65564: chip 'tiny' has 65536 bytes of sram
// LARGE-NEXT: %hs = memory.alloc

// A buffer that is too small for the slices that come to it.
// RUN: sed 's/memory.buffer<4x4xf32, sram, 512>/memory.buffer<2x4xf32, sram, 512>/g' %S/transfers.mlir > %t.small.mlir
// RUN: not meshloom-opt %t.small.mlir -p memory-to-coreasm 2>&1 | filecheck %s --check-prefix SMALL
// SMALL:      small.mlir:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}}task @scale: a slice of read 1 takes 64 bytes, !memory.buffer<2x4xf32, sram, 512> has 32
// SMALL-NEXT: memory.load %cd

// A load that is missing, of a value and of weights, or there for the first step only.
// RUN: sed '/for @scale.1./d' %S/transfers.mlir > %t.missing.mlir
// RUN: not meshloom-opt %t.missing.mlir -t interpret 2>&1 | filecheck %s --check-prefix MISSING
// RUN: not meshloom-opt %t.missing.mlir -t emulate 2>&1 | filecheck %s --check-prefix MISSING
// RUN: not meshloom-compile %t.missing.mlir -o %t.mlx 2>&1 | filecheck %s --check-prefix MISSING
// MISSING:      missing.mlir:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}}task @scale{{:?}} uses read 1 in step 0{{.*}} before it is transferred
// MISSING-NEXT: manycore.execute @scale
// RUN: sed '/for @dense.0. step +1/d' %S/transfers.mlir > %t.first.mlir
// RUN: not meshloom-opt %t.first.mlir -t interpret 2>&1 | filecheck %s --check-prefix FIRST
// RUN: not meshloom-opt %t.first.mlir -t emulate 2>&1 | filecheck %s --check-prefix FIRST
// FIRST:      first.mlir:{{[0-9]+}}:{{[0-9]+}}: error: {{.*}}task @dense{{:?}} uses read 0 in step 1{{.*}} before it is transferred
// FIRST-NEXT: manycore.execute @dense

// A load of what the task before it has not stored yet.
// RUN: sed -e '/for @scale.0./d' -e 's/^ *manycore.compute  .. the last/memory.load %%h to %%hs for @scale[0] step 0 : !memory.buffer<8x4xf32, dram, 1024> to !memory.buffer<4x4xf32, sram, 448>\n&/' %S/transfers.mlir > %t.early.mlir
// RUN: not meshloom-opt %t.early.mlir 2>&1 | filecheck %s --check-prefix EARLY
// EARLY:      early.mlir:{{[0-9]+}}:{{[0-9]+}}: error: 'memory.load' for @scale: its source is written by @dense, which has not ended there
// EARLY-NEXT: memory.load %h

// Freed, then used.
// RUN: sed 's/^ *memory.wait %%in/&\nmemory.free %%xd : !memory.buffer<8x16xf32, dram, 384>/' %S/transfers.mlir > %t.freed.mlir
// RUN: not meshloom-opt %t.freed.mlir 2>&1 | filecheck %s --check-prefix FREED
// FREED:      freed.mlir:{{[0-9]+}}:{{[0-9]+}}: error: %xd : {{.*}} is used after its memory.free
// FREED-NEXT: manycore.execute @dense

// No address.
// RUN: sed 's/sram, 448>/sram>/g' %S/transfers.mlir > %t.nowhere.mlir
// RUN: not meshloom-opt %t.nowhere.mlir -t emulate 2>&1 | filecheck %s --check-prefix NOWHERE
// NOWHERE:      nowhere.mlir:{{[0-9]+}}:{{[0-9]+}}: error: !memory.buffer<4x4xf32, sram> has no address: run manycore-to-memory, or give one
// NOWHERE-NEXT: %hs = memory.alloc

// Results that are not stored, or before they are computed; no computation.
// RUN: sed '/memory.store %%ys/d' %S/transfers.mlir > %t.kept.mlir
// RUN: not meshloom-opt %t.kept.mlir 2>&1 | filecheck %s --check-prefix KEPT
// KEPT: error: 'last' has no memory.store: the result, {{.*}}, would not be written
// RUN: sed -e '/the last/{h;d;}' -e '/memory.store %%staging/G' %S/transfers.mlir > %t.stale.mlir
// RUN: not meshloom-opt %t.stale.mlir 2>&1 | filecheck %s --check-prefix STALE
// STALE:      error: is before manycore.compute, whose result it stores
// STALE-NEXT: memory.store %staging
// RUN: sed '/not pipelined/d' %S/transfers.mlir > %t.idle.mlir
// RUN: not meshloom-opt %t.idle.mlir 2>&1 | filecheck %s --check-prefix IDLE
// IDLE: error: 'steps' computes 0 times: expected manycore.compute once

// The controller does not wait for the launch: the emulator sees that the copy may come too early.
// RUN: sed '/memory.wait %%run/d' %S/transfers.mlir > %t.unwaited.mlir
// RUN: not meshloom-opt %t.unwaited.mlir -t emulate 2>&1 | filecheck %s --check-prefix UNWAITED
// UNWAITED: error: {{.*}}controller
