"""Settings and what is remembered: what cannot be understood is named, never in the way."""

from pathlib import Path

import pytest

from sgdoctor.config import Config, Remembered, load_config, load_remembered, save_remembered


def read(tmp_path: Path, text: str) -> Config:
    path = tmp_path / "config.toml"
    path.write_text(text, encoding="utf-8")
    return load_config(path)


def test_a_missing_file_is_no_problem(tmp_path: Path) -> None:
    config = load_config(tmp_path / "none.toml")

    assert Config() == config


def test_every_setting_is_read(tmp_path: Path) -> None:
    config = read(
        tmp_path,
        'theme = "light"\nlanguage = "zh"\ngpu_rate = 2\npanes = ["gpu", "log"]\nreports = "/tmp/r"\n'
        '[keys]\nsave = "S"\nhelp = ["f1", "f2"]\n',
    )

    assert (config.theme, config.language, config.gpu_rate) == ("light", "zh", 2.0)
    assert config.panes == ("log", "gpu")
    assert Path("/tmp/r") == config.reports
    assert config.keys == {"save": ("S",), "help": ("f1", "f2")}
    assert config.problems == ()


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ('language = "fr"', "language = 'fr'"),
        ("gpu_rate = 50", "gpu_rate = 50"),
        ("gpu_rate = true", "gpu_rate = True"),
        ('panes = ["nothing"]', "panes = ['nothing']"),
        ("panes = []", "panes = []"),
        ("colour = 1", "colour"),
        ("[keys]\nsave = 1", "keys.save = 1"),
        ("keys = 1", "keys = 1"),
        ("theme = [", "cannot be used"),
    ],
)
def test_what_is_not_understood_is_named_and_left_out(tmp_path: Path, text: str, named: str) -> None:
    config = read(tmp_path, text)

    assert len(config.problems) == 1
    assert named in config.problems[0].en
    assert Config() == Config(config.theme, config.language, config.gpu_rate, config.panes, config.keys, config.reports)


def test_a_mistake_does_not_take_the_rest_away(tmp_path: Path) -> None:
    config = read(tmp_path, 'language = "fr"\ntheme = "light"\n')

    assert config.theme == "light"


def test_what_is_remembered_comes_back(tmp_path: Path) -> None:
    path = tmp_path / "state" / "watch.json"
    remembered = Remembered(theme="sgdoctor-light", language="zh", benign=True, pane="log")

    save_remembered(remembered, path)

    assert remembered == load_remembered(path)
    assert [path] == list(path.parent.iterdir())


@pytest.mark.parametrize("text", ["", "[]", '{"theme": 3, "pane": null, "benign": "x"}', "{"])
def test_a_broken_memory_is_none(tmp_path: Path, text: str) -> None:
    path = tmp_path / "watch.json"
    path.write_text(text, encoding="utf-8")

    assert Remembered() == load_remembered(path)
