// RUN: meshloom-opt %s -p cse,canonicalize,cse --print-ir-before=canonicalize 2>&1 >/dev/null | filecheck %s --check-prefix=BEFORE
// RUN: meshloom-opt %s -p cse,canonicalize --print-ir-after=cse,canonicalize 2>&1 >/dev/null | filecheck %s --check-prefix=AFTER
// RUN: meshloom-opt %s -p cse,canonicalize,cse --print-ir-after-change 2>&1 >/dev/null | filecheck %s --check-prefix=CHANGE
// RUN: meshloom-opt %s -p cse --print-ir-before-all --print-ir-after-all 2>&1 >/dev/null | filecheck %s --check-prefix=ALL
// RUN: not meshloom-opt %s -p manycore-tile --print-ir-after-failure 2>&1 >/dev/null | filecheck %s --check-prefix=FAILURE
// RUN: not meshloom-opt %s -p cse --print-ir-after=csee 2>&1 | filecheck %s --check-prefix=UNKNOWN
// RUN: meshloom-opt %s -p cse,canonicalize --pass-statistics 2>&1 >/dev/null | filecheck %s --check-prefix=STATISTICS
// RUN: meshloom-opt %s -p cse,canonicalize --mlir-print-ir-after=cse,canonicalize 2>&1 >/dev/null | filecheck %s --check-prefix=AFTER
// RUN: meshloom-opt %s -p cse --mlir-timing 2>&1 >/dev/null | filecheck %s --check-prefix=TIME
// RUN: meshloom-opt %s -p cse --time-passes 2>&1 >/dev/null | filecheck %s --check-prefix=TIME

func.func @main(%x: tensor<4xf32> {dataflow.name = "x"}) -> (tensor<4xf32> {dataflow.name = "y"}) {
  %a = dataflow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %b = dataflow.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  %unused = dataflow.neg %x : (tensor<4xf32>) -> tensor<4xf32>
  %y = dataflow.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  func.return %y : tensor<4xf32>
}

// BEFORE:     // -----// IR Dump Before canonicalize //----- //
// BEFORE-NEXT: builtin.module {
// BEFORE:      dataflow.relu
// BEFORE-NOT:  IR Dump

// AFTER:       // -----// IR Dump After cse //----- //
// AFTER:       // -----// IR Dump After canonicalize //----- //

// Nothing is left for the passes after the first.
// CHANGE:      // -----// IR Dump After cse //----- //
// CHANGE-NOT:  IR Dump After

// ALL:         // -----// IR Dump Before cse //----- //
// ALL:         // -----// IR Dump After cse //----- //

// FAILURE:     // -----// IR Dump After manycore-tile Failed //----- //
// FAILURE:     "dataflow.relu"
// FAILURE:     error: {{.*}}no chip is given

// UNKNOWN:     error: --print-ir-after: unknown pass 'csee'; did you mean 'cse'?

// The operation that nothing needs and the second of two equal ones go.
// STATISTICS:      cse: 7 -> 5 operations
// STATISTICS-NEXT:   -1 dataflow.neg
// STATISTICS-NEXT:   -1 dataflow.relu
// STATISTICS-NEXT: canonicalize: 5 -> 5 operations

// TIME:      Execution time report
// TIME-NEXT: wall s cpu s share name
// TIME:      100.0% total
// TIME:      % parse
// TIME:      % cse
// TIME:      % print
