"""Which versions of SGLang and transformers the failures and the patches are about."""

from typing import Final, NamedTuple


class Range(NamedTuple):
    """Versions of a package from ``lowest`` on and below ``below`` (None: open), as numbers of a release."""

    package: str
    lowest: tuple[int, ...]
    below: tuple[int, ...] | None = None

    def __str__(self) -> str:
        """As a requirement: ``transformers>=5.13,<6``."""
        end = f",<{_dotted(self.below)}" if self.below else ""
        return f"{self.package}>={_dotted(self.lowest)}{end}"

    def holds(self, version: str | None) -> bool | None:
        """Whether a version is in it; None where the version is not known or says nothing (``0.0.0.dev1``)."""
        numbers = release(version)
        if not numbers:
            return None
        return numbers >= self.lowest and (self.below is None or numbers < self.below)


def release(version: str | None) -> tuple[int, ...]:
    """Numbers of a release, ``(5, 12, 1)`` of ``5.12.1.dev0``; empty where they say nothing.

    The generated files count in the same way (``templates/frame.py.in``).
    """
    numbers: list[int] = []
    for part in (version or "").split("+")[0].split("."):
        digits = part[: len(part) - len(part.lstrip("0123456789"))]
        if digits:
            numbers.append(int(digits))
        if digits != part:
            break
    return tuple(numbers) if any(numbers) else ()


def _dotted(numbers: tuple[int, ...]) -> str:
    return ".".join(map(str, numbers))


# Requires-Dist of the wheels of sglang: the first version that pins each transformers.
_PINS: Final = (
    ((0, 5, 22), "5.19.0"),
    ((0, 5, 15), "5.12.1"),
    ((0, 5, 13), "5.8.1"),
    ((0, 5, 11), "5.6.0"),
    ((0, 5, 10), "5.3.0"),
    ((0, 5, 5), "4.57.1"),
)


def pinned_transformers(sglang: str | None) -> str | None:
    """The transformers that a release of SGLang pins, and its official image has; None where that is not known."""
    numbers = release(sglang)
    return next((pin for first, pin in _PINS if numbers >= first), None)


REGISTERS_QWEN3_ASR: Final = Range("sglang", (0, 5, 11), (0, 5, 20))
"""srt/configs/qwen3_asr.py registers without ``exist_ok=True`` (0.5.20 and later give it)."""

CALLS_BY_KEYWORD: Final = Range("sglang", (0, 5, 20))
"""``AutoConfig.register(..., exist_ok=True)`` in srt/configs: 0.5.20 and later."""

HAS_QWEN3_ASR: Final = Range("transformers", (5, 13), (6,))
"""models/auto/auto_mappings.py has ``qwen3_asr`` since 5.13.0; 5.12.1 has not."""

FIRST_IMAGE_WITH_EXIST_OK: Final = "lmsysorg/sglang:v0.5.20"

CHECKS_EVERY_CONFIG: Final = Range("transformers", (5, 4), (6,))
"""``PreTrainedConfig.validate_layer_type``, called for every config: 5.4.0 and later."""
