"""Random valid ONNX models, each with inputs and the outputs of ONNX Runtime."""

from .model import RandomOnnx

__all__ = ["RandomOnnx"]
