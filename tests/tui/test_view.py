"""What the panes ask of a view."""

import pytest

from sgdoctor.gpu.recorded import read_recording
from sgdoctor.tui.view import server_gpus
from tests.gpu.samples import RECORDINGS
from tests.tui.moments import data_of, snapshot_of


@pytest.mark.parametrize(("container", "cards"), [("55555555c0ff", [1]), ("0123456789ab", []), ("", [])])
def test_of_two_cards_the_one_with_a_process_of_the_container_is_the_servers(container: str, cards: list[int]) -> None:
    [reading] = read_recording(RECORDINGS / "h200-two-cards.jsonl")
    snapshot = snapshot_of(data_of("article27-mfs-0.80"))
    snapshot = snapshot._replace(subject=snapshot.subject._replace(id=container))

    assert cards == [gpu.number for gpu in server_gpus(reading, snapshot)]
