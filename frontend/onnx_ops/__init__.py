"""One module per family of ONNX operators; each enters its functions in the table of `registry`."""

from importlib import import_module

FAMILIES = (
    "activation",
    "control",
    "convolution",
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
    "microsoft.quantised_elementwise",
    "microsoft.quantised_lstm",
    "microsoft.quantised_products",
    "microsoft.quantised_reduction",
    "microsoft.rotary",
    "microsoft.skip_normalisation",
    "movement",
    "normalisation",
    "optimisers",
    "pooling",
    "quantised",
    "recurrent",
    "reduction",
    "resize",
    "sampling",
    "scatter",
    "sequences",
    "shape",
    "spectral",
    "top_k",
    "trigonometry",
)


def load() -> None:
    """Import all families (once)."""
    for family in FAMILIES:
        import_module(f".{family}", __name__)
