// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s
// RUN: meshloom-opt %s -p canonicalize,cse -t 'interpret{inputs=iota}' | filecheck %s

// The example of the claims: 1 0 0 1 1 and 1 0 1 0 1 have 1 0 0 0 1 in common, in all ways to combine them.
// CHECK:      direct: {{.*}} = [{{\[}} True, False, False, False,  True]]
// CHECK-NEXT: strides: {{.*}} = [{{\[}} True, False, False, False,  True]]
// CHECK-NEXT: mixed: {{.*}} = [{{\[}} True, False, False, False,  True]]
// CHECK-NEXT: mixed_strides: {{.*}} = [{{\[}} True, False, False, False,  True]]
// Both inputs compacted: zeros for what the operation unit does not get.
// CHECK-NEXT: neurons: {{.*}} = [{{\[}}5., 0., 0., 0., 7.]]
// CHECK-NEXT: weights: {{.*}} = [{{\[}}2., 0., 0., 0., 4.]]
// 5 * 2 + 7 * 4
// CHECK-NEXT: product: tensor<1x1xf32> = [{{\[}}38.]]
// Of iota (-3 to 3, -3 ...), |x| > 1 counts.
// CHECK-NEXT: threshold: tensor<10xf32> = [-3., -2., 0., 0., 0., 2., 3., -3., -2., 0.]
// Groups of 3, 3, 4: in the second and the third are more than one of |x| <= 1.
// CHECK-NEXT: pruned: tensor<10xf32> = [-3., -2., -1., 0., 0., 0., 3., -3., -2., -1.]
func.func @main(%x: tensor<10xf32>) -> (
    tensor<1x5xi1, #sparse.index<direct>> {dataflow.name = "direct"},
    tensor<1x5xi1, #sparse.index<stride, bits = 2>> {dataflow.name = "strides"},
    tensor<1x5xi1, #sparse.index<direct>> {dataflow.name = "mixed"},
    tensor<1x5xi1, #sparse.index<stride, bits = 3>> {dataflow.name = "mixed_strides"},
    tensor<1x5xf32, #sparse.index<direct>> {dataflow.name = "neurons"},
    tensor<1x5xf32, #sparse.index<direct>> {dataflow.name = "weights"},
    tensor<1x1xf32> {dataflow.name = "product"},
    tensor<10xf32> {dataflow.name = "threshold"},
    tensor<10xf32> {dataflow.name = "pruned"}) {
  %a = dataflow.constant dense<[[5.0, 0.0, 0.0, 6.0, 7.0]]> : tensor<1x5xf32>
  %b = dataflow.constant dense<[[2.0, 0.0, 3.0, 0.0, 4.0]]> : tensor<1x5xf32>
  %ad = sparse.encode %a : tensor<1x5xf32> -> tensor<1x5xf32, #sparse.index<direct>>
  %as = sparse.encode %a : tensor<1x5xf32> -> tensor<1x5xf32, #sparse.index<stride, bits = 2>>
  %bd = sparse.encode %b : tensor<1x5xf32> -> tensor<1x5xf32, #sparse.index<direct>>
  %bs = sparse.encode %b : tensor<1x5xf32> -> tensor<1x5xf32, #sparse.index<stride, bits = 2>>
  %cad = sparse.connections %ad : tensor<1x5xf32, #sparse.index<direct>> -> tensor<1x5xi1, #sparse.index<direct>>
  %cas = sparse.connections %as : tensor<1x5xf32, #sparse.index<stride, bits = 2>> -> tensor<1x5xi1, #sparse.index<stride, bits = 2>>
  %cbd = sparse.connections %bd : tensor<1x5xf32, #sparse.index<direct>> -> tensor<1x5xi1, #sparse.index<direct>>
  %cbs = sparse.connections %bs : tensor<1x5xf32, #sparse.index<stride, bits = 2>> -> tensor<1x5xi1, #sparse.index<stride, bits = 2>>
  %direct = sparse.combine %cad, %cbd : tensor<1x5xi1, #sparse.index<direct>>, tensor<1x5xi1, #sparse.index<direct>> -> tensor<1x5xi1, #sparse.index<direct>>
  %strides = sparse.combine %cas, %cbs : tensor<1x5xi1, #sparse.index<stride, bits = 2>>, tensor<1x5xi1, #sparse.index<stride, bits = 2>> -> tensor<1x5xi1, #sparse.index<stride, bits = 2>>
  %mixed = sparse.combine %cas, %cbd : tensor<1x5xi1, #sparse.index<stride, bits = 2>>, tensor<1x5xi1, #sparse.index<direct>> -> tensor<1x5xi1, #sparse.index<direct>>
  %mixed_strides = sparse.combine %cad, %cbs : tensor<1x5xi1, #sparse.index<direct>>, tensor<1x5xi1, #sparse.index<stride, bits = 2>> -> tensor<1x5xi1, #sparse.index<stride, bits = 3>>

  %neurons = sparse.compact %a by %mixed : tensor<1x5xf32>, tensor<1x5xi1, #sparse.index<direct>> -> tensor<1x5xf32, #sparse.index<direct>>
  %weights = sparse.compact %b by %mixed : tensor<1x5xf32>, tensor<1x5xi1, #sparse.index<direct>> -> tensor<1x5xf32, #sparse.index<direct>>
  %product = sparse.matmul %neurons, %weights transpose_b : (tensor<1x5xf32, #sparse.index<direct>>, tensor<1x5xf32, #sparse.index<direct>>) -> tensor<1x1xf32>

  %t = sparse.encode %x : tensor<10xf32> -> tensor<10xf32, #sparse.index<direct, threshold = 1.0>>
  %threshold = sparse.decode %t : tensor<10xf32, #sparse.index<direct, threshold = 1.0>> -> tensor<10xf32>
  %pruned = sparse.prune_groups %x groups 3 threshold 1.0 limit 1 : tensor<10xf32>
  func.return %direct, %strides, %mixed, %mixed_strides, %neurons, %weights, %product, %threshold, %pruned
    : tensor<1x5xi1, #sparse.index<direct>>, tensor<1x5xi1, #sparse.index<stride, bits = 2>>, tensor<1x5xi1, #sparse.index<direct>>,
      tensor<1x5xi1, #sparse.index<stride, bits = 3>>, tensor<1x5xf32, #sparse.index<direct>>, tensor<1x5xf32, #sparse.index<direct>>,
      tensor<1x1xf32>, tensor<10xf32>, tensor<10xf32>
}
