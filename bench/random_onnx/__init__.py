"""Random valid ONNX models, each with inputs and ONNX Runtime's answer."""

from .model import RandomOnnx

__all__ = ["RandomOnnx"]
