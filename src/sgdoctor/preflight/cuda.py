"""Versions of CUDA, and what an image asks of the driver (``NVIDIA_REQUIRE_CUDA``)."""

from typing import Final

from sgdoctor.patterns import lazy_pattern

_CONDITION: Final = lazy_pattern(r"(?P<name>cuda|driver|brand|arch)(?P<sign>>=|<=|!=|=|<|>)(?P<value>[\w.]+)")
_BRANDS: Final = (
    ("geforcertx", "geforce rtx"),
    ("geforce", "geforce"),
    ("titanrtx", "titan rtx"),
    ("titan", "titan"),
    ("quadrortx", "quadro rtx"),
    ("quadro", "quadro"),
    ("tesla", "tesla"),
)


def pair_of(version: str | None) -> tuple[int, int] | None:
    """``12.8`` or ``12.8.1`` as numbers; None if it is no version."""
    parts = (version or "").split(".")
    if not all(part.isdecimal() for part in parts) or not parts:
        return None
    return int(parts[0]), int(parts[1]) if len(parts) > 1 else 0


def is_met(requirement: str, cuda: tuple[int, int], driver: str, card: str) -> bool | None:
    """Whether a machine meets what an image asks for; None where that cannot be told.

    Args:
        requirement: groups with blanks between, of which one has to be met; in a group conditions with commas between,
            which all have to be met (libnvidia-container, src/cli/dsl.c).
        cuda: newest version that the driver serves.
        driver: its version.
        card: name of the card.
    """
    answers = [_group(group, cuda, driver, card) for group in requirement.split()]
    if not answers or True in answers:
        return True
    return None if None in answers else False


def _group(group: str, cuda: tuple[int, int], driver: str, card: str) -> bool | None:
    answers = [_condition(condition, cuda, driver, card) for condition in group.split(",")]
    if False in answers:
        return False
    return None if None in answers else True


def _condition(condition: str, cuda: tuple[int, int], driver: str, card: str) -> bool | None:
    found = _CONDITION.fullmatch(condition)
    if found is None:
        return None
    match found["name"]:
        case "cuda":
            return _compared((*cuda, 0), found["sign"], _numbers(found["value"]))
        case "driver":
            return _compared(_numbers(driver), found["sign"], _numbers(found["value"])) if driver else None
        case "brand":
            return _is_brand(card, found["value"])
        case _:
            return None


def _numbers(version: str) -> tuple[int, ...]:
    numbers = tuple(int(part) for part in version.split(".") if part.isdecimal())
    return (*numbers, 0, 0, 0)[:3]


def _compared(left: tuple[int, ...], sign: str, right: tuple[int, ...]) -> bool:
    match sign:
        case ">=":
            return left >= right
        case "<=":
            return left <= right
        case "<":
            return left < right
        case ">":
            return left > right
        case "!=":
            return left != right
        case _:
            return left == right


def _is_brand(card: str, brand: str) -> bool | None:
    """Whether a card is of a brand; the names of data-centre cards do not say what NVML calls theirs."""
    lower = card.lower()
    own = next((name for name, text in _BRANDS if text in lower), None)
    return None if own is None else own == brand
