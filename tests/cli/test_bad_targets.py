"""What is no launch, or not one alone: one line that says what it is and what can be given instead, and exit code 2."""

import io
import os
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from sgdoctor.cli.main import main
from sgdoctor.logs import sources

ENGINE = "python3 -m sglang.launch_server --model-path m"
RUN = f"docker run --gpus all lmsysorg/sglang:v0.5.15 {ENGINE}"
MANIFEST = """\
apiVersion: apps/v1
kind: Deployment
spec:
  template:
    spec:
      containers: [{name: sgl, image: lmsysorg/sglang, command: [python3, -m, sglang.launch_server]}]
"""
COMPOSE = "services:\n  sgl:\n    image: lmsysorg/sglang:v0.5.15\n    gpus: all\n    command: {command}\n"
FILES = {
    "run.bat": f"@echo off\n{RUN}\n",
    "RUN.CMD": f"{RUN}\n",
    "run.ps1": RUN.replace(" lmsys", " `\n  lmsys"),
    "Makefile": f"serve:\n\t{RUN}\n",
    "Dockerfile": "FROM lmsysorg/sglang\nCMD sglang serve --model-path m\n",
    "caret.txt": RUN.replace(" lmsys", " ^\n  lmsys"),
    "tick.sh": RUN.replace(" lmsys", " `\n  lmsys"),
    "doc.txt": f"Start it so:\n\n```\n{RUN}\n```\n\nThen ask:\n\n```\ncurl localhost\n```\n",
    "README.md": f"Start it so:\n\n    {RUN}\n",
    "sgl.container": "[Container]\nImage=lmsysorg/sglang\n",
    "go.py": "import subprocess\nsubprocess.run(['sglang', 'serve'])\n",
    "k8s.yaml": MANIFEST,
    "two.yaml": MANIFEST + "---\napiVersion: v1\nkind: Service\n",
    "helm.yaml": MANIFEST.replace("lmsysorg/sglang", "{{ .Values.image }}"),
    "unset.yaml": COMPOSE.format(command=f"{ENGINE}-${{SIZE}}"),
    "twice.yaml": COMPOSE.format(command=f'bash -c "{ENGINE} & {ENGINE} --port 1"'),
    "twice.sh": RUN.replace(ENGINE, f'bash -c "{ENGINE}; {ENGINE} --port 1"'),
    "number.yaml": COMPOSE.format(command="5"),
}
SAYS = {
    "run.bat": "a batch file of Windows",
    "RUN.CMD": "a batch file of Windows",
    "run.ps1": "a script of PowerShell",
    "Makefile": "a makefile",
    "Dockerfile": "a Dockerfile",
    "caret.txt": "line 1 ends with ^, as on Windows",
    "tick.sh": "line 1 ends with `, as on Windows",
    "doc.txt": "a text with code between ```",
    "README.md": "a text with markup",
    "sgl.container": "a unit of Quadlet",
    "go.py": "a program in Python",
    "k8s.yaml": "a manifest of Kubernetes (Deployment)",
    "two.yaml": "a manifest of Kubernetes (Deployment)",
    "helm.yaml": "a manifest of Kubernetes (Deployment)",
    "unset.yaml": "not set: SIZE (unset.yaml:5, `command`)",
    "twice.yaml": "--model-path m` (line 1), `python3 -m sglang.launch_server --model-path m --port 1` (line 1)",
    "twice.sh": "--model-path m` (line 1), `python3 -m sglang.launch_server --model-path m --port 1` (line 1)",
    "number.yaml": "number.yaml:5: `command` has to be a text",
}


@pytest.fixture(autouse=True)
def here(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("command", ["fix", "preflight"])
@pytest.mark.parametrize("name", FILES)
def test_one_line(name: str, command: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / name).write_text(FILES[name])

    assert 2 == main([command, name, "--write"])
    told = capsys.readouterr()
    assert "" == told.out
    assert 1 == told.err.count("\n")
    assert told.err.startswith(f"sgdoctor: {name}:")
    assert SAYS[name] in told.err
    assert FILES[name] == (here / name).read_text()

    assert 2 == main(["--lang", "zh", command, name])
    assert "。" in (said := capsys.readouterr().err) or "；" in said


@pytest.mark.parametrize("command", ["fix", "preflight", "diagnose"])
def test_a_pipe_that_nobody_writes_to(
    command: str, here: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(here / "pipe")
    monkeypatch.setattr(sources, "PATIENCE", 0.2)

    assert 2 == main([command, "pipe"])
    assert "pipe: a pipe that nobody writes to" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "form"),
    [
        (f"{RUN} --tp 2\n", "docker run command"),
        ("[2026-07-01 10:00:00] server_args=ServerArgs(model_path='m')\n", "launch as the log shows it"),
        (COMPOSE.format(command=ENGINE), "compose file"),
    ],
)
def test_a_pipe_that_somebody_writes_to(text: str, form: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo(here / "pipe")
    threading.Thread(target=(here / "pipe").write_text, args=(text,)).start()
    main(["fix", "pipe"])

    assert capsys.readouterr().out.startswith(f"pipe · {form}")


def test_a_sentence_by_standard_input(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    read, write = os.pipe()
    os.write(write, b"please start it\n")
    os.close(write)
    monkeypatch.setattr(os, "dup", lambda _: read)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO()))

    assert 2 == main(["fix", "-"])
    assert "sgdoctor: stdin: no command in it starts the engine\n" == capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "warned"),
    [
        ("docker run -it ubuntu bash", True),
        ("docker run --gpus all lmsysorg/sglang:v0.5.15 sleep infinity", True),
        ("docker run --gpus all me/llm:1", False),
    ],
)
def test_a_container_without_an_engine(words: str, warned: bool, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["preflight", words])
    out = capsys.readouterr().out

    assert (4 if warned else 0) == code
    assert ("no engine is started: the container runs" in out) is warned
    assert "no command of an engine could be checked, only the host and the container" in out.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "last"),
    [
        (
            f"docker run --gpus all lmsysorg/sglang:v0.5.15 bash -c 'for i in 1; do {ENGINE}; done'",
            "changes to be typed",
        ),
        (RUN, "planned: 1 change"),
    ],
)
def test_what_has_to_be_typed_is_not_called_planned(words: str, last: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["fix", words, "--set", "tp=2"])

    assert capsys.readouterr().out.splitlines()[-1].startswith(last)


def test_what_is_wrong_and_cannot_be_changed_is_counted(capsys: pytest.CaptureFixture[str]) -> None:
    assert 3 == main(["fix", f"docker run --gpus all lmsysorg/sglang:v0.5.15 bash -c {ENGINE}"])
    assert "wrong as written: 1; nothing can be changed here." == capsys.readouterr().out.splitlines()[-1]


def test_flags_of_a_command_without_quotes(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["preflight", "docker", "run", "-it", "ubuntu"])
    assert "stand behind `--`" in capsys.readouterr().err
    assert 2 == main(["preflight", "docker", "run", "--gpus", "all", "ubuntu"])
    told = capsys.readouterr().err
    assert "did you mean --gpu? The flags of a command stand behind `--`: sgdoctor preflight -- ..." in told


def test_an_engine_in_the_quotes_of_another_program(capsys: pytest.CaptureFixture[str]) -> None:
    main(["fix", f"tmux new-session -d '{ENGINE}'", "--set", "tp=2"])
    out = " ".join(capsys.readouterr().out.split())

    assert "the engine is started by tmux, in quotes (line 1). To be typed by hand: --tp 2" in out


def test_only_spoken_of(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["fix", f"echo 'run {ENGINE}'"])
    assert "no command in it starts the engine" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["$1", "$MODEL", "/models/${NAME}"])
@pytest.mark.parametrize("command", ["{}", "docker run --gpus all -v /models:/models lmsysorg/sglang:v0.5.15 {}"])
def test_a_model_that_only_the_shell_knows(command: str, name: str, capsys: pytest.CaptureFixture[str]) -> None:
    main(["preflight", command.format(f'sglang serve --model-path "{name}"')])
    out = " ".join(capsys.readouterr().out.split())

    assert f"Place of the model: what {name} stands for is not known here" in out
    assert "would not start" not in out


def test_docker_create(capsys: pytest.CaptureFixture[str]) -> None:
    assert 4 == main(["preflight", RUN.replace("run", "create")])
    assert "docker run command" in capsys.readouterr().out
