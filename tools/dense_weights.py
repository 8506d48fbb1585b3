"""
Messages of `meshloom-compile --sparse` about weights that lost channels, and weights that stay dense, with the reason.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..lowering.driver.compile_sparse import SparseNetwork


def dense_weights_text(network: SparseNetwork[Any]) -> str:
    """
    The reason why the whole network is dense, if it is, and one line for each reason for which tensors stay dense, with
    their names and shapes; "" if all weights are encoded.
    """
    reasons: dict[str, list[str]] = {}
    for label, reason in network.stays_dense:
        reasons.setdefault(reason, []).append(label)
    lines = [f"  {reason}: {', '.join(names)}" for reason, names in reasons.items()]
    if network.taken:
        return "\n".join(["weights that stay dense:", *lines]) if lines else ""
    if network.timed is not None:
        encoded, dense = network.timed
        lines.insert(
            0,
            f"nothing is encoded: encoded weights or activations do not make the network faster ({encoded:,} cycles, "
            f"dense {dense:,})",
        )
    elif network.refused:
        lines.insert(0, f"nothing is encoded: with encoded weights or activations, {network.refused}")
    elif lines:
        lines.insert(0, "all weights stay dense:")
    else:
        lines.insert(0, "nothing is encoded: no matrix product or convolution has constant weights")
    return "\n".join(lines)


def removed_channels_text(network: SparseNetwork[Any]) -> str:
    """The weights from which channels of zeros were removed, with both shapes; "" if there are none."""
    lost = ", ".join(
        f"{name} ({'x'.join(map(str, before))}, now {'x'.join(map(str, after))})"
        for name, (before, after) in network.removed.items()
    )
    return f"zero channels are removed: {lost}" if lost else ""
