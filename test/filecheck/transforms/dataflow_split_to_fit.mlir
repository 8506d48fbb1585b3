// RUN: meshloom-opt %s -p 'dataflow-split-to-fit{bytes=26000}' --check-semantics | filecheck %s
// RUN: not meshloom-opt %s -p 'dataflow-split-to-fit{bytes=4000}' 2>&1 | filecheck %s --check-prefix=LARGE
// RUN: not meshloom-opt %s -p dataflow-split-to-fit 2>&1 | filecheck %s --check-prefix=USAGE
// RUN: meshloom-opt %s -p 'dataflow-split-to-fit{chip=tiny}' | filecheck %s --check-prefix=TINY

// LARGE: error: {{.*}}operator 'best' (dataflow.arg_reduce) does not fit: its smallest part needs 4008 bytes for inputs, parameters and results, 4000 are available
// USAGE: error: {{.*}}give either dataflow-split-to-fit{chip=NAME} or dataflow-split-to-fit{bytes=N}

// 57,344 bytes of a core of tiny: only the long sum has more, 2 x 32,000 bytes of operands in a frame.
// TINY-COUNT-2: dataflow.matmul
// TINY:         dataflow.add
// TINY-NOT:     dataflow.concat

// 10 frames of 100 channels, 16,000 bytes in and as many out: 2 parts of 5 frames x 100 channels.
// CHECK:       %[[A:.*]] = dataflow.slice %x starts [0, 0, 0, 0] sizes [5, 100, 2, 2] steps [1, 1, 1, 1]
// CHECK-NEXT:  %[[B:.*]] = dataflow.relu %[[A]] : (tensor<5x100x2x2xf32>) -> tensor<5x100x2x2xf32>
// CHECK-NEXT:  %[[C:.*]] = dataflow.slice %x starts [5, 0, 0, 0] sizes [5, 100, 2, 2] steps [1, 1, 1, 1]
// CHECK-NEXT:  %[[D:.*]] = dataflow.relu %[[C]] : (tensor<5x100x2x2xf32>) -> tensor<5x100x2x2xf32>
// CHECK-NEXT:  dataflow.concat %[[B]], %[[D]] axis 0

// 40,000 bytes of parameters leave no room however few the frames are: 2 parts of 10 frames x 50 channels.
// CHECK:       dataflow.conv %c, %{{.*}} (tensor<10x100x1x1xf32>, tensor<50x100x1x1xf32>) -> tensor<10x50x1x1xf32>
// CHECK-NEXT:  dataflow.conv %c, %{{.*}} (tensor<10x100x1x1xf32>, tensor<50x100x1x1xf32>) -> tensor<10x50x1x1xf32>
// CHECK-NEXT:  dataflow.concat {{.*}} axis 1

// Channel and width change places: frames, then height, ragged here (7 + 8 rows).
// CHECK:       dataflow.slice %t starts [0, 0, 0, 0] sizes [1, 16, 7, 16]
// CHECK-NEXT:  dataflow.transpose {{.*}} [0, 3, 2, 1] : (tensor<1x16x7x16xf32>) -> tensor<1x16x7x16xf32>
// CHECK:       dataflow.slice %t starts [0, 0, 7, 0] sizes [1, 16, 8, 16]
// CHECK-NEXT:  dataflow.transpose
// CHECK-NEXT:  dataflow.concat {{.*}} axis 2

// One number from two rows of 8,000: nothing is left but to sum in three parts.
// CHECK:       dataflow.matmul {{.*}} (tensor<1x2666xf32>, tensor<2666x1xf32>) -> tensor<1x1xf32>
// CHECK:       dataflow.matmul {{.*}} (tensor<1x2667xf32>, tensor<2667x1xf32>) -> tensor<1x1xf32>
// CHECK:       dataflow.add
// CHECK:       dataflow.matmul {{.*}} (tensor<1x2667xf32>, tensor<2667x1xf32>) -> tensor<1x1xf32>
// CHECK:       dataflow.add
// CHECK-NEXT:  dataflow.arg_reduce
func.func @main(
    %x: tensor<10x100x2x2xf32>, %c: tensor<10x100x1x1xf32>, %t: tensor<1x16x15x16xf32>, %r: tensor<1x8000xf32>,
    %l: tensor<8000x1xf32>, %a: tensor<1x1000xf32>
) -> (tensor<10x100x2x2xf32>, tensor<10x100x1x1xf32>, tensor<1x16x15x16xf32>, tensor<1x1xf32>, tensor<1x1xi64>) {
  %w = dataflow.constant dense<0.5> : tensor<100x100x1x1xf32>
  %0 = dataflow.relu %x : (tensor<10x100x2x2xf32>) -> tensor<10x100x2x2xf32>
  %1 = dataflow.conv %c, %w strides [1, 1] dilations [1, 1] pad [0, 0] to [0, 0] groups 1
    : (tensor<10x100x1x1xf32>, tensor<100x100x1x1xf32>) -> tensor<10x100x1x1xf32>
  %2 = dataflow.transpose %t [0, 3, 2, 1] : (tensor<1x16x15x16xf32>) -> tensor<1x16x15x16xf32>
  %3 = dataflow.matmul %r, %l : (tensor<1x8000xf32>, tensor<8000x1xf32>) -> tensor<1x1xf32>
  %best = dataflow.arg_reduce max %a axis 1 : (tensor<1x1000xf32>) -> tensor<1x1xi64>
  func.return %0, %1, %2, %3, %best : tensor<10x100x2x2xf32>, tensor<10x100x1x1xf32>, tensor<1x16x15x16xf32>, tensor<1x1xf32>, tensor<1x1xi64>
}
