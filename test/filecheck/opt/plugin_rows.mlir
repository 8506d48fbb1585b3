// An instruction of a plug-in that takes rows as a whole: the last dimensions of its operands differ.

// DEFINE: %{plugin} = --plugin %S/../../../examples/plugin/saturation
// RUN: mkdir -p %t
// RUN: meshloom-opt %s %{plugin} -t 'interpret{inputs=iota}' | filecheck %s --check-prefix=VALUES
// RUN: meshloom-compile %s %{plugin} --chip quick -q -o %t/net.mlx
// RUN: meshloom-run %t/net.mlx %{plugin} --random 0 --check %s --validate | filecheck %s --check-prefix=CHECKED
// RUN: meshloom-objdump %t/net.mlx %{plugin} | filecheck %s --check-prefix=LISTING
// RUN: meshloom-objdump %t/net.mlx %{plugin} -o %t/net.lst
// RUN: meshloom-as %t/net.lst %{plugin} -o %t/same.mlx
// RUN: cmp %t/net.mlx %t/same.mlx
// RUN: not meshloom-run %t/net.mlx --random 0 2>&1 | filecheck %s --check-prefix=NEEDED

// VALUES:  y: tensor<3x2x2xf32> = {{\[\[\[}}-3.,  3.],
// CHECKED: OK: all outputs equal the interpreter
// LISTING: bounds f32 [{{.*}}, d{{[0-9]+}}], [{{.*}}, d{{[0-9]+}}]
// NEEDED:  holds instructions 'bounds' of plug-in 'saturation': load it with --plugin
func.func @main(%x: tensor<3x2x17xf32> {dataflow.name = "x"}) -> (tensor<3x2x2xf32> {dataflow.name = "y"}) {
  %0 = dataflow.abs %x : (tensor<3x2x17xf32>) -> tensor<3x2x17xf32>
  %2 = dataflow.minimum %x, %0 : (tensor<3x2x17xf32>, tensor<3x2x17xf32>) -> tensor<3x2x17xf32>
  %y = saturate.bounds %2 : (tensor<3x2x17xf32>) -> tensor<3x2x2xf32>
  func.return %y : tensor<3x2x2xf32>
}
