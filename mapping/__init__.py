"""
Mapping of networks onto meshes of cores. The package can be used on its own.

    import meshloom.mapping as mapping

    cores = mapping.map_network(matrix, "16x16")          # a SciPy sparse matrix: weights of edges
    print(mapping.costs(matrix, "16x16", cores).hop_cost)
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .api import METHODS as METHODS
    from .api import Costs as Costs
    from .api import Effort as Effort
    from .api import Mapping as Mapping
    from .api import Mesh as Mesh
    from .api import Objective as Objective
    from .api import Topology as Topology
    from .api import costs as costs
    from .api import from_directed as from_directed
    from .api import make_topology as make_topology
    from .api import map_network as map_network
    from .api import map_with_steps as map_with_steps
    from .api import read_topology as read_topology

__all__ = [
    "METHODS",
    "Costs",
    "Effort",
    "Mapping",
    "Mesh",
    "Objective",
    "Topology",
    "costs",
    "from_directed",
    "make_topology",
    "map_network",
    "map_with_steps",
    "read_topology",
]


def __getattr__(name: str) -> Any:
    """Import the public API lazily, so that the package's modules load without it."""
    if name in __all__:
        from . import api

        return getattr(api, name)
    raise AttributeError(f"module 'meshloom.mapping' has no attribute '{name}'")
