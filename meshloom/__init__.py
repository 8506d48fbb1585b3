"""
Meshloom: compile neural networks for many-core chips and run them in an emulator.

    import meshloom

    network = meshloom.compile("model.onnx", chip="edge")
    result = network.run({"input": array})
    result.outputs["scores"], result.cycles
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from meshloom.lowering.offload.compile_launches import Budget as Budget
    from meshloom.tools.api import CompiledNetwork as CompiledNetwork
    from meshloom.tools.api import RunResult as RunResult
    from meshloom.tools.api import compile as compile
    from meshloom.tools.api import load as load
    from meshloom.tools.chips_api import CompiledPipeline as CompiledPipeline
    from meshloom.tools.chips_api import PipelineResult as PipelineResult

    __version__: str

__all__ = [
    "Budget",
    "CompiledNetwork",
    "CompiledPipeline",
    "PipelineResult",
    "RunResult",
    "__version__",
    "compile",
    "load",
]


def __getattr__(name: str) -> Any:
    """Import the parts of the API when they are first used: `import meshloom` alone imports nothing else."""
    if name == "__version__":
        from importlib.metadata import version

        return version("meshloom")
    if name == "Budget":
        from meshloom.lowering.offload.compile_launches import Budget

        return Budget
    if name in ("CompiledPipeline", "PipelineResult"):
        from meshloom.tools import chips_api

        return getattr(chips_api, name)
    if name in __all__:
        from meshloom.tools import api

        return getattr(api, name)
    raise AttributeError(f"module 'meshloom' has no attribute '{name}'")


def __dir__() -> list[str]:
    """The names of the API, also before their first use: for completion in editors and notebooks."""
    return sorted(__all__)
