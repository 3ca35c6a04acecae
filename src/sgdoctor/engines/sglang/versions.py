"""Which SGLang wrote this log: bounds by the fields of ``server_args`` and by the wording of its lines."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from functools import lru_cache
from typing import Final, NamedTuple

from sgdoctor.engines.sglang.history import load_history
from sgdoctor.patterns import lazy_pattern

# Fields that a command line cannot set come and go between the schemas too; up to so many differences are noise.
_NOISE: Final = 10
_IMAGE: Final = lazy_pattern(r"(?:^|/)sglang[^:]*:v?(?P<version>\d+\.\d+\.\d+(?:\.?(?:post|rc)\d+)?)")


@lru_cache(maxsize=1024)
def version_key(version: str) -> tuple[int, ...]:
    """Sort key of a released version: ``0.5.15.post1`` after ``0.5.15``."""
    return tuple(int(part) for part in re.findall(r"\d+", version))


def version_of_image(image: str | None) -> str:
    """The version in the tag of an image of SGLang, such as 0.5.10; empty where it has none (``latest``)."""
    named = _IMAGE.search(image or "")
    return named["version"] if named else ""


class Bounds(NamedTuple):
    """Smallest and largest version that can have written something; None where it is open."""

    low: str | None = None
    high: str | None = None

    def within(self, other: "Bounds") -> "Bounds":
        """Both bounds at once; these ones when the two contradict each other."""
        lows = [low for low in (self.low, other.low) if low is not None]
        highs = [high for high in (self.high, other.high) if high is not None]
        low = max(lows, key=version_key, default=None)
        high = min(highs, key=version_key, default=None)
        if low is not None and high is not None and version_key(low) > version_key(high):
            return self
        return Bounds(low, high)


def bounds_by_fields(names: Collection[str]) -> Bounds:
    """Bounds by the names of the fields in a whole ``server_args=`` line."""
    return _nearest(names, load_history().fields)


def bounds_by_flags(names: Collection[str]) -> Bounds:
    """Bounds by the flags that a whole usage text lists."""
    return _nearest(names, load_history().flags)


def _nearest(names: Collection[str], known: Mapping[str, int]) -> Bounds:
    """The known version with the fewest differences.

    A version between two known ones differs from both, so more differences than noise open the bounds up to the
    neighbours.

    Args:
        names: what the log lists.
        known: the same kind of names, each with the mask of the versions that have it.
    """
    versions = load_history().versions
    differences = [0] * len(versions)
    masks: Counter[tuple[int, bool]] = Counter()
    given = frozenset(names)
    for field, mask in known.items():
        masks[mask, field in given] += 1
    for (mask, present), count in masks.items():
        for index in range(len(versions)):
            if bool(mask >> index & 1) is not present:
                differences[index] += count
    fewest = min(differences)
    nearest = [index for index, count in enumerate(differences) if count == fewest]
    slack = 0 if fewest <= _NOISE else 1
    first, last = nearest[0] - slack, nearest[-1] + slack
    strangers = len(given - known.keys())
    newest = len(versions) - 1
    open_end = last > newest or (last == newest and strangers > _NOISE)
    return Bounds(versions[first] if first >= 0 else None, None if open_end else versions[last])


# What a line of this wording says about the version. Between two versions whose texts were read the unread ones stay
# possible. Sources: the log calls of srt/model_executor, srt/managers and srt/mem_cache of 0.4.6.post5 to 0.5.23.
WORDINGS: Final[dict[str, Bounds]] = {
    "init_torch": Bounds(high="0.5.20"),
    "init_parallel": Bounds(low="0.5.21"),
    "init_elapsed": Bounds(low="0.5.6"),
    "init_without_elapsed": Bounds(high="0.5.8"),
    "weights_elapsed": Bounds(low="0.5.6"),
    "weights_without_elapsed": Bounds(high="0.5.8"),
    "weights_dtype": Bounds(high="0.5.11"),
    "weights_without_dtype": Bounds(low="0.5.12"),
    "kv_dtype": Bounds(low="0.5.13"),
    "kv_without_dtype": Bounds(high="0.5.12"),
    "kv_upper_bound": Bounds(low="0.5.16"),
    "capture_named": Bounds(low="0.5.14"),
    "capture_unnamed": Bounds(high="0.5.13"),
    "tokens_per_bs": Bounds(low="0.5.14", high="0.5.15.post1"),
    "tokens_per_req": Bounds(low="0.5.16"),
    "batch_full_stop": Bounds(high="0.5.4.post3"),
    "batch_comma": Bounds(low="0.5.3"),
    "pending_token": Bounds(low="0.5.13"),
    "state_cache_check": Bounds(low="0.5.13"),
    "weights_leave_nothing": Bounds(low="0.5.14"),
    "entry_warning": Bounds(low="0.5.10"),
    "subprocess_crashed": Bounds(low="0.5.10"),
    "rank_is_dead": Bounds(low="0.4.7", high="0.5.9"),
}
