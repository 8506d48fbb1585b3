// RUN: meshloom-opt %s -p 'sparse-encode-stored{chip=tiny}' | filecheck %s
// RUN: meshloom-opt %s -p 'sparse-encode-stored{chip=tiny}' --check-semantics 2>&1 >/dev/null | filecheck %s --check-prefix=SAME
// RUN: not meshloom-opt %s -p 'sparse-encode-stored' 2>&1 | filecheck %s --check-prefix=CHIP
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s --check-prefix=VALUE
// RUN: meshloom-opt %s -p 'sparse-encode-stored{chip=tiny}' -t 'interpret{inputs=iota}' | filecheck %s --check-prefix=VALUE
// RUN: meshloom-opt %s -p 'sparse-encode-stored{chip=tiny},canonicalize,dataflow-to-manycore,manycore-tile{chip=tiny}' -t 'interpret{inputs=iota}' | filecheck %s --check-prefix=VALUE
// RUN: meshloom-opt %s -p 'sparse-encode-stored{chip=tiny},canonicalize,dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -t 'interpret{inputs=iota}' | filecheck %s --check-prefix=VALUE
// RUN: meshloom-opt %s -p 'sparse-encode-stored{chip=tiny},canonicalize,dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory,memory-to-coreasm' -t 'emulate{inputs=iota}' | filecheck %s --check-prefix=VALUE

// SAME: sparse-encode-stored kept all results
// CHIP: no chip is given: use sparse-encode-stored{{{chip=NAME}}}

// Values at known places among zeros are weights of which the index is known: of a product, and, transposed, of another.
// CHECK-LABEL: func.func @main
// CHECK-NOT:   dataflow.scatter
// CHECK:       %[[INDEX:.*]] = dataflow.constant {{.*}} : tensor<[[PANELS:.*]]xui8>
// CHECK:       %[[ORDER:.*]] = dataflow.constant {{.*}} : tensor<{{.*}}xi32>
// CHECK-NEXT:  %[[FILLED:.*]] = sparse.fill_panels %[[INDEX]], %values order %[[ORDER]] : (tensor<[[PANELS]]xui8>, tensor<48xf32>, tensor<{{.*}}xi32>)
// CHECK-NEXT:  %y = sparse.panel_matmul %x, %[[FILLED]]
// In the order of these panels, values are as they lie in memory.
// CHECK:       %[[THERE:.*]] = dataflow.reshape %values : (tensor<48xf32>) -> tensor<2x1x24xf32>
// CHECK-NEXT:  %[[BACK:.*]] = sparse.fill_panels %{{.*}}, %[[THERE]] : (tensor<2x1x32xui8>, tensor<2x1x24xf32>) -> tensor<2x1x128xui8>
// CHECK-NEXT:  %back = sparse.panel_matmul %y, %[[BACK]]
// CHECK-NEXT:  func.return %y, %back

// The same at every level; without panels it is a product of `dataflow`.
// VALUE:      y: {{.*}} = {{\[\[}}  3.,  -5.,   7., ...,   0.,  11.,   3.],
// VALUE-NEXT: [  0.,   4.,   3., ...,   0.,  -5.,  -6.],
// VALUE:      back: {{.*}} = {{\[\[}}-65., -78., -11., ...,  -2.,  14.,   0.],
// VALUE-NEXT: [ 25.,  69.,  18., ...,  -4.,   6.,   0.],
func.func @main(%x: tensor<64x32xf32>, %values: tensor<48xf32>) -> (tensor<64x32xf32> {dataflow.name = "y"}, tensor<64x32xf32> {dataflow.name = "back"}) {
  %zero = dataflow.constant dense<0.0> : tensor<1024xf32>
  %places = dataflow.constant dense<[2, 5, 8, 16, 22, 28, 33, 40, 73, 81, 90, 126, 172, 177, 264, 276, 301, 303, 394, 410, 429, 488, 498, 500, 537, 540, 547, 555, 557, 600, 622, 627, 640, 662, 670, 685, 723, 734, 768, 801, 814, 831, 852, 859, 871, 901, 931, 962]> : tensor<48xi32>
  %flat = dataflow.scatter add %zero, %places, %values batch 0 : (tensor<1024xf32>, tensor<48xi32>, tensor<48xf32>) -> tensor<1024xf32>
  %w = dataflow.reshape %flat : (tensor<1024xf32>) -> tensor<32x32xf32>
  %y = dataflow.matmul %x, %w : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  %turned = dataflow.transpose %w [1, 0] : (tensor<32x32xf32>) -> tensor<32x32xf32>
  %back = dataflow.matmul %y, %turned : (tensor<64x32xf32>, tensor<32x32xf32>) -> tensor<64x32xf32>
  func.return %y, %back : tensor<64x32xf32>, tensor<64x32xf32>
}
