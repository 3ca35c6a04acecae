"""What people get wrong in compose files: named with its line, and put right where it has one meaning."""

import pytest

from sgdoctor.errors import UserError
from sgdoctor.launch.compose import ComposeDocument, open_compose
from sgdoctor.launch.typography import REPAIR
from tests.launch.compose.corpus import ACCEPTED, RECORDED, SHELL, files_of
from tests.launch.tables import FLAGS

WANTED = ("sglang", "serve", "--model-path", "/m")


def opened(service: str) -> ComposeDocument:
    head = "services:\n  llm:\n    image: lmsysorg/sglang:latest\n    gpus: all\n"
    return open_compose([("compose.yaml", head + service)], None, {})


@pytest.mark.parametrize(
    ("name", "problem", "severity", "line"),
    [
        ("literal-backslashes.yaml", "newline-argument", "fatal", "lines 6, 7, 8"),
        ("comment-in-command.yaml", "comment-in-command", "fatal", "line 8"),
        ("typographic.yaml", "typographic-dash", "fatal", "lines 7, 8"),
        ("typographic.yaml", "odd-blank", "fatal", "line 8"),
        ("typographic.yaml", "typographic-quote", "fatal", "line 9"),
        ("glued-items.yaml", "glued-item", "fatal", "lines 9, 10"),
        ("json-without-quotes.yaml", "json-without-quotes", "fatal", "line 7"),
        ("operators.yaml", "dropped-behind-operator", "fatal", "line 5"),
        ("bash-without-quotes.yaml", "shell-takes-one-word", "fatal", "line 6"),
        ("flags-alone.yaml", "flags-without-engine", "fatal", "line 5"),
        ("quotes-in-list-environment.yaml", "quotes-in-value", "error", "line 7"),
        ("quotes-in-list-environment.yaml", "gpus-asked-for-twice", "degraded", "line 8"),
        ("article-35b.yaml", "gpu-chosen-by-cuda-alone", "notice", "line 17"),
        ("article-35b.yaml", "shm-size-without-effect", "notice", "line 11"),
        ("literal.yaml", "restart-after-exit-0", "degraded", "line 11"),
        ("refused/duplicate-key.yaml", "duplicate-key", "fatal", "line 7"),
        ("refused/bare-number.yaml", "item-not-a-text", "fatal", "lines 11, 13"),
        ("refused/blank-in-name.yaml", "blank-in-name", "fatal", "line 7"),
    ],
)
def test_problem_has_its_line(name: str, problem: str, severity: str, line: str) -> None:
    document = open_compose(files_of(name), None, SHELL)

    [found] = [one for one in document.problems if one.id == problem]
    assert found.where is not None
    assert (severity, line) == (found.severity, found.where.en)
    assert found.title.zh != found.title.en


WRONG = {
    "literal-backslashes.yaml", "comment-in-command.yaml", "typographic.yaml", "glued-items.yaml", "operators.yaml",
    "json-without-quotes.yaml", "bash-without-quotes.yaml", "flags-alone.yaml", "quotes-in-list-environment.yaml",
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in ACCEPTED if name not in WRONG])
def test_what_is_right_has_no_problem(name: str) -> None:
    found = [
        problem
        for service in RECORDED[name]["services"]
        for problem in open_compose(files_of(name), service, SHELL).problems
    ]

    assert not [problem for problem in found if problem.severity in ("fatal", "error")]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("literal-backslashes.yaml", ("--model-path", "/models/m", "--mem-fraction-static", "0.9", "--dtype", "bfloat16")),
        ("comment-in-command.yaml", ("--model-path", "/m", "--mem-fraction-static", "0.9")),
        ("typographic.yaml", ("--model-path", "/m", "--mem-fraction-static", "0.9", "--served-model-name", "local")),
        ("glued-items.yaml", ("--model-path", "/models/m", "--dtype", "bfloat16", "--trust-remote-code")),
        ("json-without-quotes.yaml", ("--model-path", "/m", "--json-model-override-args", '{"rope_scaling": {"factor": 4.0}}', "--dtype", "bfloat16")),
        ("refused/bare-number.yaml", ("--model-path", "/m", "--mem-fraction-static", "0.9", "--port", "30000")),
    ],
)  # fmt: skip
def test_repair_gives_the_command_that_was_meant(name: str, expected: tuple[str, ...]) -> None:
    document = open_compose(files_of(name), None, SHELL)

    edited = document.edited([REPAIR], FLAGS)

    after = open_compose([("compose.yaml", edited.text)], None, SHELL)
    assert expected == after.launch.argv[after.launch.flags_at :]
    assert not [problem for problem in after.problems if problem.severity == "fatal"]
    assert () == edited.left


def test_a_comment_moves_above_the_command() -> None:
    document = open_compose(files_of("comment-in-command.yaml"), None, SHELL)

    edited = document.edited([REPAIR], FLAGS)

    assert "    gpus: all\n    # 24 GB card\n    command: >\n" in edited.text


def test_a_repair_changes_its_own_lines_alone() -> None:
    document = open_compose(files_of("glued-items.yaml"), None, SHELL)

    edited = document.edited([REPAIR], FLAGS)

    old = document.text.replace("      - --model-path /models/m\n", "      - --model-path\n      - /models/m\n")
    assert (
        old.replace('- "--dtype bfloat16"   # one item\n', '- "--dtype"   # one item\n      - "bfloat16"\n')
        == edited.text
    )


@pytest.mark.parametrize(
    "command",
    [
        "    command: sglang serve --model-path /m --served-model-name '#1'\n",
        "    command: [sglang, serve, --model-path, /m, --chat-template, '{\"a\": 1}']\n",
        "    command: [sglang, serve, --model-path, /m, '--x=a b']\n",
        "    command: [sglang, serve, --model-path, /m, '-5', '0.9', 'yes', 'null']\n",
        "    command: sglang serve --model-path /m --served-model-name \"a|b\" 'c;d'\n",
        "    command: [bash, -c, 'sglang serve --model-path /m | tee log # done']\n",
        "    command: sglang serve --model-path /m --stop-words …\n",
    ],
)
def test_what_looks_like_a_mistake_and_is_none(command: str) -> None:
    assert () == opened(command).problems


@pytest.mark.parametrize(
    ("command", "severity"),
    [
        ("    command: sglang serve --model-path /m | tee log\n", "degraded"),
        ("    command: cd /w && sglang serve --model-path /m\n", "fatal"),
        ("    command: sglang serve --model-path /m &\n", "degraded"),
    ],
)
def test_what_is_dropped_behind_an_operator(command: str, severity: str) -> None:
    document = opened_service(command)

    [found] = [problem for problem in document.problems if problem.id == "dropped-behind-operator"]
    assert severity == found.severity


def opened_service(command: str) -> ComposeDocument:
    text = f"services:\n  llm:\n    image: lmsysorg/sglang:latest\n    gpus: all\n{command}"
    return open_compose([("compose.yaml", text)], "llm", {})


def test_a_file_with_a_key_twice_is_not_edited() -> None:
    document = open_compose(files_of("refused/duplicate-key.yaml"), None, SHELL)

    with pytest.raises(UserError, match="`shm_size` twice"):
        document.edited([REPAIR], FLAGS)


def test_no_gpu_is_asked_for() -> None:
    text = "services:\n  llm:\n    image: lmsysorg/sglang:latest\n    command: sglang serve --model-path /m\n"
    document = open_compose([("compose.yaml", text)], None, {})

    [problem] = document.problems
    after = document.edited(problem.changes, FLAGS)

    assert "no-gpu-asked-for" == problem.id
    assert -1 == (after.launch.gpus and after.launch.gpus.count)


@pytest.mark.parametrize(
    ("service", "says"),
    [
        ("    command: 5\n", "compose.yaml:5: `command` has to be a text and 5 without quotes is none"),
        ("    command: true\n", "`command` has to be a text and true"),
        ("    entrypoint: 1.5\n", "`entrypoint` has to be a text and 1.5"),
        ("    container_name: 7\n", "`container_name` has to be a text and 7"),
    ],
)
def test_what_is_no_text_is_refused(service: str, says: str) -> None:
    with pytest.raises(UserError, match=says) as refused:
        opened(service)

    assert "Compose 会拒绝" in refused.value.zh


@pytest.mark.parametrize("service", ["    command: '5'\n", "    command: ~\n", "    command:\n", "    command: $A\n"])
def test_what_is_a_text_or_nothing(service: str) -> None:
    head = "services:\n  llm:\n    image: lmsysorg/sglang:latest\n"
    assert open_compose([("compose.yaml", head + service)], None, {"A": "5"}).service == "llm"
