// Arguments, and results, are told apart by their names.
// RUN: not meshloom-opt %s -t interpret 2>&1 | filecheck %s --check-prefix RESULTS
// RUN: not meshloom-opt %s -t 'emulate{chip=tiny}' 2>&1 | filecheck %s --check-prefix RESULTS
// RUN: not meshloom-compile %s --chip tiny -o %t.mlx 2>&1 | filecheck %s --check-prefix RESULTS
// RUN: sed 's/"result0"/"z"/; s/"a"/"b"/' %s > %t.mlir
// RUN: not meshloom-opt %t.mlir -p 'canonicalize,dataflow-to-manycore,manycore-tile{chip=tiny}' 2>&1 | filecheck %s --check-prefix ARGUMENTS
// RUN: sed 's/"result0"/"a"/' %s > %t.mlir
// RUN: meshloom-opt %t.mlir -t 'interpret{inputs=iota}' | filecheck %s

// RESULTS: @main has two results named 'result0': give each a name of its own
// ARGUMENTS: @main has two arguments named 'b': give each a name of its own
// CHECK: result0: tensor<2xf32> = [3., 2.]
// CHECK-NEXT: a: tensor<2xf32> = [-6., -4.]
func.func @main(%x: tensor<2xf32> {dataflow.name = "a"}, %y: tensor<2xf32> {dataflow.name = "b"})
    -> (tensor<2xf32>, tensor<2xf32> {dataflow.name = "result0"}) {
  %0 = dataflow.neg %x : (tensor<2xf32>) -> tensor<2xf32>
  %1 = dataflow.add %x, %y : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
  func.return %0, %1 : tensor<2xf32>, tensor<2xf32>
}
