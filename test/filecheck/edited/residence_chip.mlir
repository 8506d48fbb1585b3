// What one chip computes for another may stay in its memory: the text says so, and what is edited there moves it.

// As it is cut: what the next chip reads goes to the host, where it is copied from.
// RUN: meshloom-opt %s -p 'manycore-cut-stages{chips=2 chip=tiny effort=fast}' -o %t.mlir
// RUN: filecheck %s --check-prefix CUT --input-file %t.mlir
// RUN: meshloom-compile %t.mlir --effort fast -q -o %t.mlx
// RUN: meshloom-objdump %t.mlx --chip 0 | filecheck %s --check-prefix HOST
// RUN: meshloom-opt %t.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// In the memory of the chip that computes it, and copied from there: no copy to the host.
// RUN: sed 's/manycore.residence = #memory.space<host>/manycore.residence = #memory.space<dram>/' %t.mlir > %t.dram.mlir
// RUN: meshloom-compile %t.dram.mlir --effort fast -q -o %t.dram.mlx --print-ir-after-all %t.levels
// RUN: meshloom-objdump %t.dram.mlx --chip 0 | filecheck %s --check-prefix DRAM
// RUN: meshloom-run %t.dram.mlx --random 0 --validate -q --check %s
// RUN: meshloom-opt %t.dram.mlir -t 'emulate{inputs=iota}' | filecheck %s --check-prefix VALUES

// Each level below says it, too, and goes on to the same bytes.
// RUN: meshloom-compile %t.levels/01-manycore.mlir --effort fast -q -o %t.again.mlx
// RUN: diff %t.dram.mlx %t.again.mlx
// RUN: filecheck %s --check-prefix MEMORY --input-file %t.levels/02-memory.mlir
// RUN: meshloom-compile %t.levels/02-memory.mlir -q -o %t.again.mlx
// RUN: diff %t.dram.mlx %t.again.mlx
// RUN: filecheck %s --check-prefix COREASM --input-file %t.levels/03-coreasm.mlir
// RUN: meshloom-as %t.levels/03-coreasm.mlir -o %t.again.mlx
// RUN: diff %t.dram.mlx %t.again.mlx
// RUN: meshloom-objdump --mlir %t.dram.mlx -o %t.dumped.mlir
// RUN: meshloom-as %t.dumped.mlir -o %t.again.mlx
// RUN: diff %t.dram.mlx %t.again.mlx

// Wrong edits: one error with its line. A result of the network, a memory of cores, and one that is on the host as well.
// RUN: sed 's/dataflow.name = "y"/dataflow.name = "y", manycore.residence = #memory.space<dram>/' %t.mlir > %t.result.mlir
// RUN: not meshloom-compile %t.result.mlir -q -o %t.no.mlx 2>&1 | filecheck %s --check-prefix RESULT
// RUN: sed 's/manycore.residence = #memory.space<host>/manycore.residence = #memory.space<sram>/' %t.mlir > %t.sram.mlir
// RUN: not meshloom-compile %t.sram.mlir -q -o %t.no.mlx 2>&1 | filecheck %s --check-prefix SRAM
// RUN: not meshloom-compile %t.dram.mlir --budget 0.9 -q -o %t.no.mlx 2>&1 | filecheck %s --check-prefix BUDGET

// CUT: builtin.module @chip0
// CUT: func.func @main({{.*}}) -> (tensor<16x128xf32> {dataflow.name = "[[NAME:[^"]+]]", manycore.residence = #memory.space<host>})
// CUT: builtin.module @chip1
// CUT: func.func @main({{.*}}) -> (tensor<16x128xf32> {dataflow.name = "y"})

// HOST:     ctl.d2h
// DRAM:     ctl.h2d
// DRAM-NOT: ctl.d2h
// MEMORY: func.func @main({{.*}}host, 0> {{.*}}) -> (!memory.buffer<16x128xf32, dram, {{[0-9]+}}>
// MEMORY: builtin.module @chip1
// MEMORY: func.func @main({{.*}}) -> (!memory.buffer<16x128xf32, host, {{[0-9]+}}>
// COREASM: coreasm.tensor output "{{.*}}" f32 [16, 128] dram 0x{{[0-9a-f]+}} bytes 8192{{$| loc}}
// COREASM: coreasm.tensor output "y" f32 [16, 128] dram 0x{{[0-9a-f]+}} bytes 8192 host 0x

// A row of y holds 16 times the sum of that of x: iota counts -3 to 3 and begins again, the first row ends with -3, -2.
// VALUES: y: tensor<16x128xf32> = {{\[\[}}-80., -80., -80.,

// RESULT: result.mlir:{{[0-9]+}}:{{[0-9]+}}: error: result 'y' of the network is to stay in the memory of chip 1: specify host memory
// SRAM:   sram.mlir:{{[0-9]+}}:{{[0-9]+}}: error: result '{{.*}}' of @main has manycore.residence #memory.space<sram>: expected #memory.space<dram> or <host>
// BUDGET: error: result '{{.*}}' is to stay in dram: where memory is saved, results go to the host
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<16x128xf32> {dataflow.name = "x"}) -> (tensor<16x128xf32> {dataflow.name = "y"}) {
    %v = dataflow.constant dense<0.5> : tensor<128x128xf32>
    %hidden = dataflow.matmul %x, %v : (tensor<16x128xf32>, tensor<128x128xf32>) -> tensor<16x128xf32>
    %w = dataflow.constant dense<0.25> : tensor<128x128xf32>
    %y = dataflow.matmul %hidden, %w : (tensor<16x128xf32>, tensor<128x128xf32>) -> tensor<16x128xf32>
    func.return %y : tensor<16x128xf32>
  }
}
