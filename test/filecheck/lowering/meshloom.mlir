// The pass that holds the compiler's search: what it makes lies at the level of `memory`, and goes on to instructions.

// RUN: meshloom-opt %s -p 'meshloom{chip=tiny}' | filecheck %s
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s --check-prefix=VALUES
// RUN: meshloom-opt %s -p 'meshloom{chip=tiny effort=fast}' | meshloom-opt -t 'emulate{inputs=iota}' | filecheck %s --check-prefix=VALUES
// RUN: meshloom-opt %s -p 'meshloom{chip=tiny},memory-to-coreasm' | meshloom-opt -t 'emulate{inputs=iota}' | filecheck %s --check-prefix=VALUES

// CHECK: func.func @main
// CHECK: memory.alloc : !memory.buffer<2x4xf32, dram,
// CHECK: manycore.launch
// CHECK: memory.load
// CHECK: memory.store

// Sums of the rows -3 -2 -1 0 and 1 2 3 -3 of x, with negative ones set to 0.
// VALUES: y: {{.*}} = {{\[}}[0.],
// VALUES-NEXT: [3.]]
func.func @main(%x: tensor<2x4xf32> {dataflow.name = "x"}) -> (tensor<2x1xf32> {dataflow.name = "y"}) {
  %w = dataflow.constant dense<1.0> : tensor<4x1xf32>
  %0 = dataflow.matmul %x, %w : (tensor<2x4xf32>, tensor<4x1xf32>) -> tensor<2x1xf32>
  %y = dataflow.relu %0 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  func.return %y : tensor<2x1xf32>
}
