"""Convolutional networks with the structure of published ones, at small sizes, with seeded weights."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import ModelProto, TensorProto, helper, numpy_helper

Inputs = dict[str, NDArray[Any]]


class ConvNet:
    """A graph that grows from its input `x` [1, C, spatial...]; values are names, `shapes` has their shapes."""

    def __init__(self, shape: tuple[int, ...], seed: int) -> None:
        self.generator = np.random.default_rng(seed)
        self.shapes = {"x": shape}
        self._nodes: list[onnx.NodeProto] = []
        self._tensors: list[TensorProto] = []

    def node(self, kind: str, inputs: list[str], shape: tuple[int, ...], **attributes: Any) -> str:
        """Add a node with one result of this shape; returns the name of the result."""
        name = f"{kind.lower()}{len(self._nodes)}"
        self._nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        self.shapes[name] = shape
        return name

    def constant(self, array: NDArray[Any]) -> str:
        """Add an initialiser; returns its name."""
        name = f"w{len(self._tensors)}"
        self._tensors.append(numpy_helper.from_array(array, name))
        return name

    def conv(
        self, x: str, channels: int, kernel: int = 1, stride: int = 1, groups: int = 1, act: str = "Relu",
        dilation: int = 1, pad: bool = True,
    ) -> str:  # fmt: skip
        """A convolution with a bias, and an activation ("": none). With `pad`, a stride of 1 keeps the size."""
        _, depth, *sizes = self.shapes[x]
        shape = (channels, depth // groups, *([kernel] * len(sizes)))
        weights = self.generator.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))
        bias = self.generator.normal(0, 0.1, channels)
        reach = (kernel - 1) * dilation
        border = reach // 2 if pad else 0
        out = (1, channels, *((size + 2 * border - reach - 1) // stride + 1 for size in sizes))
        operands = [x, self.constant(weights.astype(np.float32)), self.constant(bias.astype(np.float32))]
        result = self.node(
            "Conv", operands, out, kernel_shape=shape[2:], strides=[stride] * len(sizes), group=groups,
            dilations=[dilation] * len(sizes), pads=[border] * (2 * len(sizes)),
        )  # fmt: skip
        return self.act(result, act)

    def act(self, x: str, kind: str) -> str:
        """An activation: an operator of ONNX, "Relu6", "Swish", or "" for none."""
        match kind:
            case "":
                return x
            case "Relu6":
                bounds = [self.constant(np.array(value, np.float32)) for value in (0, 6)]
                return self.node("Clip", [x, *bounds], self.shapes[x])
            case "Swish":
                return self.node("Mul", [x, self.node("Sigmoid", [x], self.shapes[x])], self.shapes[x])
            case _:
                return self.node(kind, [x], self.shapes[x])

    def add(self, a: str, b: str, act: str = "") -> str:
        """A sum of two values of the same shape."""
        return self.act(self.node("Add", [a, b], self.shapes[a]), act)

    def concat(self, *values: str) -> str:
        """A concatenation along the channels."""
        _, _, *sizes = self.shapes[values[0]]
        return self.node("Concat", list(values), (1, sum(self.shapes[v][1] for v in values), *sizes), axis=1)

    def pool(self, x: str, kind: str = "MaxPool", kernel: int = 2, stride: int = 2) -> str:
        """A pooling without padding."""
        _, channels, *sizes = self.shapes[x]
        out = (1, channels, *((size - kernel) // stride + 1 for size in sizes))
        rank = len(sizes)
        return self.node(kind, [x], out, kernel_shape=[kernel] * rank, strides=[stride] * rank)

    def global_pool(self, x: str) -> str:
        """Global average pooling."""
        _, channels, *sizes = self.shapes[x]
        return self.node("GlobalAveragePool", [x], (1, channels, *([1] * len(sizes))))

    def squeeze_excite(self, x: str, share: int = 4) -> str:
        """Squeeze and excitation: channels are scaled by two small layers applied to their means."""
        channels = self.shapes[x][1]
        small = self.conv(self.global_pool(x), max(channels // share, 4))
        return self.node("Mul", [x, self.conv(small, channels, act="Sigmoid")], self.shapes[x])

    def up(self, x: str) -> str:
        """Upsampling by 2, nearest neighbour."""
        _, channels, *sizes = self.shapes[x]
        scales = self.constant(np.array([1, 1, *([2] * len(sizes))], np.float32))
        out = (1, channels, *(2 * size for size in sizes))
        return self.node("Resize", [x, "", scales], out, mode="nearest", nearest_mode="floor",
                         coordinate_transformation_mode="asymmetric")  # fmt: skip

    def part(self, x: str, first: int, last: int) -> str:
        """Channels from `first` to before `last`."""
        _, _, *sizes = self.shapes[x]
        bounds = [self.constant(np.array([value], np.int64)) for value in (first, last, 1)]
        return self.node("Slice", [x, *bounds], (1, last - first, *sizes))

    def shuffle(self, x: str, groups: int) -> str:
        """A channel shuffle: one channel of each group in turn."""
        _, channels, *sizes = self.shapes[x]
        apart = (1, groups, channels // groups, *sizes)
        rank = len(apart)
        grouped = self.node("Reshape", [x, self.constant(np.array(apart, np.int64))], apart)
        turned = self.node(
            "Transpose", [grouped], (1, channels // groups, groups, *sizes), perm=[0, 2, 1, *range(3, rank)]
        )
        back = (1, channels, *sizes)
        return self.node("Reshape", [turned, self.constant(np.array(back, np.int64))], back)

    def classify(self, x: str, classes: int) -> str:
        """A classifier: global average pooling, a fully connected layer and a softmax."""
        channels = self.shapes[x][1]
        flat = self.node("Flatten", [self.global_pool(x)], (1, channels))
        weights = self.generator.standard_normal((channels, classes)) / np.sqrt(channels)
        bias = np.zeros(classes, np.float32)
        product = self.node("Gemm", [flat, self.constant(weights.astype(np.float32)), self.constant(bias)],
                            (1, classes))  # fmt: skip
        return self.node("Softmax", [product], (1, classes), axis=1)

    def model(self, *results: str) -> tuple[ModelProto, Inputs]:
        """The network with these results, and a seeded input."""
        shape = self.shapes["x"]
        infos = [helper.make_tensor_value_info(r, TensorProto.FLOAT, self.shapes[r]) for r in results]
        graph = helper.make_graph(
            self._nodes, "network", [helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)], infos, self._tensors
        )
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
        onnx.checker.check_model(model)  # pyright: ignore[reportUnknownMemberType]
        return model, {"x": self.generator.standard_normal(shape).astype(np.float32)}


def mobilenet(net: ConvNet) -> list[str]:
    """Inverted residuals with depthwise convolutions, as MobileNetV2 at half its width."""
    x = net.conv("x", 16, 3, 2, act="Relu6")
    for factor, channels, count, stride in ((1, 8, 1, 1), (6, 16, 2, 2), (6, 24, 2, 2), (6, 40, 2, 2), (6, 80, 1, 2)):
        for number in range(count):
            y, wide = x, factor * net.shapes[x][1]
            if factor > 1:
                y = net.conv(y, wide, act="Relu6")
            y = net.conv(y, wide, 3, stride if number == 0 else 1, groups=wide, act="Relu6")
            y = net.conv(y, channels, act="")
            x = net.add(x, y) if net.shapes[x] == net.shapes[y] else y
    return [net.classify(net.conv(x, 320, act="Relu6"), 100)]


def efficientnet(net: ConvNet) -> list[str]:
    """Depthwise convolutions of 3x3 and 5x5 with squeeze and excitation, as EfficientNet."""
    x = net.conv("x", 24, 3, 2, act="Swish")
    stages = ((1, 16, 1, 3, 1), (4, 24, 2, 3, 2), (4, 40, 2, 5, 2), (4, 80, 2, 3, 2), (4, 112, 1, 5, 1))
    for factor, channels, count, kernel, stride in stages:
        for number in range(count):
            y, wide = x, factor * net.shapes[x][1]
            if factor > 1:
                y = net.conv(y, wide, act="Swish")
            y = net.conv(y, wide, kernel, stride if number == 0 else 1, groups=wide, act="Swish")
            y = net.conv(net.squeeze_excite(y), channels, act="")
            x = net.add(x, y) if net.shapes[x] == net.shapes[y] else y
    return [net.classify(net.conv(x, 256, act="Swish"), 60)]


def yolo(net: ConvNet) -> list[str]:
    """A detector with results at two sizes."""
    x, kept = "x", ""
    for number, channels in enumerate((16, 32, 64, 128, 256)):
        x = net.conv(x, channels, 3, act="LeakyRelu")
        if number == 3:
            kept = x
        if number < 4:
            x = net.pool(x)
    x = net.conv(net.conv(x, 512, 3, act="LeakyRelu"), 128, act="LeakyRelu")
    coarse = net.conv(net.conv(x, 256, 3, act="LeakyRelu"), 75, act="")
    joined = net.concat(net.up(net.conv(x, 64, act="LeakyRelu")), kept)
    return [coarse, net.conv(net.conv(joined, 128, 3, act="LeakyRelu"), 75, act="")]


def unet(net: ConvNet) -> list[str]:
    """An encoder to an eighth of the size and a decoder with skip connections, as U-Net."""
    x, kept = "x", list[str]()
    for channels in (16, 32, 64):
        x = net.conv(net.conv(x, channels, 3), channels, 3)
        kept.append(x)
        x = net.pool(x)
    x = net.conv(net.conv(x, 128, 3), 128, 3)
    for before in reversed(kept):
        channels = net.shapes[before][1]
        x = net.concat(net.conv(net.up(x), channels, 1), before)
        x = net.conv(net.conv(x, channels, 3), channels, 3)
    return [net.conv(x, 5, act="Sigmoid")]


def shufflenet2(net: ConvNet) -> list[str]:
    """Blocks on half of the channels, with channel shuffles, as ShuffleNetV2."""
    x = net.pool(net.conv("x", 24, 3, 2), kernel=3, stride=2)
    for channels, count in ((48, 3), (96, 4), (192, 3)):
        half = channels // 2
        depth = net.shapes[x][1]
        left = net.conv(net.conv(x, depth, 3, 2, groups=depth, act=""), half)
        right = net.conv(net.conv(net.conv(x, half), half, 3, 2, groups=half, act=""), half)
        x = net.shuffle(net.concat(left, right), 2)
        for _ in range(count - 1):
            left, right = net.part(x, 0, half), net.part(x, half, channels)
            right = net.conv(net.conv(net.conv(right, half), half, 3, groups=half, act=""), half)
            x = net.shuffle(net.concat(left, right), 2)
    return [net.classify(net.conv(x, 256), 50)]


def resnet18(net: ConvNet) -> list[str]:
    """Residual blocks of two 3x3 convolutions, as ResNet-18."""
    x = net.pool(net.conv("x", 64, 7, 2), kernel=3, stride=2)
    for channels, stride in ((64, 1), (128, 2), (256, 2), (512, 2)):
        for step in (stride, 1):
            y = net.conv(net.conv(x, channels, 3, step), channels, 3, act="")
            short = x if net.shapes[x] == net.shapes[y] else net.conv(x, channels, 1, step, act="")
            x = net.add(y, short, "Relu")
    return [net.classify(x, 200)]


def densenet(net: ConvNet) -> list[str]:
    """Blocks in which each layer reads all earlier layers, as DenseNet."""
    x = net.conv("x", 24, 3)
    for number, layers in enumerate((4, 6, 6)):
        for _ in range(layers):
            x = net.concat(x, net.conv(net.conv(x, 48), 12, 3))
        if number < 2:
            x = net.pool(net.conv(x, net.shapes[x][1] // 2), "AveragePool")
    return [net.classify(x, 10)]


def dilated(net: ConvNet) -> list[str]:
    """Parallel dilated convolutions with odd numbers of channels and odd sizes, for segmentation."""
    x = net.conv(net.conv("x", 20, 5, 2), 40, 3, 2)
    x = net.conv(x, 72, 3)
    branches = [net.conv(x, 24, 3, dilation=rate) for rate in (1, 2, 3)]
    x = net.conv(net.concat(*branches, net.conv(x, 24)), 52)
    return [net.conv(net.up(net.conv(x, 36, 3)), 7, act="")]


def resnext(net: ConvNet) -> list[str]:
    """Grouped convolutions in bottlenecks."""
    x = net.conv("x", 40, 3, 2)
    for channels, stride in ((80, 1), (160, 2), (320, 2)):
        for step in (stride, 1):
            middle = channels // 2
            y = net.conv(net.conv(net.conv(x, middle), middle, 3, step, groups=8), channels, act="")
            short = x if net.shapes[x] == net.shapes[y] else net.conv(x, channels, 1, step, act="")
            x = net.add(y, short, "Relu")
    return [net.classify(x, 37)]


def wavenet(net: ConvNet) -> list[str]:
    """Gated one-dimensional dilated convolutions over time."""
    x, total = net.conv("x", 32, 3), ""
    for rate in (1, 2, 4, 8):
        gate, value = (net.conv(x, 32, 3, dilation=rate, act=act) for act in ("Sigmoid", "Tanh"))
        y = net.conv(net.node("Mul", [gate, value], net.shapes[gate]), 32, act="")
        total, x = (net.add(total, y) if total else y), net.add(x, y)
    return [net.conv(net.conv(net.act(total, "Relu"), 64), 11, act="")]


def ragged(net: ConvNet) -> list[str]:
    """Convolutions without padding; channels and sizes are not powers of two."""
    x = net.pool(net.conv("x", 24, 3, pad=False))
    x = net.pool(net.conv(x, 40, 3, pad=False))
    x = net.conv(net.conv(x, 116, 3, pad=False), 116, 1)
    return [net.classify(net.conv(x, 58, 3, 2, pad=False), 9)]


NETWORKS: dict[str, tuple[tuple[int, ...], Callable[[ConvNet], list[str]]]] = {
    "mobilenet-96": ((1, 3, 96, 96), mobilenet),
    "efficientnet-80": ((1, 3, 80, 80), efficientnet),
    "yolo-96": ((1, 3, 96, 96), yolo),
    "unet-64": ((1, 1, 64, 64), unet),
    "shufflenet2-112": ((1, 3, 112, 112), shufflenet2),
    "resnet18-64": ((1, 3, 64, 64), resnet18),
    "resnet18-112": ((1, 3, 112, 112), resnet18),
    "densenet-32": ((1, 3, 32, 32), densenet),
    "dilated-75": ((1, 3, 75, 91), dilated),
    "resnext-56": ((1, 3, 56, 56), resnext),
    "wavenet-400": ((1, 20, 400), wavenet),
    "ragged-57": ((1, 1, 57, 43), ragged),
}
"""Shape of the input, and function that builds the network, by name."""


def build(name: str, seed: int = 0) -> tuple[ModelProto, Inputs]:
    """A network of `NETWORKS`, and a seeded input."""
    shape, make = NETWORKS[name]
    net = ConvNet(shape, seed)
    return net.model(*make(net))
