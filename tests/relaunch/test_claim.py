"""What is read of a lock that anybody on the engine can write."""

import json

import pytest

from sgdoctor.relaunch.claim import Claim, _of


@pytest.mark.parametrize(
    "holder",
    ["", "no json", "[]", "7", "null", json.dumps({"path": 7, "process": "7", "user": None, "later": "x", "ran": 1})],
)
def test_a_label_that_is_not_of_this_version_gives_only_what_is_known_of_it(holder: str) -> None:
    assert _of("1", {"sgdoctor.holder": holder}) == Claim("1")


def test_a_label_tells_who_holds_the_claim() -> None:
    told = {"user": "kim", "host": "node", "process": 7, "ran": False, "journal": "2"}

    assert _of("1", {"sgdoctor.holder": json.dumps(told)}) == Claim("1", user="kim", host="node", process=7, ran=False)


@pytest.mark.parametrize(
    ("path", "command"),
    [
        ("", "sgdoctor rollback"),
        ("/srv/state/sgdoctor/relaunch/1.jsonl", "XDG_STATE_HOME=/srv/state sgdoctor rollback"),
        ("/srv/1.jsonl", "sgdoctor rollback"),
    ],
)
def test_the_way_back_names_the_folder_of_the_journal_where_it_is_known(path: str, command: str) -> None:
    assert Claim("1", path=path).command == command
