// RUN: meshloom-opt %s --split-input-file -p dataflow-merge-products | filecheck %s
// RUN: meshloom-opt %s --split-input-file -p dataflow-merge-products --check-semantics 2>&1 | filecheck %s --check-prefix SAME

// SAME: check-semantics: dataflow-merge-products{{.*}} kept all results

// Two gates of two units, each the sum of a product with the input, a product with the state, and a bias.
// CHECK-LABEL: @main
// CHECK-DAG: [[W:%.+]] = dataflow.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]]>
// CHECK-DAG: [[R:%.+]] = dataflow.constant dense<{{\[\[}}1.000000e+01, 2.000000e+01, 5.000000e+01, 6.000000e+01], [3.000000e+01, 4.000000e+01, 7.000000e+01, 8.000000e+01]]>
// CHECK-DAG: [[B:%.+]] = dataflow.constant dense<[1.000000e-01, 1.000000e-01, 2.000000e-01, 3.000000e-01]>
// CHECK: dataflow.loop 3 steps carry([[H:%.+]] = %h0 : tensor<1x2xf32>) scan([[X:%.+]] = %x axis 0 : tensor<3x1x1xf32>)
// CHECK-NEXT: [[P:%.+]] = dataflow.matmul [[X]], [[W]]
// CHECK-NEXT: [[Q:%.+]] = dataflow.matmul [[H]], [[R]]
// CHECK-NEXT: [[S:%.+]] = dataflow.add [[P]], [[Q]]
// CHECK-NEXT: [[Z:%.+]] = dataflow.add [[S]], [[B]] : (tensor<1x4xf32>, tensor<4xf32>) -> tensor<1x4xf32>
// CHECK-NEXT: [[I:%.+]] = dataflow.slice [[Z]] starts [0, 0] sizes [1, 2] steps [1, 1]
// CHECK-NEXT: [[J:%.+]] = dataflow.slice [[Z]] starts [0, 2] sizes [1, 2] steps [1, 1]
// CHECK-NEXT: [[A:%.+]] = dataflow.sigmoid [[I]]
// CHECK-NEXT: [[T:%.+]] = dataflow.tanh [[J]]
// CHECK-NEXT: dataflow.mul [[A]], [[T]]
func.func @main(%x: tensor<3x1x1xf32>, %h0: tensor<1x2xf32>) -> tensor<1x2xf32> {
  %wi = dataflow.constant dense<[[1.0, 2.0]]> : tensor<1x2xf32>
  %wj = dataflow.constant dense<[[3.0, 4.0]]> : tensor<1x2xf32>
  %ri = dataflow.constant dense<[[10.0, 20.0], [30.0, 40.0]]> : tensor<2x2xf32>
  %rj = dataflow.constant dense<[[50.0, 60.0], [70.0, 80.0]]> : tensor<2x2xf32>
  %bi = dataflow.constant dense<0.1> : tensor<1xf32>
  %bj = dataflow.constant dense<[0.2, 0.3]> : tensor<2xf32>
  %last = dataflow.loop 3 steps carry(%h = %h0 : tensor<1x2xf32>) scan(%row = %x axis 0 : tensor<3x1x1xf32>) {
    %pi = dataflow.matmul %row, %wi : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %qi = dataflow.matmul %h, %ri : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %si = dataflow.add %pi, %qi : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %zi = dataflow.add %si, %bi : (tensor<1x2xf32>, tensor<1xf32>) -> tensor<1x2xf32>
    %i = dataflow.sigmoid %zi : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %pj = dataflow.matmul %row, %wj : (tensor<1x1xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %qj = dataflow.matmul %h, %rj : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %sj = dataflow.add %pj, %qj : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %zj = dataflow.add %sj, %bj : (tensor<1x2xf32>, tensor<2xf32>) -> tensor<1x2xf32>
    %j = dataflow.tanh %zj : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %next = dataflow.mul %i, %j : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    dataflow.yield %next : tensor<1x2xf32>
  }
  func.return %last : tensor<1x2xf32>
}

// -----

// Transposed weights are put one below the other. The weights of the third product are read again after the loop, and the
// fourth is read by a product: these stay.
// CHECK-LABEL: @main
// CHECK-DAG: [[W:%.+]] = dataflow.constant dense<{{\[\[}}1.000000e+00, 2.000000e+00], [3.000000e+00, 4.000000e+00], [5.000000e+00, 6.000000e+00], [7.000000e+00, 8.000000e+00]]>
// CHECK: dataflow.loop
// CHECK-NEXT: dataflow.matmul {{%.+}}, [[W]] transpose_b
// CHECK-COUNT-2: dataflow.slice
// CHECK-COUNT-3: dataflow.matmul
func.func @main(%h0: tensor<1x2xf32>) -> (tensor<1x2xf32>, tensor<2x2xf32>) {
  %a = dataflow.constant dense<[[1.0, 2.0], [3.0, 4.0]]> : tensor<2x2xf32>
  %b = dataflow.constant dense<[[5.0, 6.0], [7.0, 8.0]]> : tensor<2x2xf32>
  %c = dataflow.constant dense<[[9.0, 10.0], [11.0, 12.0]]> : tensor<2x2xf32>
  %d = dataflow.constant dense<[[13.0, 14.0], [15.0, 16.0]]> : tensor<2x2xf32>
  %e = dataflow.constant dense<[[17.0, 18.0], [19.0, 20.0]]> : tensor<2x2xf32>
  %last = dataflow.loop 3 steps carry(%h = %h0 : tensor<1x2xf32>) {
    %pa = dataflow.matmul %h, %a transpose_b : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %pb = dataflow.matmul %h, %b transpose_b : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %pc = dataflow.matmul %h, %c transpose_b : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %pd = dataflow.matmul %h, %d transpose_b : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %pe = dataflow.matmul %pd, %e : (tensor<1x2xf32>, tensor<2x2xf32>) -> tensor<1x2xf32>
    %ta = dataflow.tanh %pa : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %tb = dataflow.sigmoid %pb : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %tc = dataflow.sigmoid %pc : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %te = dataflow.sigmoid %pe : (tensor<1x2xf32>) -> tensor<1x2xf32>
    %m = dataflow.mul %ta, %tb : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %n = dataflow.mul %m, %tc : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    %o = dataflow.mul %n, %te : (tensor<1x2xf32>, tensor<1x2xf32>) -> tensor<1x2xf32>
    dataflow.yield %o : tensor<1x2xf32>
  }
  func.return %last, %c : tensor<1x2xf32>, tensor<2x2xf32>
}
