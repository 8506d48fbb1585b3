// RUN: meshloom-opt --list-passes | filecheck %s --check-prefix=PASSES
// RUN: meshloom-opt --list-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: meshloom-opt --help-pass dataflow-prune | filecheck %s --check-prefix=HELP
// RUN: not meshloom-opt --help-pass manycore-tiles 2>&1 | filecheck %s --check-prefix=CLOSE
// RUN: meshloom-opt %s --pass-pipeline 'builtin.module(dataflow-split-batch{parts=2},cse)' | filecheck %s --check-prefix=PIPELINE
// RUN: not meshloom-opt %s --pass-pipeline 'builtin.module(func.func(cse))' 2>&1 | filecheck %s --check-prefix=NESTED
// RUN: not meshloom-opt %s -p cse --pass-pipeline 'builtin.module(cse)' 2>&1 | filecheck %s --check-prefix=TWICE

// Our own come first, with a sentence and their options.
// PASSES:      coreasm-pack
// PASSES:      dataflow-split-batch {{.*}}
// PASSES:      {parts}
// PASSES:      manycore-tile {{.*}} task {{.*}}
// PASSES:      {chip}
// PASSES:      passes of xDSL
// PASSES:      convert-linalg-to-loops

// DIALECTS:      dataflow Neural networks as graphs of operations on whole tensors (operations:
// DIALECTS:      coreasm Programs of instructions
// DIALECTS:      dialects of xDSL:
// DIALECTS:      arith

// HELP:      dataflow-prune
// HELP:      `magnitude` keeps the share `density`
// HELP:      options:
// HELP-NEXT: method : magnitude | balanced | n_m = magnitude
// HELP-NEXT: density : int | float = 0.1
// HELP:      results: depends on the options

// CLOSE:     error: --help-pass: unknown pass 'manycore-tiles'; did you mean 'manycore-tile'?

// NESTED:    error: -p 'func.func(cse)': passes apply to whole modules: leave out 'func.func(...)'

// TWICE:     error: -p and --pass-pipeline have the same meaning: give only one of them

// PIPELINE:      dataflow.relu {{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
// PIPELINE-NEXT: dataflow.slice
// PIPELINE-NEXT: dataflow.relu {{.*}} : (tensor<2x3xf32>) -> tensor<2x3xf32>
func.func @main(%x: tensor<4x3xf32> {dataflow.name = "x"}) -> (tensor<4x3xf32> {dataflow.name = "y"}) {
  %y = dataflow.relu %x : (tensor<4x3xf32>) -> tensor<4x3xf32>
  func.return %y : tensor<4x3xf32>
}
