"""The import of ONNX's operators: one module per family, which registers its functions in the table of `registry`."""

from functools import cache
from importlib import import_module

FAMILIES = (
    "activation",
    "attention",
    "classical",
    "control",
    "convolution",
    "deformable",
    "determinant",
    "elementwise",
    "indexing",
    "linear",
    "loss",
    "microsoft.attention",
    "microsoft.embedding",
    "microsoft.fused",
    "microsoft.gelu",
    "microsoft.grouped_attention",
    "microsoft.matmul_nbits",
    "microsoft.quantisation_steps",
    "microsoft.quantised_elementwise",
    "microsoft.quantised_lstm",
    "microsoft.quantised_products",
    "microsoft.quantised_reduction",
    "microsoft.rotary",
    "microsoft.skip_normalisation",
    "movement",
    "n_grams",
    "normalisation",
    "optimisers",
    "pooling",
    "quantised",
    "random",
    "recurrent",
    "reduction",
    "regions",
    "resize",
    "sampling",
    "scatter",
    "sequences",
    "shape",
    "spectral",
    "text",
    "top_k",
    "trigonometry",
)


@cache
def load() -> None:
    """Import all families (once)."""
    for family in FAMILIES:
        import_module(f".{family}", __name__)
