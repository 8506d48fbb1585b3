// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory --check-semantics | filecheck %s --check-prefix MEMORY
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm --check-semantics | filecheck %s --check-prefix CODE

// What goes backwards begins at the last row that belongs to a step: the register of its addresses begins as far before
// that of all 12 rows as there are steps fewer.

// MEMORY: manycore.repeat 12 times count(%count : !memory.buffer<1xi64, sram, {{[0-9]+}}>) (%{{.+}} = %{{.+}} from 88 by -8 : {{.*}}, %{{.+}} = %{{.+}} from 0 by 8 : {{.*}}, %stacked = %{{.+}} from 88 by -8 :

// CODE:      lr i64 [0x{{[0-9a-f]+}}, d{{[0-9]+}}] r1
// CODE-NEXT: li value = -96 r15
// CODE-NEXT: loop.r most = 12 r1 from
// CODE-NEXT:   addi increment = 8 r15
// CODE-NEXT: }
// CODE-NEXT: li value = 0 r14
// CODE-NEXT: loop.r most = 12 r1 from
// CODE:        addi increment = -8 r15
// CODE-NEXT:   addi increment = 8 r14
// CODE-NEXT: }

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%n: tensor<i64>, %x: tensor<12x1x8xf32>, %h0: tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<12x1x8xf32>) {
    %last, %all = dataflow.loop 12 steps count(%n : tensor<i64>) carry(%h = %h0 : tensor<1x8xf32>) scan(%row = %x axis 0 backwards : tensor<12x1x8xf32>, %f = %x axis 0 : tensor<12x1x8xf32>) stack(axis 0 backwards : tensor<12x1x8xf32>) {
      %t = dataflow.tanh %h : (tensor<1x8xf32>) -> tensor<1x8xf32>
      %s = dataflow.add %t, %row : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
      %u = dataflow.mul %s, %f : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
      dataflow.yield %u, %s : tensor<1x8xf32>, tensor<1x8xf32>
    }
    func.return %last, %all : tensor<1x8xf32>, tensor<12x1x8xf32>
  }
}
