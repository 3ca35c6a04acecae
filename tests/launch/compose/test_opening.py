"""Which files are read, which service is meant, and what is said where that cannot work."""

from pathlib import Path

import pytest

from sgdoctor.errors import UserError
from sgdoctor.launch.compose import open_compose, project_files
from sgdoctor.launch.model import EditState

LLM = "services:\n  llm:\n    image: lmsysorg/sglang:latest\n    command: sglang serve --model-path /m\n"


def written(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        (folder / name.replace("_", ".")).write_text(text)
    return folder


def test_a_folder_is_read_as_compose_reads_it(tmp_path: Path) -> None:
    written(tmp_path, compose_yaml=LLM, compose_override_yaml=LLM)
    (tmp_path / "docker-compose.yml").write_text(LLM)

    assert (tmp_path / "compose.yaml", tmp_path / "compose.override.yaml") == project_files(tmp_path, {})


def test_folders_above_are_looked_in(tmp_path: Path) -> None:
    written(tmp_path, compose_yaml=LLM)
    (tmp_path / "a" / "b").mkdir(parents=True)

    assert (tmp_path / "compose.yaml",) == project_files(tmp_path / "a" / "b", {})


def test_a_main_file_brings_its_override_and_any_other_file_stands_alone(tmp_path: Path) -> None:
    for name in ("docker-compose.yml", "docker-compose.override.yml", "gpu.yaml"):
        (tmp_path / name).write_text(LLM)

    main, other = tmp_path / "docker-compose.yml", tmp_path / "gpu.yaml"
    assert (main, tmp_path / "docker-compose.override.yml") == project_files(main, {})
    assert (other,) == project_files(other, {})


def test_compose_file_names_the_files_of_a_folder(tmp_path: Path) -> None:
    environment = {"COMPOSE_FILE": "a.yaml;b.yaml", "COMPOSE_PATH_SEPARATOR": ";"}

    assert (tmp_path / "a.yaml", tmp_path / "b.yaml") == project_files(tmp_path, environment)


def test_no_compose_file_in_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"no compose file here \(compose.yaml"):
        project_files(tmp_path, {})


def test_the_environment_file_beside_counts_less_than_the_shell(tmp_path: Path) -> None:
    text = LLM.replace("latest", "${A}-${B}")
    written(tmp_path, compose_yaml=text)
    (tmp_path / ".env").write_text("A=file\nB=file\n")

    document = open_compose([tmp_path / "compose.yaml"], None, {"B": "shell"})

    assert "lmsysorg/sglang:file-shell" == document.launch.image


def test_a_named_environment_file_takes_the_place_of_the_other(tmp_path: Path) -> None:
    written(tmp_path, compose_yaml=LLM.replace("latest", "${A}${B}"))
    (tmp_path / ".env").write_text("A=1\nB=1\n")
    (tmp_path / "other.env").write_text("B=2\n")

    document = open_compose([tmp_path / "compose.yaml"], None, {}, [tmp_path / "other.env"])

    assert "lmsysorg/sglang:2" == document.launch.image


@pytest.mark.parametrize(
    ("other", "service"),
    [
        ("  web:\n    image: nginx\n", "llm"),
        ("  web:\n    image: own\n    command: python3 /launch_it.py --port 1\n", "llm"),
    ],
)
def test_the_only_service_that_is_sglangs_is_meant(other: str, service: str) -> None:
    document = open_compose([("compose.yaml", LLM + other)], None, {})

    assert service == document.service
    assert f"compose.yaml:{service}" == document.name


def test_a_launch_script_in_an_image_of_ones_own_is_found() -> None:
    text = "services:\n  web:\n    image: nginx\n  llm:\n    image: own\n    command: python3 /launch_it.py --port 1\n"

    assert "llm" == open_compose([("compose.yaml", text)], None, {}).service


def test_a_service_can_be_named_by_its_container() -> None:
    text = LLM + "    container_name: qwen\n"

    assert "llm" == open_compose([("compose.yaml", text)], "qwen", {}).service


@pytest.mark.parametrize(
    "command",
    [
        "python3 -m sglang_router.launch_router --worker-urls http://llm:30000",
        "smg --worker-urls http://llm:30000",
        "python3 -m sglang.srt.disaggregation.mini_lb --prefill http://llm:30000",
    ],
)
def test_a_router_beside_the_server_is_not_meant(command: str) -> None:
    router = f"  router:\n    image: lmsysorg/sglang:latest\n    command: {command}\n"

    assert "llm" == open_compose([("compose.yaml", LLM + router)], None, {}).service
    alone = open_compose([("compose.yaml", f"services:\n{router}")], None, {})
    assert "router" == alone.service
    assert alone.editable.why is not None
    assert alone.editable.why.en.startswith("it starts a router")


@pytest.mark.parametrize(
    ("text", "service", "message"),
    [
        (LLM, "web", "compose.yaml: no service 'web'; there are: llm"),
        (LLM + LLM[10:].replace("llm", "two"), None, "compose.yaml: several services are SGLang's, name one: llm, two"),
        ("services:\n  a:\n    image: x\n  b:\n    image: y\n", None, "compose.yaml: no service that is SGLang's was found, name one: a, b"),
        ("services: [a]\n", None, "compose.yaml:1: is no compose file: `services` has to be a mapping and is a list"),
        ("services:\n  a: b\n", None, "compose.yaml:2: is no compose file: `services.a` has to be a mapping and is a text"),
        ("", None, "compose.yaml: is no compose file"),
        ("services:\n", None, "compose.yaml: is no compose file: it has no services"),
        ("a: [b\n", None, "compose.yaml:2:1: not valid YAML: expected ',' or ']', but got '<stream end>'"),
        ("a: *b\n", None, "compose.yaml:1:4: not valid YAML: found undefined alias 'b'"),
        ("a: b\n---\nc: d\n", None, "compose.yaml:2: a second YAML document begins here; put it into a file of its own"),
        ("a: \x07\n", None, "compose.yaml: not valid YAML: unacceptable character #x0007: special characters are not allowed"),
        ("include: [other.yaml]\n" + LLM, None, "compose.yaml:1: `include` is not supported; name the included file as well"),
        ("a: &a [*a]\n", None, "compose.yaml:1:8: not valid YAML: found undefined alias 'a'"),
        ("services:\n  a:\n    <<: x\n", None, "compose.yaml:3: `<<` can only merge mappings"),
        ("services:\n  a:\n    image: ${X:?say which}\n", None, "compose.yaml:3: the variable X has to be set: say which"),
        ("services:\n  a:\n    image: ${X\n", None, "compose.yaml:3: `${X` is not a valid variable; a literal `$` is written `$$`"),
        ("services:\n  llm:\n    command: sglang 'serve\n", None, "compose.yaml:3: the quote ' is not closed in `command`; Compose refuses it"),
        ("services:\n  llm:\n    command: {a: b}\n", None, "compose.yaml:3: `command` has to be a text or a list"),
        (LLM + "    ports: [x]\n", None, "compose.yaml:5: 'x' is no published port; write HOST:CONTAINER, such as 30000:30000"),
        (LLM + "    shm_size: much\n", None, "compose.yaml:5: 'much' is no size; write 32g or 512m"),
        (LLM + "    extends: nobody\n", None, "compose.yaml:5: llm cannot extend nobody: compose.yaml has no such service"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(text: str, service: str | None, message: str) -> None:
    with pytest.raises(UserError) as refused:
        open_compose([("compose.yaml", text)], service, {})

    assert message == refused.value.en
    assert refused.value.zh not in ("", message)


def test_aliases_of_aliases_end() -> None:
    levels = "".join(f"x{n}: &x{n} [{', '.join([f'*x{n - 1}'] * 10)}]\n" for n in range(1, 9))

    with pytest.raises(UserError, match="aliases without end"):
        open_compose([("compose.yaml", "x0: &x0 [a]\n" + levels + LLM)], None, {})


@pytest.mark.parametrize("deep", ["[" * 3000 + "]" * 3000, "{a: " * 500 + "}" * 500])
def test_lists_in_lists_without_end(deep: str) -> None:
    with pytest.raises(UserError, match="too large for a compose file"):
        open_compose([("compose.yaml", f"x-deep: {deep}\n{LLM}")], None, {})


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"compose\.yaml: cannot be read: No such file or directory"):
        open_compose([tmp_path / "compose.yaml"], None, {})


def test_a_file_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "compose.yaml").write_bytes(b"services: \xff\n")

    with pytest.raises(UserError, match=r"is no UTF-8 text \(byte 10\)"):
        open_compose([tmp_path / "compose.yaml"], None, {})


def test_a_broken_environment_file(tmp_path: Path) -> None:
    written(tmp_path, compose_yaml=LLM)
    (tmp_path / ".env").write_text("A=1\nwhat is this\n")

    with pytest.raises(UserError, match=r"\.env:2: expected NAME=value, found 'what is this'"):
        open_compose([tmp_path / "compose.yaml"], None, {})


@pytest.mark.parametrize(
    ("command", "state", "why"),
    [
        ("sglang serve --model-path /m", EditState.YES, None),
        ("sglang serve --model-path ${M:-/m}", EditState.NOTE, "of M only the default is changed"),
        ("sglang serve --model-path $SET", EditState.NOTE, "SET is set in the shell"),
        ("/start.sh", EditState.NO, "started inside /start.sh"),
    ],
)
def test_whether_it_can_be_edited(command: str, state: EditState, why: str | None) -> None:
    text = f"services:\n  llm:\n    image: sglang\n    command: {command}\n"

    editable = open_compose([("compose.yaml", text)], None, {"SET": "/m"}).editable

    assert state is editable.state
    assert (editable.why is None) if why is None else (editable.why is not None and why in editable.why.en)
