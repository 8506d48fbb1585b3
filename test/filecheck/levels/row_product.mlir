// Both units share a product of one row with many terms: the matrix unit sums the last ones, in a temporary buffer, while
// the vector unit sums the others, to the bias; then it adds both.

// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory | filecheck %s --check-prefix MEMORY
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm | filecheck %s --check-prefix CODE
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p dataflow-to-manycore,manycore-tile,manycore-to-memory,memory-to-coreasm -t 'emulate{inputs=iota}' | filecheck %s
// MEMORY: manycore.execute @matmul({{.*}} temporaries(%{{.+}} : !memory.buffer<64xui8, sram, {{[0-9]+}}>)

// CODE:      fill f32 [[SUM:.0x[0-9a-f]+, d[0-9]+.]], 2.0 {{.*}} from "matmul"
// CODE-NEXT: matmul f32 [[SECOND:.0x[0-9a-f]+, d[0-9]+.]], {{.*}} from "matmul"
// CODE-NEXT: dot.acc f32 [[SUM]], {{.*}} from "matmul"
// CODE-NEXT: add f32 [[SUM]], [[SUM]], [[SECOND]] {{.*}} from "matmul"

// 256 terms of 0.5 * 1, and 2. A core has 16 of the 64 columns: 64 bytes of sums.
// CHECK: = {{\[\[}}130., 130., 130., {{.*}}
builtin.module attributes {manycore.chip = #manycore.chip<"tiny">} {
  func.func @main(%x: tensor<1x256xf32>) -> tensor<1x64xf32> {
    %one = dataflow.constant dense<1.0> : tensor<256x64xf32>
    %b = dataflow.constant dense<2.0> : tensor<64xf32>
    %zero = dataflow.constant dense<0.0> : tensor<1x256xf32>
    %0 = dataflow.mul %x, %zero : (tensor<1x256xf32>, tensor<1x256xf32>) -> tensor<1x256xf32>
    %k = dataflow.constant dense<0.5> : tensor<1x256xf32>
    %1 = dataflow.add %0, %k : (tensor<1x256xf32>, tensor<1x256xf32>) -> tensor<1x256xf32>
    %2 = dataflow.matmul %1, %one : (tensor<1x256xf32>, tensor<256x64xf32>) -> tensor<1x64xf32>
    %y = dataflow.add %2, %b : (tensor<1x64xf32>, tensor<64xf32>) -> tensor<1x64xf32>
    func.return %y : tensor<1x64xf32>
  }
}
