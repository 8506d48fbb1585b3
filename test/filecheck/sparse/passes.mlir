// RUN: meshloom-opt %s -p 'dataflow-prune{density=0.5}' --check-semantics | filecheck %s --check-prefix=MAGNITUDE
// RUN: meshloom-opt %s -p 'dataflow-prune{method=n_m n=1 m=2}' --check-semantics | filecheck %s --check-prefix=NM
// RUN: meshloom-opt %s -p 'sparse-prune-groups{weight_group_size=2 weight_threshold=2.0 weight_limit=1}' | filecheck %s --check-prefix=GROUPS
// RUN: meshloom-opt %s -p 'sparse-prune-groups{weight_groups=2 weight_threshold=4.0 weight_limit=3 neuron_groups=4 neuron_threshold=0.5 neuron_limit=1}' | filecheck %s --check-prefix=BOTH
// RUN: meshloom-opt %s -p 'sparse-select-encoding' | filecheck %s --check-prefix=DENSE
// RUN: meshloom-opt %s -p 'dataflow-prune{density=0.25},sparse-select-encoding' --check-semantics 2>&1 | filecheck %s --check-prefix=SELECT
// RUN: meshloom-opt %s -p 'dataflow-prune{density=0.25},sparse-select-encoding{objective=cycles chip=tiny}' | filecheck %s --check-prefix=CYCLES

// Of equal magnitudes the first stay.
// MAGNITUDE:    %w = dataflow.constant dense<{{\[}}[0, 0], [0, 0], [5, -6], [7, 8]]> : tensor<4x2xi32>
// MAGNITUDE:    %y = dataflow.matmul %x, %w
// Neighbours are the inputs of one output: rows 0 and 1, rows 2 and 3.
// NM:           %w = dataflow.constant dense<{{\[}}[0, 2], [3, 0], [0, 0], [7, 8]]> : tensor<4x2xi32>
// Both of rows 0 and 1 are small for the second output only.
// GROUPS:       %w = dataflow.constant dense<{{\[}}[1, 0], [3, 0], [5, -6], [7, 8]]> : tensor<4x2xi32>
// All of the first output and all of the second: two of four are small, which is no more than 3.
// BOTH:         %0 = sparse.prune_groups %x groups 4 threshold 5.000000e-01 limit 1 : tensor<1x4xi32>
// BOTH-NEXT:    %w = dataflow.constant dense<{{\[}}[1, 2], [3, 2], [5, -6], [7, 8]]> : tensor<4x2xi32>
// BOTH-NEXT:    %y = dataflow.matmul %0, %w
// DENSE-NOT:    sparse.
// DENSE:        %y = dataflow.matmul %x, %w
// SELECT-DAG:   check-semantics: dataflow-prune, sparse-select-encoding kept all results
// SELECT-DAG:   %0 = sparse.encode %w : tensor<4x2xi32> -> tensor<4x2xi32, #sparse.index<direct, axis = 1>>
// SELECT-DAG:   %y = sparse.matmul %x, %0 : (tensor<1x4xi32>, tensor<4x2xi32, #sparse.index<direct, axis = 1>>) -> tensor<1x2xi32>
// By cycles it does not pay: the matrix unit takes no i32.
// CYCLES-NOT:   sparse.
// CYCLES:       %y = dataflow.matmul %x, %w
func.func @main(%x: tensor<1x4xi32>) -> tensor<1x2xi32> {
  %w = dataflow.constant dense<[[1, 2], [3, 2], [5, -6], [7, 8]]> : tensor<4x2xi32>
  %y = dataflow.matmul %x, %w : (tensor<1x4xi32>, tensor<4x2xi32>) -> tensor<1x2xi32>
  func.return %y : tensor<1x2xi32>
}
