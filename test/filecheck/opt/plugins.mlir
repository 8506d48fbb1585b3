// A plug-in adds a dialect, an instruction, its kernel, a pass in the default list, a chip, ways to place, to order and to fuse.

// DEFINE: %{plugin} = --plugin %S/../../../examples/plugin/saturation
// RUN: mkdir -p %t
// RUN: meshloom-opt %s %{plugin} -p find-saturation --check-semantics 2>&1 | filecheck %s
// RUN: meshloom-opt %s %{plugin} -p find-saturation --print-op-generic | meshloom-opt %{plugin} | filecheck %s --check-prefix=CLAMP
// RUN: meshloom-opt %s -t 'interpret{inputs=iota}' | filecheck %s --check-prefix=VALUES
// RUN: meshloom-opt %s %{plugin} -p find-saturation -t 'interpret{inputs=iota}' | filecheck %s --check-prefix=VALUES
// RUN: meshloom-compile %s %{plugin} --chip quick --print-pipeline | filecheck %s --check-prefix=LIST
// RUN: meshloom-compile %s %{plugin} --chip quick -q -o %t/net.mlx --print-ir-after-all %t/ir
// RUN: cat %t/ir/*.mlir | filecheck %s --check-prefix=STAGES
// RUN: meshloom-run %t/net.mlx %{plugin} --random 0 --check %s | filecheck %s --check-prefix=CHECKED
// RUN: not meshloom-run %t/net.mlx --random 0 2>&1 | filecheck %s --check-prefix=NEEDED
// RUN: meshloom-objdump %t/net.mlx %{plugin} -o %t/net.lst
// RUN: meshloom-as %t/net.lst %{plugin} -o %t/same.mlx
// RUN: cmp %t/net.mlx %t/same.mlx
// RUN: meshloom-compile %t/ir/00-import.mlir %{plugin} --chip quick -q -o %t/again.mlx --order a-few --placement mirrored --fuse first-two
// RUN: meshloom-run %t/again.mlx %{plugin} --random 0 --check %s | filecheck %s --check-prefix=CHECKED
// RUN: meshloom-opt %s %{plugin} --list-dialects | filecheck %s --check-prefix=DIALECTS
// RUN: meshloom-opt %s %{plugin} --list-passes | filecheck %s --check-prefix=PASSES
// RUN: not meshloom-opt %s -p find-saturation 2>&1 | filecheck %s --check-prefix=WITHOUT

// CHECK: %y = saturate.clamp %x from -1.000000e+00 : f32 to 2.000000e+00 : f32 : (tensor<7xf32>) -> tensor<7xf32>
// CHECK: check-semantics: find-saturation kept all results
// CLAMP: %y = saturate.clamp %x
// VALUES: y: tensor<7xf32> = [-1., -1., -1., 0., 1., 2., 2.]
// LIST: dataflow-fold-affine,dataflow-block-outputs{chip="quick"},dataflow-split-widened{chip="quick"},find-saturation,dataflow-merge-constants
// STAGES: dataflow.minimum
// STAGES: manycore.execute
// STAGES: saturate.clamp
// STAGES: clamp f32
// CHECKED: OK: all outputs equal the interpreter
// NEEDED: error: {{.*}}net.mlx holds instructions 'clamp' of plug-in 'saturation': load it with --plugin
// DIALECTS: saturate
// PASSES: find-saturation Replace a minimum and a maximum with known bounds by one operation
// WITHOUT: error: -p 'find-saturation': unknown pass 'find-saturation'
func.func @main(%x: tensor<7xf32> {dataflow.name = "x"}) -> (tensor<7xf32> {dataflow.name = "y"}) {
  %low = dataflow.constant dense<-1.0> : tensor<f32>
  %high = dataflow.constant dense<2.0> : tensor<f32>
  %0 = dataflow.maximum %x, %low : (tensor<7xf32>, tensor<f32>) -> tensor<7xf32>
  %y = dataflow.minimum %0, %high : (tensor<7xf32>, tensor<f32>) -> tensor<7xf32>
  func.return %y : tensor<7xf32>
}
