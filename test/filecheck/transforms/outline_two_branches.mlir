// The figure of two branches of four operators between one before and one after, as a program. The weights of %conv1 have
// 256 bytes, the others 64; what %relu and %conv1 give has 128 bytes, all else 32.
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=named names=mean,axpy}' --check-semantics | filecheck %s --check-prefix=HAND
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=weight-bytes weight-bytes=300}' --check-semantics | filecheck %s --check-prefix=WEIGHTS
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=fewest-bytes nodes=7}' --check-semantics | filecheck %s --check-prefix=LEAST
// RUN: meshloom-opt %s -p 'manycore-outline-subgraphs{rule=data-outputs}' --check-semantics | filecheck %s --check-prefix=WHOLE

// Behind the operators that are named.
// HAND:        manycore.subgraph @"0"
// HAND:          %mean{{.*}} = dataflow.tanh
// HAND-NEXT:     manycore.yield
// HAND:        manycore.subgraph @"1"
// HAND:          %axpy{{.*}} = dataflow.mul
// HAND-NEXT:     manycore.yield
// HAND:        manycore.subgraph @"2"
// HAND:          %softmax{{.*}} = dataflow.sub
// HAND-NOT:    manycore.subgraph

// 256 bytes and 64 are over 300, 64 and 64 are not.
// WEIGHTS:     manycore.subgraph @"0"
// WEIGHTS:       %conv1{{.*}} = dataflow.matmul
// WEIGHTS-NEXT:  manycore.yield
// WEIGHTS:     manycore.subgraph @"1"
// WEIGHTS:       %matmul{{.*}} = dataflow.matmul
// WEIGHTS:       %conv2{{.*}} = dataflow.matmul
// WEIGHTS-NOT: manycore.subgraph

// Of ten operators, seven at most are together: from %conv2 on, 64 bytes cross (%add1 and one of the other branch), before
// it 160 do (%relu and one of the first branch).
// LEAST:       manycore.subgraph @"0"
// LEAST:         %conv2{{.*}} = dataflow.matmul
// LEAST-NEXT:    manycore.yield
// LEAST:       manycore.subgraph @"1"
// LEAST:         %axpy{{.*}} = dataflow.mul
// LEAST-NOT:   manycore.subgraph

// The only output is at the end.
// WHOLE:       manycore.subgraph @"0"
// WHOLE-NOT:   manycore.subgraph

func.func @main(%x: tensor<4x8xf32>) -> tensor<4x2xf32> {
  %w1 = dataflow.constant dense<0.5> : tensor<8x8xf32>
  %w2 = dataflow.constant dense<0.25> : tensor<8x2xf32>
  %w3 = dataflow.constant dense<-0.5> : tensor<8x2xf32>
  %relu = dataflow.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %conv1 = dataflow.matmul %relu, %w1 : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %matmul = dataflow.matmul %conv1, %w2 : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %mean = dataflow.tanh %matmul : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %add1 = dataflow.add %mean, %mean : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %conv2 = dataflow.matmul %relu, %w3 : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
  %axpy = dataflow.mul %conv2, %conv2 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  %sub = dataflow.neg %axpy : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %add2 = dataflow.exp %sub : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %softmax = dataflow.sub %add1, %add2 : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  func.return %softmax : tensor<4x2xf32>
}
