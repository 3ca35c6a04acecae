"""Cards by name, as the user gives them, and as the driver reads them."""

import pytest

from sgdoctor.errors import UserError
from sgdoctor.gpu.driver import CardState, Driver
from sgdoctor.gpu.model import Gpu, GpuProcess, GpuReading
from sgdoctor.preflight.cards import cards_of, named_cards

GPU = Gpu(0, "GPU-1", "NVIDIA GeForce RTX 3090", 86, 24576.0, 9000.0, 15576.0, 0, 40, 20.0, 350.0)


@pytest.mark.parametrize(
    ("text", "cards"),
    [
        ("3090", [("NVIDIA GeForce RTX 3090", 24576, 86)]),
        ("RTX 4090", [("NVIDIA GeForce RTX 4090", 24564, 89)]),
        ("2x3090", [("NVIDIA GeForce RTX 3090", 24576, 86)] * 2),
        ("3090,4090", [("NVIDIA GeForce RTX 3090", 24576, 86), ("NVIDIA GeForce RTX 4090", 24564, 89)]),
        ("24GiB:sm86", [("GPU of 24 GiB sm86", 24576, 86)]),
        ("24gb", [("GPU of 24 GiB", 24576, None)]),
        ("12288MiB:sm_75", [("GPU of 12 GiB sm75", 12288, 75)]),
        ("4 x A100-80GB", [("NVIDIA A100-SXM4-80GB", 81920, 80)] * 4),
        ("NVIDIA GeForce RTX 4070 Ti SUPER", [("NVIDIA GeForce RTX 4070 Ti SUPER", 16376, 89)]),
    ],
)
def test_named_cards(text: str, cards: list[tuple[str, int, int | None]]) -> None:
    found = named_cards(text)

    assert cards == [(card.name, card.total_mib, card.sm) for card in found]
    assert list(range(len(cards))) == [card.number for card in found]
    assert all(0 < card.free_mib < card.total_mib for card in found)


@pytest.mark.parametrize(
    "text",
    ["24", "banana", "", ",", "99x3090", "sm86", "GiB:sm86", "x3090", "3090:sm999x", "0x3090", "0GiB:sm86", "1MiB"],
)
def test_names_of_nothing(text: str) -> None:
    with pytest.raises(UserError, match="--gpu"):
        named_cards(text)


@pytest.mark.parametrize("sm", [10, 85, 99, 102, 130, 999])
def test_a_generation_that_no_card_has(sm: int) -> None:
    with pytest.raises(UserError) as caught:
        named_cards(f"2x24GiB:sm{sm}")

    assert f"there is no compute capability sm{sm}. There are: sm50, " in caught.value.message.en
    assert "sm121. For a card that is newer give its memory alone: 24GiB" in caught.value.message.en


@pytest.mark.parametrize("sm", [61, 103, 121])
def test_a_generation_that_some_card_has(sm: int) -> None:
    [card] = named_cards(f"24GiB:sm{sm}")

    assert sm == card.sm


def test_cards_of_the_driver() -> None:
    processes = (
        GpuProcess(1, "python3", 3000.0, "c" * 64, "vllm"),
        GpuProcess(2, "python3", 4000.0, "c" * 64, "vllm"),
        GpuProcess(3, "Xorg", 400.0, graphics=True),
        GpuProcess(4, "", None),
    )
    reading = GpuReading(0.0, (GPU._replace(processes=processes),), "nvml")
    (card,) = cards_of(reading, Driver(cards={"GPU-1": CardState(persistence=False, ecc_errors=2)}))

    assert (24576.0, 15576.0, False, 2) == (card.total_mib, card.free_mib, card.persistence, card.ecc_errors)
    assert (("container vllm", 7000.0), ("Xorg", 400.0), ("pid 4", 0.0)) == card.holders


def test_a_card_without_memory_is_none() -> None:
    lost = GPU._replace(total_mib=None, free_mib=None)

    assert () == cards_of(GpuReading(0.0, (lost,), "nvml"), Driver())
