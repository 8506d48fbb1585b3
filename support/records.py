"""Faster frozen dataclasses and cached properties, for classes with hundreds of thousands of objects."""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")


def quick_init(cls: type[T]) -> type[T]:
    """
    Give a frozen dataclass without slots an `__init__` that takes half the time of the generated one: that one calls
    `object.__setattr__` for each field. Put it above `@dataclass(frozen=True)`. Raises TypeError for a class with
    `__post_init__`, or with fields that the generated one treats specially.
    """
    if hasattr(cls, "__post_init__") or "__slots__" in cls.__dict__:
        raise TypeError(f"{cls.__name__} needs the __init__ of a dataclass")
    parameters, defaults = ["self"], dict[str, Any]()
    for one in fields(cls):  # pyright: ignore[reportArgumentType]
        if not one.init or one.kw_only or one.default_factory is not MISSING:
            raise TypeError(f"{cls.__name__}.{one.name} needs the __init__ of a dataclass")
        if one.default is MISSING:
            parameters.append(one.name)
        else:
            defaults[f"_default_{one.name}"] = one.default
            parameters.append(f"{one.name}=_default_{one.name}")
    names = [one.name for one in fields(cls)]  # pyright: ignore[reportArgumentType]
    lines = [f"def __init__({', '.join(parameters)}):", " known = self.__dict__"]
    made: dict[str, Any] = {}
    exec("\n".join([*lines, *(f" known[{name!r}] = {name}" for name in names)]), defaults, made)
    cls.__init__ = made["__init__"]
    cls.__init__.__qualname__ = f"{cls.__qualname__}.__init__"
    return cls


class lazy(cached_property[T]):
    """A `cached_property` without the lock of Python 3.11: several threads may compute the same value."""

    if not TYPE_CHECKING:

        def __get__(self, instance: Any, owner: type | None = None) -> Any:
            if instance is None:
                return self
            value = instance.__dict__[self.attrname] = self.func(instance)
            return value
