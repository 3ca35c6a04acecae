"""Version ranges of rules against what a log says about versions."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from sgdoctor.engines.base import Fact

if TYPE_CHECKING:
    from packaging.specifiers import Specifier
    from packaging.version import Version

PACKAGES: Final = {
    "sglang": ("version", "version_min", "version_max"),
    "transformers": ("transformers_version", "", ""),
    "torch": ("torch_version", "", ""),
}
"""Names of the facts that hold the exact version and its bounds."""


def applies(spec: Mapping[str, str] | None, facts: Mapping[str, Any]) -> bool:
    """Whether version ranges may cover what ran.

    Args:
        spec: PEP 440 version sets by package.
        facts: ``Fact`` objects or plain values by name.

    Returns:
        False only where the log says enough to exclude one of the ranges.

    Raises:
        packaging.specifiers.InvalidSpecifier: a range is not a PEP 440 set (``rules check`` refuses such a rule).
    """
    for package, versions in (spec or {}).items():
        exact, low, high = (_version(facts, name) for name in PACKAGES.get(package, ("", "", "")))
        if exact is not None:
            low = high = exact
        if (low is not None or high is not None) and not _overlaps(versions, low, high):
            return False
    return True


def known_since(package: str, version: str, facts: Mapping[str, Any]) -> bool | None:
    """Whether what ran is ``version`` of a package or a later one; None where the log does not say.

    Raises:
        packaging.version.InvalidVersion: ``version`` is none.
    """
    from packaging.version import Version  # noqa: PLC0415

    exact, low, high = (_version(facts, name) for name in PACKAGES.get(package, ("", "", "")))
    least, most = exact or low, exact or high
    if least is not None and least >= Version(version):
        return True
    return False if most is not None and most < Version(version) else None


def _version(facts: Mapping[str, Any], name: str) -> "Version | None":
    from packaging.version import InvalidVersion, Version  # noqa: PLC0415 - few rules have a version range

    value = facts.get(name) if name else None
    if isinstance(value, Fact):
        value = value.value
    try:
        version = Version(str(value)) if value else None
    except InvalidVersion:
        return None
    # 0.0.0.dev1+g123abc is what setuptools-scm writes where it finds no tag: it says nothing.
    return version if version is not None and any(version.release) else None


def _overlaps(versions: str, low: "Version | None", high: "Version | None") -> bool:
    """Whether some version of the interval [low, high] (None: open) is in the set."""
    from packaging.specifiers import SpecifierSet  # noqa: PLC0415

    specifiers = SpecifierSet(versions)
    if low is not None and low == high:
        return specifiers.contains(low, prereleases=True)
    low_open = high_open = False
    for specifier in specifiers:
        bounds = _bounds(specifier)
        if specifier.operator == "!=":
            continue  # one version less does not empty an interval
        for bound, is_open in bounds[:1]:
            if bound is not None and (low is None or (bound, is_open) > (low, low_open)):
                low, low_open = bound, is_open
        for bound, is_open in bounds[1:]:
            if bound is not None and (high is None or (bound, not is_open) < (high, not high_open)):
                high, high_open = bound, is_open
    if low is None or high is None:
        return True
    return low < high or (low == high and not low_open and not high_open)


def _bounds(specifier: "Specifier") -> tuple[tuple["Version | None", bool], tuple["Version | None", bool]]:
    """Lower and upper bound of one specifier, each with whether it is open."""
    from packaging.version import Version  # noqa: PLC0415

    text = specifier.version
    operator = specifier.operator
    version = Version(text.removesuffix(".*"))
    if operator in (">=", ">"):
        return (version, operator == ">"), (None, False)
    if operator in ("<=", "<"):
        return (None, False), (version, operator == "<")
    if operator == "~=" or text.endswith(".*"):
        prefix = version.release if text.endswith(".*") else version.release[:-1]
        above = Version(".".join(map(str, (*prefix[:-1], prefix[-1] + 1))))
        return (version, False), (above, True)
    return (version, False), (version, False)
