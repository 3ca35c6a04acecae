"""Edits of everything but the command."""

import pytest

from sgdoctor.errors import UserError
from sgdoctor.launch.change import Change
from sgdoctor.launch.compose import ComposeDocument, open_compose
from sgdoctor.launch.model import Gpus, Mount, Port
from tests.launch.compose.corpus import CORPUS, SHELL, files_of
from tests.launch.tables import FLAGS

SERVICE = "services:\n  llm:\n    image: sglang\n    command: sglang serve --model-path /m\n"


def opened(more: str = "", environment: dict[str, str] | None = None) -> ComposeDocument:
    return open_compose([("/opt/x/compose.yaml", SERVICE + more)], "llm", environment or {})


def lines(document: ComposeDocument, *changes: Change) -> list[str]:
    """The new lines; `-` in front of those that went."""
    edited = document.edited(changes, FLAGS)
    assert () == edited.left
    old, new = document.text.splitlines(), edited.text.splitlines()
    return [f"-{line}" for line in old if line not in new] + [line for line in new if line not in old]


@pytest.mark.parametrize(
    ("more", "change", "expected"),
    [
        ("", Change("env.set", "A", "1"), ["    environment:", '      A: "1"']),
        ("    environment:\n      - B=2\n", Change("env.set", "A", "$x: #"), ['      - "A=$$x: #"']),
        ("    environment:\n      - B=2\n", Change("env.set", "A", "x"), ["      - A=x"]),
        ("    environment:\n      - 'A=2'   # c\n", Change("env.set", "A", "3"), ["-      - 'A=2'   # c", "      - 'A=3'   # c"]),
        ("    environment:\n      - A\n", Change("env.set", "A", "3"), ["-      - A", "      - A=3"]),
        ("    environment: [B=2]\n", Change("env.set", "A", "3"), ["-    environment: [B=2]", "    environment: [B=2, A=3]"]),
        ("    environment:\n      A: 0.9\n", Change("env.set", "A", "0.8"), ["-      A: 0.9", '      A: "0.8"']),
        ("    environment:\n      A:\n", Change("env.set", "A", "b"), ["-      A:", "      A: b"]),
        ("    environment:\n      B: 'x'\n", Change("env.set", "A", "b"), ["      A: 'b'"]),
        ("    environment: {B: x}\n", Change("env.set", "A", "b"), ["-    environment: {B: x}", "    environment: {B: x, A: b}"]),
        ("    environment:\n      A: ${A:-b}\n", Change("env.set", "A", "c"), ["-      A: ${A:-b}", "      A: ${A:-c}"]),
        ("    environment:\n      - A=${A:-b}\n", Change("env.set", "A", "c"), ["-      - A=${A:-b}", "      - A=${A:-c}"]),
        ("    environment:\n      - A=1\n      - B=2\n", Change("env.unset", "A"), ["-      - A=1"]),
        ("    environment:\n      A: 1\n      B: 2\n", Change("env.unset", "B"), ["-      B: 2"]),
        ("    environment:\n      A: 1\n", Change("env.unset", "A"), ["-    environment:", "-      A: 1"]),
        ("    environment: [A=1, B=2]\n", Change("env.unset", "B"), ["-    environment: [A=1, B=2]", "    environment: [A=1]"]),
        ("", Change("docker.shm_size", value="16g"), ["    shm_size: 16g"]),
        ('    shm_size: "8g"  # c\n', Change("docker.shm_size", value="16g"), ['-    shm_size: "8g"  # c', '    shm_size: "16g"  # c']),
        ("    shm_size: 8589934592\n", Change("docker.shm_size", value="16g"), ["-    shm_size: 8589934592", "    shm_size: 16g"]),
        ("    shm_size:\n", Change("docker.shm_size", value="16g"), ["-    shm_size:", "    shm_size: 16g"]),
        ("", Change("docker.ipc", value="host"), ["    ipc: host"]),
        ("", Change("docker.runtime", value="nvidia"), ["    runtime: nvidia"]),
        ("    restart: always\n", Change("docker.restart", value="no"), ["-    restart: always", "    restart: 'no'"]),
        ("", Change("docker.user", value="0"), ['    user: "0"']),
        ("", Change("docker.name", value="a"), ["    container_name: a"]),
        ("", Change("docker.memory", value="64g"), ["    mem_limit: 64g"]),
        ("", Change("image.tag", value="sglang:v1"), ["-    image: sglang", "    image: sglang:v1"]),
        ("", Change("docker.port", value="1:30000"), ["    ports:", '      - "1:30000"']),
        ("    ports:\n    - 1:1\n", Change("docker.port", value="1:30000"), ['    - "1:30000"']),
        ("    ports: ['2:30000/tcp']\n", Change("docker.port", value="1:30000"), ["-    ports: ['2:30000/tcp']", "    ports: ['1:30000']"]),
        ("    ports:\n      - target: 30000\n        published: 2\n", Change("docker.port", value="1:30000"), ["-        published: 2", '        published: "1"']),
        ("", Change("docker.volume", value="/a:/b:ro"), ["    volumes:", "      - /a:/b:ro"]),
        ("    volumes:\n      - '/c:/d'\n", Change("docker.volume", value="$(pwd)/a:/b"), ["      - './a:/b'"]),
        ("    volumes:\n      - /c:/b\n", Change("docker.volume", value="/a:/b"), ["-      - /c:/b", "      - /a:/b"]),
        ("", Change("file.mount", "/m/config.json", "./config.json"), ["    volumes:", "      - ./config.json:/m/config.json:ro"]),
        ("", Change("docker.ulimit", "memlock", "-1"), ["    ulimits:", "      memlock: -1"]),
        ("    ulimits:\n      memlock: 5\n", Change("docker.ulimit", "memlock", "-1"), ["-      memlock: 5", "      memlock: -1"]),
        ("    ulimits:\n      nofile:\n        soft: 1\n        hard: 2\n", Change("docker.ulimit", "nofile", "3:4"), ["-        soft: 1", "-        hard: 2", "        soft: 3", "        hard: 4"]),
        ("    ulimits:\n      nofile: 1\n", Change("docker.ulimit", "stack", "3:4"), ["      stack: {soft: 3, hard: 4}"]),
        ("    gpus: all\n", Change("docker.gpus", value="device=1"), ["-    gpus: all", '    gpus: [{driver: nvidia, device_ids: ["1"]}]']),
        ("    runtime: nvidia\n", Change("docker.gpus", value="device=1"), ["    environment:", '      NVIDIA_VISIBLE_DEVICES: "1"']),
        (
            "    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}\n",
            Change("docker.gpus", value="device=0,1"),
            [
                "-    deploy: {resources: {reservations: {devices: [{driver: nvidia, count: all, capabilities: [gpu]}]}}}",
                '    deploy: {resources: {reservations: {devices: [{driver: nvidia, device_ids: ["0", "1"], capabilities: [gpu]}]}}}',
            ],
        ),
    ],
)  # fmt: skip
def test_one_change(more: str, change: Change, expected: list[str]) -> None:
    document = opened(more)

    assert expected == lines(document, change)


def test_gpus_are_asked_for_under_deploy() -> None:
    edited = opened().edited([Change("docker.gpus", value="all")], FLAGS)

    assert Gpus(count=-1, driver="nvidia") == edited.launch.gpus
    assert edited.text == SERVICE.replace(
        "sglang\n    command",
        "sglang\n    deploy:\n      resources:\n        reservations:\n          devices:\n            - driver: nvidia\n"
        "              count: all\n              capabilities: [gpu]\n    command",
    )


def test_ids_in_a_block_list() -> None:
    document = open_compose(files_of("gpus-list.yaml"), None, SHELL)

    edited = document.edited([Change("docker.gpus", value="device=0")], FLAGS)

    assert document.text.replace('- "2"\n          - GPU-8a1b', '- "0"') == edited.text


def test_many_changes_at_once() -> None:
    document = open_compose([("/opt/x/compose.yaml", (CORPUS / "article-35b.yaml").read_text())], None, {})
    changes = [
        Change("flag.set", "--mem-fraction-static", "0.92"),
        Change("env.set", "NVIDIA_VISIBLE_DEVICES", "1"),
        Change("env.unset", "CUDA_VISIBLE_DEVICES"),
        Change("docker.port", value="30000:30000"),
        Change("file.mount", "/launch_selode.py", "./launch_selode.py"),
        Change("docker.ulimit", "stack", "67108864"),
    ]

    edited = document.edited(changes, FLAGS)

    assert () == edited.left
    launch = edited.launch
    assert {"NVIDIA_VISIBLE_DEVICES": "1"} == launch.env
    assert (Port(30000, 30000),) == launch.ports
    assert Mount("/launch_selode.py", "/opt/x/launch_selode.py", "bind", read_only=True) in launch.mounts
    assert "0.92" in launch.argv
    assert len(document.text.splitlines()) + 2 == len(edited.text.splitlines())


def test_what_is_so_already_changes_nothing() -> None:
    document = opened("    ipc: host\n    environment:\n      - A=1\n")

    edited = document.edited([Change("docker.ipc", value="host"), Change("env.set", "A", "1")], FLAGS)

    assert document.text == edited.text
    assert () == edited.left


@pytest.mark.parametrize(
    ("more", "environment", "change", "reason"),
    [
        ("    ipc: host\n", {}, Change("docker.shm_size", value="1g"), "host's /dev/shm"),
        ("    network_mode: host\n", {}, Change("docker.port", value="1:2"), "--port"),
        ("", {}, Change("env.unset", "A"), "A is not set here"),
        ("    environment:\n      A: ${A:-b}\n", {"A": "x"}, Change("env.set", "A", "c"), "variable A; change it in the shell"),
        ("    environment:\n      A: ${B}\n", {}, Change("host.command", value="nvidia-smi"), "no part of a compose file"),
        ("", {}, Change("flag.raise", "--mem-fraction-static"), "how far"),
        ("", {}, Change("file.mount", "relative", "./x"), "without changing something else"),
    ],
)  # fmt: skip
def test_what_has_no_place_is_left_with_the_reason(
    more: str, environment: dict[str, str], change: Change, reason: str
) -> None:
    document = opened(more, environment)

    edited = document.edited([change], FLAGS)

    [(left, why)] = edited.left
    assert document.text == edited.text
    assert change == left
    assert reason in why.en
    assert why.zh != why.en


def test_a_variable_of_an_environment_file_is_left_with_its_place() -> None:
    document = open_compose(files_of("env-files"), None, SHELL)

    edited = document.edited([Change("env.unset", "PLAIN")], FLAGS)

    [(_, why)] = edited.left
    assert "common.env" in why.en


def test_a_variable_of_an_environment_file_is_overruled() -> None:
    document = open_compose(files_of("env-files"), None, SHELL)

    edited = document.edited([Change("env.set", "PLAIN", "2")], FLAGS)

    assert "2" == edited.launch.env["PLAIN"]


def test_what_a_later_file_says_is_left_with_its_place() -> None:
    files = [
        ("a.yaml", SERVICE + "    environment: {A: '1'}\n"),
        ("b.yaml", "services:\n  llm:\n    environment: {A: '2'}\n"),
    ]
    document = open_compose(files, None, {})

    edited = document.edited([Change("env.set", "A", "3")], FLAGS)

    [(_, why)] = edited.left
    assert "b.yaml:3" in why.en


def test_a_mapping_that_others_use_too_is_not_touched() -> None:
    text = f"x-env: &env\n  A: '1'\n{SERVICE}    environment: *env\n  web:\n    image: nginx\n    environment: *env\n"
    document = open_compose([("compose.yaml", text)], "llm", {})

    edited = document.edited([Change("env.set", "B", "2")], FLAGS)

    assert text.replace("environment: *env\n  web", 'environment: {<<: *env , B: "2"}\n  web') == edited.text
    assert {"A": "1", "B": "2"} == edited.launch.env


def test_the_environment_of_a_merge_key_gets_a_mapping_of_its_own() -> None:
    document = open_compose(files_of("anchors.yaml"), "llm", SHELL)

    edited = document.edited([Change("env.set", "NEW", "x")], FLAGS)

    assert document.text.replace('OFFLINE: "1"', 'OFFLINE: "1"\n      NEW: "x"') == edited.text


@pytest.mark.parametrize(
    "change",
    [
        Change("docker.shm_size", value="lots"),
        Change("docker.restart", value="sometimes"),
        Change("docker.port", value="x"),
        Change("docker.gpus", value="device"),
        Change("docker.ulimit", "memlock", "x"),
        Change("docker.volume", value="a"),
    ],
)
def test_a_value_of_another_kind_is_refused(change: Change) -> None:
    with pytest.raises(UserError):
        opened().edited([change], FLAGS)


@pytest.mark.parametrize(
    "value", ["a\n    privileged: true", "a: b", "x # y", "!reset null", "*gpus", "${X}", "'\"", "\u2028"]
)
def test_a_value_stays_a_value(value: str) -> None:
    edited = opened().edited([Change("env.set", "A", value), Change("docker.user", value=value)], FLAGS)

    assert () == edited.left
    assert {"A": value} == edited.launch.env
