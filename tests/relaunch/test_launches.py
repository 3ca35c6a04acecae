"""The launches of a container, from journals alone, and after somebody renamed it."""

from pathlib import Path

from sgdoctor.relaunch.journal import Journal, journals
from sgdoctor.relaunch.launches import history, launches_of, moved_away, names_of
from sgdoctor.relaunch.model import Ending, Intent, Outcome, Way

ENGINE = "ABCD"


def relaunched(
    root: Path,
    name: str,
    old: str,
    new: str,
    ending: Ending = Ending.DONE,
    *,
    engine: str = ENGINE,
    way: Way = Way.CONTAINER,
) -> None:
    intent = Intent(container=name, way=way, engine=engine, old={"Id": old}, command=(new,), old_command=(old,))
    journal = Journal.begin(intent, root)
    journal.finish(Outcome(ending, container=new if ending is Ending.DONE else old))


def shown(root: Path, name: str, held: str = "", engine: str | None = ENGINE) -> list[str]:
    """The commands of its launches, with a star at the current one."""
    return [f"{one.command[0]}{'*' * one.current}" for one in history(name, root, engine, held)]


def test_container_that_was_renamed(tmp_path: Path) -> None:
    relaunched(tmp_path, "sgl", "a", "b")

    assert ["a", "b*"] == shown(tmp_path, "new", "b")
    assert ["a", "b*"] == shown(tmp_path, "sgl", "b")
    # Kept, and named to be used beside it.
    assert [] == shown(tmp_path, "new", "a")
    assert [] == shown(tmp_path, "new", "c")
    assert [] == shown(tmp_path, "new")
    # Another engine may have a container of any id.
    assert [] == shown(tmp_path, "new", "b", "EFGH")
    assert [] == shown(tmp_path, "new", "b", None)


def test_launches_under_one_name_after_another(tmp_path: Path) -> None:
    relaunched(tmp_path, "sgl", "a", "b")
    relaunched(tmp_path, "mid", "b", "c")
    relaunched(tmp_path, "mid", "c", "d", Ending.BACK)
    relaunched(tmp_path, "sgl", "c", "e")
    relaunched(tmp_path, "new", "e", "f", Ending.BACK)

    whole = launches_of("last", tmp_path, ENGINE, "e")

    assert ["a", "b", "c", "d", "e*", "f"] == shown(tmp_path, "new", "e") == shown(tmp_path, "last", "e")
    assert list(range(6)) == [one.attempt.number for one in whole]
    assert {"sgl", "mid", "new"} == names_of(whole)
    assert ["a", "b", "c", "d", "e*"] == shown(tmp_path, "sgl", "e")[:5]


def test_name_that_somebody_else_has_now(tmp_path: Path) -> None:
    relaunched(tmp_path, "sgl", "a", "b")
    relaunched(tmp_path, "sgl", "x", "y")
    names = {"a": "sgl.sgd-old", "b": "new", "x": "sgl.sgd-old.2", "y": "sgl"}

    assert ["x", "y*"] == shown(tmp_path, "sgl", "y")
    assert ["a", "b*"] == shown(tmp_path, "new", "b")
    assert ["a", "b"] == [one.attempt.command[0] for one in moved_away("sgl", ENGINE, names, tmp_path)]
    assert [] == moved_away("sgl", ENGINE, {**names, "b": "sgl"}, tmp_path)


def test_old_one_that_was_given_its_name_back_is_found_by_it(tmp_path: Path) -> None:
    relaunched(tmp_path, "sgl", "a", "b")

    assert ["a*", "b"] == shown(tmp_path, "sgl", "a")
    relaunched(tmp_path, "sgl", "a", "c")
    assert ["a", "b", "c*"] == shown(tmp_path, "sgl", "c")
    assert [] == shown(tmp_path, "mine", "b")


def test_service_of_compose_that_was_renamed(tmp_path: Path) -> None:
    relaunched(tmp_path, "shop-llm-1", "a", "b", way=Way.COMPOSE)
    # Made anew by Compose, which knows which is its own.
    assert ["a", "b*"] == shown(tmp_path, "shop-llm-1", "c")
    assert ["a", "b*"] == shown(tmp_path, "new", "b")
    assert [] == shown(tmp_path, "new", "c")


def test_container_that_made_itself_away_ends_no_line(tmp_path: Path) -> None:
    intent = Intent(container="sgl", engine=ENGINE, old={"Id": "a"}, command=("b",), old_command=("a",))
    Journal.begin(intent, tmp_path).finish(Outcome(Ending.BACK))
    relaunched(tmp_path, "other", "", "c")

    assert 2 == len(journals(root=tmp_path))
    assert [] == shown(tmp_path, "new", "a")
