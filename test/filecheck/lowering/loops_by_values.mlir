// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile --check-semantics | filecheck %s --check-prefix TASKS
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory --check-semantics | filecheck %s --check-prefix MEMORY
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory | meshloom-opt --print-op-generic | meshloom-opt | filecheck %s --check-prefix MEMORY
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm --check-semantics | filecheck %s --check-prefix CODE

// A loop whose count is an input, and which may end before: every core gets the count, and in each step whether there is
// another one. The rows of steps that are not run are 0.

// TASKS:      %count = manycore.task @count({{.*}}) -> tensor<4xi64> in sram tiled <grid = [4]
// TASKS:      dataflow.loop 12 steps count(%count : tensor<4xi64>) while carry(%h = %{{.+}} : tensor<1x8xf32>) scan(%row = %{{.+}} axis 0 : tensor<12x1x8xf32>) stack(axis 0 : tensor<12x1x8xf32>) {
// TASKS:        %going = manycore.task @going({{.*}}) -> tensor<4xi1> in sram tiled <grid = [4]
// TASKS:        dataflow.yield %{{.+}}, %{{.+}}, %going : tensor<1x8xf32>, tensor<1x8xf32>, tensor<4xi1>

// MEMORY:      manycore.execute @count({{.*}} into %count :
// MEMORY:      manycore.repeat 12 times count(%count : !memory.buffer<1xi64, sram, {{[0-9]+}}>) while(%going : !memory.buffer<1xi1, sram, {{[0-9]+}}>) (
// MEMORY:        manycore.execute @going({{.*}} into %going :
// MEMORY:      manycore.execute @last(

// Zeros in all rows, then the steps; each ends with idle units.
// CODE:      fill f32 [0x{{[0-9a-f]+}}, d{{[0-9]+}}], 0.0 {{.*}}from "stacked"
// CODE-NEXT: lr i64 [0x{{[0-9a-f]+}}, d{{[0-9]+}}] r1 from
// CODE-NEXT: li value = 0 r15 from
// CODE-NEXT: loop.r most = 12 r1 from
// CODE:        lr bool [0x{{[0-9a-f]+}}, d{{[0-9]+}}] r1 from
// CODE-NEXT:   leave r1 from
// CODE-NEXT:   addi increment = 32 r15 from
// CODE-NEXT: }

builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%n: tensor<i64>, %x: tensor<12x1x8xf32>, %h0: tensor<1x8xf32>) -> (tensor<1x8xf32>, tensor<12x1x8xf32>) {
    %limit = dataflow.constant dense<2.0> : tensor<f32>
    %last, %all = dataflow.loop 12 steps count(%n : tensor<i64>) while carry(%h = %h0 : tensor<1x8xf32>) scan(%row = %x axis 0 : tensor<12x1x8xf32>) stack(axis 0 : tensor<12x1x8xf32>) {
      %s = dataflow.add %h, %row : (tensor<1x8xf32>, tensor<1x8xf32>) -> tensor<1x8xf32>
      %m = dataflow.reduce max %s axes [0, 1] : (tensor<1x8xf32>) -> tensor<1x1xf32>
      %most = dataflow.reshape %m : (tensor<1x1xf32>) -> tensor<f32>
      %go = dataflow.compare lt %most, %limit : (tensor<f32>, tensor<f32>) -> tensor<i1>
      dataflow.yield %s, %s, %go : tensor<1x8xf32>, tensor<1x8xf32>, tensor<i1>
    }
    func.return %last, %all : tensor<1x8xf32>, tensor<12x1x8xf32>
  }
}
