// Narrow formats at every level: bytes of f32 values and back, whole, in tasks on one core and in tiles over four, from
// buffers in memory, and as instructions of a binary in the emulator.

// RUN: meshloom-opt %s -t interpret | filecheck %s
// RUN: meshloom-opt %s -p dataflow-to-manycore -t interpret | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny}' -t interpret | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -t interpret | filecheck %s
// RUN: meshloom-opt %s -t 'emulate{chip=tiny}' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory' -t 'emulate' | filecheck %s
// RUN: meshloom-opt %s -p 'dataflow-to-manycore,manycore-tile{chip=tiny},manycore-to-memory,memory-to-coreasm' -t 'emulate' | filecheck %s

// 65537 = 2^16 + 1 lies between two f24, 65536 (0x478000, the even one) and 65538; 17 between two f8e4m3, 16 (0x58) and
// 18, and 1000 is beyond: NaN (0x7f); 9 between two f8e5m2, 8 (0x48) and 10. Half of the least f8e4m3, 2^-10, gives 0.
// CHECK:      f24: {{.*}} = {{\[\[}}[  0, 128,  71],
// CHECK-NEXT: [  0,   0, 128]],
// CHECK:      {{\[\[}}  0,  16,  65],
// CHECK-NEXT: [  0, 128, 191]]]
// CHECK-NEXT: f8e4m3: {{.*}} = {{\[\[}} 88],
// CHECK-NEXT: [  0],
// CHECK-NEXT: [127],
// CHECK-NEXT: [129]]
// CHECK-NEXT: back: {{.*}} = [ 8., 12., inf, -0.]
func.func @main() -> (tensor<2x2x3xui8> {dataflow.name = "f24"}, tensor<4x1xui8> {dataflow.name = "f8e4m3"},
    tensor<4xf32> {dataflow.name = "back"}) {
  %x = dataflow.constant dense<[[65537.0, -0.0], [9.0, -1.0]]> : tensor<2x2xf32>
  %a = memory.pack %x as "f24" : (tensor<2x2xf32>) -> tensor<2x2x3xui8>
  %y = dataflow.constant dense<[17.0, 0.0009765625, 1000.0, -0.002]> : tensor<4xf32>
  %b = memory.pack %y as "f8e4m3" : (tensor<4xf32>) -> tensor<4x1xui8>
  %z = dataflow.constant dense<[9.0, 11.0, 61440.0, -0.000007]> : tensor<4xf32>
  %p = memory.pack %z as "f8e5m2" : (tensor<4xf32>) -> tensor<4x1xui8>
  %c = memory.unpack %p as "f8e5m2" : (tensor<4x1xui8>) -> tensor<4xf32>
  func.return %a, %b, %c : tensor<2x2x3xui8>, tensor<4x1xui8>, tensor<4xf32>
}
