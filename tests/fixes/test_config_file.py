"""The file of ``--config``: read as the engine reads it, merged as it merges it, and said where it cannot be."""

from collections.abc import Callable
from os import mkfifo
from pathlib import Path
from socket import AF_UNIX, socket

import pytest

from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.errors import UserError
from sgdoctor.fixes.config_file import ConfigFile, WithConfig, config_of, with_config
from sgdoctor.fixes.flag_tables import flag_problems
from sgdoctor.launch.change import Change
from sgdoctor.launch.docker_run import read_shell
from sgdoctor.launch.engine_command import read_engine_command
from sgdoctor.launch.model import Document, Launch

FLAGS = schema("0.5.15")
# Each list stands ten times in the next one: a million values.
ANCHORS = "a: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join(10 * [f'*a{n - 1}'])}]\n" for n in range(1, 7))


def run(folder: Path, flags: str = "--config /cfg/a.yaml", mount: str = "/cfg") -> Document:
    image = "lmsysorg/sglang:v0.5.15"
    return read_shell(f"docker run --gpus all -v {folder}:{mount} {image} python3 -m sglang.launch_server {flags}")


def read(folder: Path, text: str | None, flags: str = "--config /cfg/a.yaml") -> ConfigFile:
    if text is not None:
        (folder / "a.yaml").write_text(text)
    found = config_of(run(folder, flags).launch, FLAGS, folder)
    assert found is not None
    return found


def merged(folder: Path, text: str, flags: str) -> Launch:
    (folder / "a.yaml").write_text(text)
    return with_config(run(folder, flags), FLAGS, folder).launch


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("model-path: /m\ntp-size: 2\n", ("--model-path", "/m", "--tp-size", "2")),
        ("trust-remote-code: true\ndisable-radix-cache: false\n", ("--trust-remote-code",)),
        ("lora-paths: [a=/a, b=/b]\n", ("--lora-paths", "a=/a", "b=/b")),
        ("lora-paths: []\n", ()),
        ("mem-fraction-static: 0.9\n", ("--mem-fraction-static", "0.9")),
        ('json-model-override-args: {"a": 1}\n', ("--json-model-override-args", '{"a": 1}')),
        ("", ()),
    ],
)
def test_words(text: str, words: tuple[str, ...], tmp_path: Path) -> None:
    assert words == read(tmp_path, text).words


def test_the_command_line_wins(tmp_path: Path) -> None:
    launch = merged(tmp_path, "model-path: /m\ntp-size: 4\n", "--config /cfg/a.yaml --tp-size 2")

    assert ("--model-path", "/m", "--tp-size", "4", "--config", "/cfg/a.yaml", "--tp-size", "2") == launch.argv[3:]
    assert [] == [one.id for one in flag_problems(launch, FLAGS, {})]
    assert launch.typed == run(tmp_path, "--config /cfg/a.yaml --tp-size 2").launch


def test_where_a_value_comes_from(tmp_path: Path) -> None:
    launch = merged(tmp_path, "model-path: /m\ntp-size: two\n", "--config /cfg/a.yaml --dtype flaot16")
    [first, second] = flag_problems(launch, FLAGS, {})

    assert first.where is not None
    assert "/cfg/a.yaml: `tp-size`" == first.where.en
    assert "/cfg/a.yaml：`tp-size`" == first.where.zh
    assert () == first.changes
    assert first.detail is not None
    assert "/cfg/a.yaml" in first.detail.en
    assert second.where is not None
    assert "word 6" == second.where.en
    assert second.changes


def test_what_is_wrong_in_the_file_is_put_right_there(tmp_path: Path) -> None:
    launch = merged(tmp_path, "model_path: /m\n", "--config /cfg/a.yaml")
    problem = flag_problems(launch, FLAGS, {})[0]

    assert problem.detail is not None
    assert problem.detail.en.endswith("In /cfg/a.yaml write: model-path: /m")


def test_changes_go_into_the_command_line(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("model-path: /m\nmem-fraction-static: 0.9\n")
    document = with_config(run(tmp_path), FLAGS, tmp_path)
    edited = document.edited([Change("flag.set", "--mem-fraction-static", "0.8")], FLAGS)

    assert edited.text.endswith("--config /cfg/a.yaml --mem-fraction-static 0.8")
    assert ("--mem-fraction-static", "0.8") == edited.launch.argv[-2:]
    assert "--mem-fraction-static 0.9" in " ".join(edited.launch.argv)


def test_what_only_the_file_says_is_left(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("model-path: /m\nenable-metrics: true\n")
    unset = Change("flag.unset", "--enable-metrics")
    edited = with_config(run(tmp_path), FLAGS, tmp_path).edited([unset], FLAGS)

    [(left, why)] = edited.left
    assert unset == left
    assert "it stands in /cfg/a.yaml: take it out there" == why.en
    assert run(tmp_path).text == edited.text


@pytest.mark.parametrize(
    ("text", "flags", "says"),
    [
        ("a: [\n", "--config /cfg/a.yaml", "/cfg/a.yaml is broken YAML (line"),
        ("- a\n", "--config /cfg/a.yaml", "/cfg/a.yaml has to hold `key: value` lines"),
        ("a: &a {b: *a}\n", "--config /cfg/a.yaml", "the anchors of /cfg/a.yaml stand for too much"),
        ("a: &a [*a]\n", "--config /cfg/a.yaml", "the anchors of /cfg/a.yaml stand for too much"),
        (ANCHORS, "--config /cfg/a.yaml", "the anchors of /cfg/a.yaml stand for too much"),
        (None, "--config /cfg/a.yaml", "is not there"),
        ("a: 1\n", "--config /cfg/a.json", "/cfg/a.json is no .yaml or .yml file"),
        ("a: 1\n", "--config /cfg/a.yaml --config /cfg/a.yaml", "`--config` is given twice"),
        ("a: 1\n", "--config=/cfg/a.yaml", "`--config=/cfg/a.yaml` is never read"),
    ],
)
def test_what_the_engine_refuses(text: str | None, flags: str, says: str, tmp_path: Path) -> None:
    [problem] = read(tmp_path, text, flags).problems

    assert says in problem.title.en
    assert "--config" in problem.title.zh


def _folder(path: Path) -> None:
    path.mkdir()


def _loop(path: Path) -> None:
    path.symlink_to(path.name)


def _socket(path: Path) -> None:
    with socket(AF_UNIX) as made:
        made.bind(str(path))


def _broken(path: Path) -> None:
    path.symlink_to("/nowhere/at/all.yaml")


@pytest.mark.parametrize("in_container", [True, False])
@pytest.mark.parametrize(
    ("made", "says"),
    [
        (_folder, "is a folder, not a file"),
        (_loop, "is a link that leads back to itself"),
        (_socket, "is a device or a socket, not a file"),
    ],
)
def test_what_is_no_file(made: Callable[[Path], None], says: str, in_container: bool, tmp_path: Path) -> None:
    made(tmp_path / "a.yaml")
    [problem] = _of(tmp_path, in_container).problems

    assert f"a.yaml {says}" in problem.title.en
    assert "fatal" == problem.severity


@pytest.mark.parametrize("in_container", [True, False])
def test_a_named_pipe_is_left_to_the_engine(in_container: bool, tmp_path: Path) -> None:
    mkfifo(tmp_path / "a.yaml")
    found = _of(tmp_path, in_container)

    assert () == found.problems
    assert found.note is not None
    assert "it is a named pipe" in found.note.en


@pytest.mark.parametrize("in_container", [True, False])
def test_a_link_that_leads_nowhere_may_lead_somewhere_in_a_container(in_container: bool, tmp_path: Path) -> None:
    _broken(tmp_path / "a.yaml")
    found = _of(tmp_path, in_container)

    assert found.note is not None
    assert "is a link to what is not there" in found.note.en
    assert (not in_container) == bool(found.problems)


def test_a_link_that_leads_nowhere_is_found_by_a_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    _loop(tmp_path / "a.yaml")
    found = config_of(read_engine_command("python3 -m sglang.launch_server --config a.yaml").launch, FLAGS, tmp_path)

    assert found is not None
    assert found.problems


def _of(folder: Path, in_container: bool) -> ConfigFile:
    command = f"python3 -m sglang.launch_server --config {folder / 'a.yaml'}"
    found = config_of(run(folder).launch if in_container else read_engine_command(command).launch, FLAGS, folder)
    assert found is not None
    return found


@pytest.mark.parametrize(("text", "missing"), [("", True), ("tp-size: 2\n", True), ("model-path: /m\n", False)])
def test_what_neither_the_file_nor_the_command_gives_is_missed(text: str, missing: bool, tmp_path: Path) -> None:
    found = flag_problems(merged(tmp_path, text, "--config /cfg/a.yaml"), FLAGS, {})

    assert missing * [("`--model-path` is missing", "/cfg/a.yaml does not give it either.")] == [
        (one.title.en, one.detail.en if one.detail is not None else "") for one in found
    ]


def test_a_file_that_is_too_large_is_not_cut(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("model-path: /m\n" + "# filling\n" * (1 << 17))

    with pytest.raises(UserError) as caught:
        config_of(run(tmp_path).launch, FLAGS, tmp_path)

    assert f"{tmp_path}/a.yaml (--config) is larger than 1 MiB and was not read" in caught.value.en
    assert "1 MiB" in caught.value.zh


@pytest.mark.parametrize("flags", ["--config /elsewhere/a.yaml", "--config $FILE", "--config a.yaml"])
def test_what_cannot_be_read(flags: str, tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("tp-size: 2\n")
    document = with_config(run(tmp_path, flags), FLAGS, tmp_path)

    assert isinstance(document, WithConfig)
    assert () == document.config.words
    assert () == document.problems
    assert document.editable.why is not None
    assert "is not known: it is not to be found on this machine" in document.editable.why.en


def test_versions_before_it(tmp_path: Path) -> None:
    assert config_of(run(tmp_path).launch, schema("0.5.2"), tmp_path) is None


def test_without_a_file(tmp_path: Path) -> None:
    document = run(tmp_path, "--model-path /m")

    assert document is with_config(document, FLAGS, tmp_path)
