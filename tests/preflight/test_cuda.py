"""What images ask of a driver."""

import pytest

from sgdoctor.preflight.cuda import is_met, pair_of

# As the base images of CUDA 12.9 have it, shortened.
REQUIREMENT = (
    "cuda>=12.9 brand=unknown,driver>=535,driver<536 brand=tesla,driver>=535,driver<536 "
    "brand=geforcertx,driver>=550,driver<551"
)
GEFORCE = "NVIDIA GeForce RTX 3090"


@pytest.mark.parametrize(
    ("text", "pair"), [("12.8", (12, 8)), ("12.8.1", (12, 8)), ("13", (13, 0)), ("", None), (None, None), ("x.1", None)]
)
def test_versions(text: str | None, pair: tuple[int, int] | None) -> None:
    assert pair == pair_of(text)


@pytest.mark.parametrize(
    ("requirement", "cuda", "driver", "card", "met"),
    [
        (REQUIREMENT, (12, 9), "575.51", GEFORCE, True),
        (REQUIREMENT, (13, 0), "580.65", GEFORCE, True),
        (REQUIREMENT, (12, 4), "550.54.14", GEFORCE, True),
        (REQUIREMENT, (12, 8), "570.124.06", GEFORCE, False),
        (REQUIREMENT, (12, 2), "535.183.01", "Tesla T4", True),
        (REQUIREMENT, (12, 2), "535.183.01", "NVIDIA H200", None),
        (REQUIREMENT, (12, 8), "570.124.06", "NVIDIA H200", False),
        ("", (12, 0), "525.60", GEFORCE, True),
        ("arch>=8.0", (12, 0), "525.60", GEFORCE, None),
        ("cuda>=12.9,arch>=8.0", (12, 0), "525.60", GEFORCE, False),
        ("nonsense", (12, 0), "525.60", GEFORCE, None),
    ],
)
def test_requirements(requirement: str, cuda: tuple[int, int], driver: str, card: str, met: bool | None) -> None:
    assert met is is_met(requirement, cuda, driver, card)
