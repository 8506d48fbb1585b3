// RUN: meshloom-opt %s -p 'dataflow-prune{method=n_m n=1 m=2}' | filecheck %s --check-prefix=WEIGHTS
// RUN: meshloom-opt %s -p 'sparse-prune-groups{neuron_groups=1 neuron_threshold=0.5 neuron_limit=1}' | filecheck %s --check-prefix=NEURONS

// Weights that several read are pruned once, in the fibers of the first that does; what is no contraction reads all of
// them. Its pairs are rows: of 1 and 2, then of 6 and 5, one stays. The second would take columns: 6 and 5 both.
// WEIGHTS:      %w = dataflow.constant dense<{{\[}}[0, 2], [6, 0]]> : tensor<2x2xi32>
// WEIGHTS-NEXT: %w_1 = dataflow.constant dense<{{\[}}[1, 2], [6, 5]]> : tensor<2x2xi32>
// WEIGHTS-NEXT: %y = dataflow.matmul %x, %w transpose_b
// WEIGHTS-NEXT: %z = dataflow.matmul %x, %w :
// WEIGHTS-NEXT: %v = dataflow.add %x, %w_1

// So are neurons, for those contractions alone whose weights are known.
// NEURONS:      func.func @main
// NEURONS-NEXT: %0 = sparse.prune_groups %x groups 1 threshold 5.000000e-01 limit 1
// NEURONS-NEXT: %w = dataflow.constant
// NEURONS-NEXT: %y = dataflow.matmul %0, %w transpose_b
// NEURONS-NEXT: %z = dataflow.matmul %0, %w :
// NEURONS-NEXT: %v = dataflow.add %x, %w
// NEURONS-NEXT: %u = dataflow.matmul %x, %v
func.func @main(%x: tensor<2x2xi32>) -> (tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>) {
  %w = dataflow.constant dense<[[1, 2], [6, 5]]> : tensor<2x2xi32>
  %y = dataflow.matmul %x, %w transpose_b : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %z = dataflow.matmul %x, %w : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %v = dataflow.add %x, %w : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  %u = dataflow.matmul %x, %v : (tensor<2x2xi32>, tensor<2x2xi32>) -> tensor<2x2xi32>
  func.return %y, %z, %u : tensor<2x2xi32>, tensor<2x2xi32>, tensor<2x2xi32>
}
