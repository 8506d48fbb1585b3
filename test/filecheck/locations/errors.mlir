// Errors show the line of the text with a caret: the parser's, the verifier's, those of passes and of the compiler.
// RUN: sed 's/relu %x : .tensor<4xf32>/relu %x : (tensor<5xf32>/' %s > %t.types.mlir
// RUN: not meshloom-opt %t.types.mlir 2>&1 | filecheck %s --check-prefix=PARSE
// RUN: sed 's/tensor<4xf32>. -> tensor<4xf32> loc/tensor<4xf32>) -> tensor<5xf32> loc/; s/%1 : tensor<4xf32>/%1 : tensor<5xf32>/' %s > %t.shape.mlir
// RUN: not meshloom-opt %t.shape.mlir 2>&1 | filecheck %s --check-prefix=VERIFY
// RUN: not meshloom-compile %t.shape.mlir --chip tiny -o %t.mlx 2>&1 | filecheck %s --check-prefix=VERIFY
// RUN: not meshloom-opt %s -p 'dataflow-split-to-fit{bytes=2}' 2>&1 | filecheck %s --check-prefix=PASS
// RUN: not meshloom-opt %s -p 'canonicalize,dataflow-to-manycore,manycore-place{chip=tiny}' 2>&1 | filecheck %s --check-prefix=TASK
// RUN: not meshloom-compile %s --chip tiny -o %t.mlx -p 'dataflow-split-to-fit{bytes=2}' 2>&1 | filecheck %s --check-prefix=PASS
// What has no line has the name of the node; a line of another file is not shown.
// RUN: sed 's/-> tensor<4xf32>$/-> tensor<4xf32> loc("node 1")/' %s | not meshloom-opt -p 'canonicalize,dataflow-to-manycore,manycore-place{chip=tiny}' 2>&1 | filecheck %s --check-prefix=NAME
// RUN: sed 's/-> tensor<4xf32>$/-> tensor<4xf32> loc("node 1"("net.py":7:1))/' %s | not meshloom-opt -p 'canonicalize,dataflow-to-manycore,manycore-place{chip=tiny}' 2>&1 | filecheck %s --check-prefix=OTHER

// PARSE:      types.mlir:31:22: error: operand is used with type tensor<5xf32>
// PARSE-NEXT: {{^}}  %0 = dataflow.relu %x : (tensor<5xf32>) -> tensor<4xf32>
// PARSE-NEXT: {{^ {21}\^$}}
// VERIFY:      shape.mlir:32:8: error: {{.*}}5
// VERIFY-NEXT: {{^}}  %1 = dataflow.add %0, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<5xf32> loc("add of both")
// VERIFY-NEXT: {{^ {7}\^$}}
// PASS:      errors.mlir:31:8: error: pass 'dataflow-split-to-fit': operator 'relu' (dataflow.relu) does not fit
// PASS-NEXT: {{^}}  %0 = dataflow.relu
// PASS-NEXT: {{^ {7}\^$}}
// TASK:      errors.mlir:31:8: error: pass 'manycore-place': task 'relu' is not tiled
// TASK-NEXT: {{^}}  %0 = dataflow.relu
// TASK-NEXT: {{^ {7}\^$}}
// NAME:     {{^}}loc("node 1"): error: pass 'manycore-place': task 'relu' is not tiled
// NAME-NOT: {{\^}}
// OTHER:     {{^}}net.py:7:1: error: pass 'manycore-place': task 'relu' is not tiled
// OTHER-NOT: {{\^}}
func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = dataflow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = dataflow.add %0, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> loc("add of both")
  func.return %1 : tensor<4xf32>
}
