"""Commands of thousands of words are read and changed at once: no step looks at all of it for each word."""

from collections.abc import Callable
from time import process_time

import pytest

from sgdoctor.launch import shell
from sgdoctor.launch.change import Change
from sgdoctor.launch.compose.document import open_compose
from sgdoctor.launch.docker_run import read_shell
from sgdoctor.launch.flag_edits import NO_FLAGS, given_flags
from sgdoctor.launch.model import Document, EditState

# Compose files keep the place of every character through three texts, which takes longer for each word.
FEW = 2_000
ADAPTERS = [f"a{number}=/adapters/b{number}" for number in range(10_000)]
ENGINE = "python3 -m sglang.launch_server --model-path m --lora-paths"
RUN = "docker run --gpus all lmsysorg/sglang:v0.5.15"
# The slowest of these needs 0.7 s; they took from 4 to 45 s when the text was split again for each question.
SECONDS = 10.0


def compose(command: str) -> Document:
    text = f"services:\n  sgl:\n    image: lmsysorg/sglang:v0.5.15\n    gpus: all\n    command: {command}\n"
    return open_compose([("compose.yaml", text)], None, {})


READ: dict[str, Callable[[], Document]] = {
    "one line": lambda: read_shell(f"{RUN} {ENGINE} {' '.join(ADAPTERS)}"),
    "many lines": lambda: read_shell(f"{RUN} \\\n  {ENGINE} \\\n  " + " \\\n  ".join(ADAPTERS)),
    "a shell": lambda: read_shell(f"{RUN} bash -c '{ENGINE} {' '.join(ADAPTERS)}'"),
    "no container": lambda: read_shell(f"{ENGINE} {' '.join(ADAPTERS)}"),
    "a flag again and again": lambda: read_shell(f"{RUN} {ENGINE} " + " --lora-paths ".join(ADAPTERS)),
    "variables": lambda: read_shell(f"{RUN[:10]} {' '.join(f'-e {one}' for one in ADAPTERS)} {RUN[11:]} {ENGINE} a=b"),
    "compose": lambda: compose(f"{ENGINE} {' '.join(ADAPTERS[:FEW])}"),
    "compose, lines": lambda: compose(f">\n      {ENGINE}\n      " + "\n      ".join(ADAPTERS[:FEW])),
}


@pytest.mark.parametrize("form", READ)
def test_thousands_of_words(form: str) -> None:
    began = process_time()
    document = READ[form]()
    edited = document.edited([Change("flag.set", "--tp", "2"), Change("flag.set", "--model-path", "n")], NO_FLAGS)
    assert SECONDS > process_time() - began
    argv = edited.launch.argv
    given = {one.flag: one.values for one in given_flags(argv, edited.launch.flags_at, NO_FLAGS)}
    assert ("n",) == given["--model-path"]
    assert ("2",) == given["--tp"]
    assert document.problems == ()


@pytest.mark.parametrize(
    ("text", "times"),
    [(f"{RUN} {ENGINE} a=b", 1), (f"{ENGINE} a=b", 1), (f"{RUN} bash -c '{ENGINE} a=b'", 2)],
)
def test_a_text_is_split_once(text: str, times: int, monkeypatch: pytest.MonkeyPatch) -> None:
    scanner = shell._Scanner
    made: list[str] = []

    def counted(source: str) -> shell._Scanner:
        made.append(source)
        return scanner(source)

    monkeypatch.setattr(shell, "_Scanner", counted)
    document = read_shell(text)
    assert document.launch.argv
    assert document.problems == ()
    assert document.editable.state is EditState.YES
    assert times == len(made)
