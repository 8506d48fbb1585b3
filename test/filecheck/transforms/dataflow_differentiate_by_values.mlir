// RUN: meshloom-opt %s -p 'dataflow-differentiate{loss="mean-squared-error" optimizer="sgd" rate=0.5}' --verify-diagnostics

func.func @main(%n: tensor<i64>, %w: tensor<4xf32> {dataflow.parameter, dataflow.name = "w"}) -> tensor<4xf32> {
  // expected-error@+1 {{pass 'dataflow-differentiate': no gradient is known for a loop whose number of steps is known at run time only}}
  %last = dataflow.loop 12 steps count(%n : tensor<i64>) carry(%h = %w : tensor<4xf32>) {
    %next = dataflow.mul %h, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    dataflow.yield %next : tensor<4xf32>
  }
  func.return %last : tensor<4xf32>
}
