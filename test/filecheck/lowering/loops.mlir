// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile --check-semantics | filecheck %s --check-prefix TASKS
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory --check-semantics | filecheck %s --check-prefix MEMORY
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory | meshloom-opt --print-op-generic | meshloom-opt | filecheck %s --check-prefix MEMORY
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm --check-semantics | filecheck %s --check-prefix CODE

// A loop stays one. The task that computes %n reads %h, so it may not write there: @carried does, in the tiles of @cast.
// The weights are loaded before the loop. A row has 16 bytes; the results are stacked from the last row on, in the core,
// and @all copies them to DRAM after the loop.

// TASKS:      manycore.task @cast(
// TASKS:      dataflow.loop 100 steps carry(%h = %{{.+}} : tensor<1x4xf32>) scan(%row = %{{.+}} axis 0 : tensor<100x1x4xf32>) stack(axis 0 backwards : tensor<100x1x4xf32>) {
// TASKS-NEXT:   manycore.task @p({{.*}} in sram {{.*}} keeps [1]
// TASKS:        manycore.task @carried({{.*}} in sram
// TASKS:        manycore.task @stacked({{.*}} in sram
// TASKS:        dataflow.yield
// TASKS:      manycore.task @last(
// TASKS:      manycore.task @all({{.*}} in dram

// MEMORY:      manycore.execute @cast({{.*}} into %carried :
// MEMORY:      memory.load %{{.+}} to %{{.+}} for @p[1] all :
// MEMORY:      manycore.repeat 100 times (%{{.+}} = %{{.+}} from 0 by 16 : !memory.buffer<100x4xf32, dram, {{[0-9]+}}> as !memory.buffer<1x4xf32, dram>, %stacked = %{{.+}} from 1584 by -16 : !memory.buffer<100x1x4xf32, sram, {{[0-9]+}}> as !memory.buffer<1x1x4xf32, sram>) {
// MEMORY-NEXT: manycore.execute @p(
// MEMORY:      manycore.execute @carried({{.*}} into %carried :
// MEMORY:      manycore.execute @stacked({{.*}} into %stacked :
// MEMORY:      manycore.execute @last({{.*}} %carried :

// CODE:      li value = 0 r15
// CODE-NEXT: li value = 0 r14
// CODE-NEXT: loop count = {{[0-9]+}} from "p" {
// CODE:        addi increment = -16 r15
// CODE-NEXT:   addi increment = 16 r14
// CODE-NOT:  loop

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<100x4xf32>, %h0: tensor<1x4xf32>) -> (tensor<1x4xf32>, tensor<100x1x4xf32>) {
    %r = dataflow.constant dense<[[0.5, 0.25, 0.0, 0.125], [0.0, 0.5, 0.25, 0.0], [0.25, 0.0, 0.5, 0.0], [0.0, 0.125, 0.0, 0.5]]> : tensor<4x4xf32>
    %x3 = dataflow.reshape %x : (tensor<100x4xf32>) -> tensor<100x1x4xf32>
    %last, %all = dataflow.loop 100 steps carry(%h = %h0 : tensor<1x4xf32>) scan(%row = %x3 axis 0 : tensor<100x1x4xf32>) stack(axis 0 backwards : tensor<100x1x4xf32>) {
      %p = dataflow.matmul %h, %r : (tensor<1x4xf32>, tensor<4x4xf32>) -> tensor<1x4xf32>
      %s = dataflow.add %p, %row : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
      %n = dataflow.tanh %s : (tensor<1x4xf32>) -> tensor<1x4xf32>
      dataflow.yield %n, %n : tensor<1x4xf32>, tensor<1x4xf32>
    }
    func.return %last, %all : tensor<1x4xf32>, tensor<100x1x4xf32>
  }
}
