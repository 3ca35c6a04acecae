"""All checks, found by their files: nobody keeps a list of them."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Final, cast

from sgdoctor.preflight import checks as _package
from sgdoctor.preflight.model import Area, Check

_AREAS: Final = tuple(Area)


@cache
def all_checks() -> tuple[Check, ...]:
    """One object of each check: by area, then by the names of their files.

    Raises:
        TypeError: a file holds no check or more than one, or two checks share an id.
    """
    found: dict[str, Check] = {}
    for module in _modules(_package):
        check = _check_in(module)
        if check.id in found:
            raise TypeError(f"{module.__name__} and {type(found[check.id]).__module__} both call themselves {check.id}")
        found[check.id] = check
    return tuple(sorted(found.values(), key=lambda check: (_AREAS.index(check.area), type(check).__module__)))


def _modules(package: ModuleType) -> Iterator[ModuleType]:
    for entry in pkgutil.iter_modules(package.__path__, f"{package.__name__}."):
        yield importlib.import_module(entry.name)


def _check_in(module: ModuleType) -> Check:
    classes = [
        each
        for name, each in inspect.getmembers(module, inspect.isclass)
        if each.__module__ == module.__name__ and not name.startswith("_") and hasattr(each, "findings")
    ]
    if len(classes) != 1:
        raise TypeError(f"{module.__name__} holds {len(classes)} checks instead of one")
    return cast("Check", classes[0]())
