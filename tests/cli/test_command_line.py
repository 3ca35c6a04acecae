"""The command as a person or a script runs it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from rich.cells import cell_len

from sgdoctor.cli.main import main

SGDOCTOR = [sys.executable, "-m", "sgdoctor"]


def run(
    *arguments: str, stdin: bytes = b"", environment: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*SGDOCTOR, *arguments],
        input=stdin,
        capture_output=True,
        check=False,
        env={**os.environ, **(environment or {})},
    )


@pytest.fixture
def dead(logs: Path) -> str:
    return str(logs / "real" / "bcg-decode-dense.log")


@pytest.fixture
def alive(logs: Path) -> str:
    return str(logs / "real" / "boot-dense.log")


def test_a_failure_is_3_a_healthy_log_is_0_and_the_worst_counts(
    dead: str, alive: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["diagnose", dead]) == 3
    assert main(["diagnose", alive]) == 0
    assert main(["diagnose", alive, dead]) == 3
    out = capsys.readouterr().out
    assert out.count("failed at graph capture: ") == 3
    assert [f"{alive}: healthy: stopped on request, nothing is wrong."] == out.splitlines()[-2:-1]
    assert out.splitlines()[-1].startswith(f"{dead}: failed at graph capture: ")


def test_undetermined_is_5(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    log = tmp_path / "x.log"
    log.write_text("ValueError: nobody has ever seen this\n")

    assert main(["diagnose", str(log)]) == 5
    assert "1 │ ValueError: nobody has ever seen this" in capsys.readouterr().out


def test_an_input_that_cannot_be_read_is_2_and_the_others_are_still_answered(
    alive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["diagnose", str(tmp_path / "absent.log"), alive])

    captured = capsys.readouterr()
    assert code == 2
    assert "absent.log" in captured.err
    assert captured.err.count("\n") == 1
    assert "healthy" in captured.out


def test_json_is_one_object_for_one_log_and_a_list_for_several(
    dead: str, alive: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["diagnose", dead, "--format", "json"])
    one = json.loads(capsys.readouterr().out)
    main(["diagnose", dead, alive, "--format", "json"])
    two = json.loads(capsys.readouterr().out)

    assert one["verdict"]["state"] == "failed"
    assert [each["verdict"]["state"] for each in two] == ["failed", "healthy"]


def test_all_attempts(dead: str, alive: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    both = tmp_path / "both.log"
    both.write_bytes(Path(dead).read_bytes() + Path(alive).read_bytes())

    assert main(["diagnose", str(both), "--all-attempts", "--format", "json"]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"]["attempt"] == 2
    assert [each["verdict"]["state"] for each in answer["earlier_attempts"]] == ["failed"]
    assert main(["diagnose", str(both), "--all-attempts"]) == 0
    assert capsys.readouterr().out.count("of 2") == 2


@pytest.mark.parametrize("form", ["json", "sarif", "md"])
def test_documents_come_out_whole(dead: str, form: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", dead, "--format", form]) == 3

    out = capsys.readouterr().out
    assert "SGL501" in out
    if form != "md":
        json.loads(out)


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (["diagnos", "x"], "unknown command diagnos; did you mean diagnose?"),
        (["diagnose", "--formt", "json", "x"], "unknown option --formt; did you mean --format?"),
        (["diagnose", "--format", "jsn", "x"], "did you mean json?"),
        (["diagnose"], "missing: FILE (usage: sgdoctor diagnose FILE; more: sgdoctor diagnose --help)"),
        (["explain"], "missing: CODE (usage: sgdoctor explain CODE; more: sgdoctor explain --help)"),
        (["rules", "new", "x"], "(usage: sgdoctor rules new NAME --family FAMILY; more: sgdoctor rules new --help)"),
        (["diagnose", "x", "--rules"], "--rules needs a value"),
        (["diagnose", "x", "--rules", "/nowhere"], "/nowhere is not a folder"),
        (["diagnose", "-", "-"], "only once"),
        (["explain", "SGL99999"], "there is no rule SGL99999; sgdoctor rules list shows all"),
        (["explain", "weather"], "there is no rule weather; sgdoctor rules list shows all"),
        ([__file__], f"{__file__} is a file; did you mean: sgdoctor diagnose {__file__}"),
        (["completion", "fish"], "sgdoctor: fish is not one of bash, zsh, tcsh"),
    ],
)
def test_bad_usage_is_one_line_and_2(arguments: list[str], text: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2

    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.count("\n") == 1
    assert text in captured.err


def test_the_language_is_found_wherever_it_stands_and_from_the_locale(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for arguments in (["--lang", "zh", "diagnos"], ["diagnos", "--lang=zh"]):
        main(arguments)
        assert "未知命令" in capsys.readouterr().err
    monkeypatch.setenv("LC_ALL", "zh_CN.UTF-8")
    main(["diagnos"])
    assert "未知命令" in capsys.readouterr().err
    main(["diagnos", "--lang", "en"])
    assert "unknown command" in capsys.readouterr().err


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_help(lang: str, capsys: pytest.CaptureFixture[str]) -> None:
    for arguments in ([], ["--help"], ["diagnose", "--help"], ["explain", "-h"], ["rules", "--help"]):
        assert main([*arguments, "--lang", lang] if arguments else ["--lang", lang]) == 0
        assert capsys.readouterr().out.startswith("用法" if lang == "zh" else "usage")


def test_columns_of_help_stand_below_each_other(capsys: pytest.CaptureFixture[str]) -> None:
    main(["diagnose", "--help", "--lang", "zh"])
    lines = capsys.readouterr().out.splitlines()
    explained = {"文件  ": "日志文件或容器", "--rules": "从该目录读取", "--facts": "列出从日志"}
    columns = {
        cell_len(line[: line.index(text)])
        for name, text in explained.items()
        for line in lines
        if line.startswith(f"  {name}")
    }

    assert {24} == columns
    assert lines[1].index("[--format") == cell_len(lines[0][: lines[0].index("[-h]")])
    assert "\0" not in "".join(lines)


def test_the_heading_of_the_commands_is_not_repeated(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--help", "--lang", "en"])

    assert "\ncommands:\n  diagnose " in capsys.readouterr().out


def test_help_in_chinese_is_chinese_throughout(capsys: pytest.CaptureFixture[str]) -> None:
    main(["diagnose", "--help", "--lang", "zh"])
    text = capsys.readouterr().out
    main(["rules", "check", "--help", "--lang", "zh"])
    check = capsys.readouterr().out

    assert {"选项：", "参数："} <= set(text.splitlines())
    assert "文件 [文件 ...]" in text
    assert "[规则|路径 ...]" in check
    assert not any(line.lstrip().startswith(("，", "。", "；")) for line in text.splitlines())


def test_the_page_of_a_rule_holds_no_expressions_and_whole_addresses(capsys: pytest.CaptureFixture[str]) -> None:
    main(["explain", "SGL402"])
    page = capsys.readouterr().out

    assert " is not None" not in page
    assert "_min>" not in page
    assert all(" " not in line.strip() for line in page.splitlines() if "https://" in line)


def test_closed_streams_still_give_the_exit_code(dead: str) -> None:
    for redirection in (">&-", ">&- 2>&-", "<&- >&- 2>&-"):
        done = subprocess.run(
            ["sh", "-c", f'"$@" {redirection}', "sh", *SGDOCTOR, "diagnose", dead], capture_output=True, check=False
        )

        assert (done.returncode, done.stderr) == (3, b"")


def test_a_full_disk_is_no_fault_of_the_program(dead: str) -> None:
    done = subprocess.run(
        ["sh", "-c", '"$@" >/dev/full', "sh", *SGDOCTOR, "diagnose", dead], capture_output=True, check=False
    )

    assert (done.returncode, done.stderr) == (1, b"sgdoctor: the answer cannot be written: No space left on device\n")


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    from sgdoctor import __version__

    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"sgdoctor {__version__}\n"


def test_explain_by_id_and_by_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "sgl501"]) == 0
    page = capsys.readouterr().out
    name = page.split()[1]
    assert main(["explain", name, "--lang", "zh"]) == 0
    assert "原因" in capsys.readouterr().out
    assert main(["explain", name[:-3] + name[-2:]]) == 2
    assert f"did you mean {name}?" in capsys.readouterr().err


def test_explain_lists_the_rules_that_a_word_stands_for(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "oom"]) == 0

    lines = capsys.readouterr().out.splitlines()
    assert len(lines) > 5
    assert all(line.startswith("SGL") for line in lines)


def test_a_log_for_no_command_is_not_dropped(dead: str) -> None:
    piped = run(stdin=b"x\n")
    with Path(dead).open("rb") as log:
        redirected = subprocess.run(SGDOCTOR, stdin=log, capture_output=True, check=False)
    idle = subprocess.run(SGDOCTOR, stdin=subprocess.DEVNULL, capture_output=True, check=False)

    line = b"sgdoctor: there is input and no command; did you mean: sgdoctor diagnose -\n"
    assert (2, line) == (piped.returncode, piped.stderr)
    assert (2, line) == (redirected.returncode, redirected.stderr)
    assert (0, b"usage") == (idle.returncode, idle.stdout[:5])


@pytest.mark.parametrize("shell", ["bash", "zsh", "tcsh"])
def test_completion_scripts_know_the_commands(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert "diagnose" in capsys.readouterr().out


def test_an_internal_error_asks_for_a_report_and_hides_the_traceback(
    dead: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from sgdoctor.cli import diagnose

    monkeypatch.setattr(diagnose, "rule_base_of", lambda _: 1 // 0)
    assert main(["diagnose", dead]) == 1
    quiet = capsys.readouterr().err
    monkeypatch.setenv("SGDOCTOR_DEBUG", "1")
    assert main(["diagnose", dead]) == 1

    assert "ZeroDivisionError" in quiet
    assert "Traceback" not in quiet
    assert "Traceback" in capsys.readouterr().err


def test_a_broken_rule_of_the_user_is_said_and_the_rest_works(
    dead: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broken.yaml").write_text("id: [")

    assert main(["diagnose", dead, "--rules", str(tmp_path)]) == 3
    assert "broken.yaml" in capsys.readouterr().err


# ---------------------------------------------------------------- whole processes


def test_diagnose_loads_no_app_no_adapters_and_no_yaml(dead: str) -> None:
    run("diagnose", dead)  # compiles the rule base
    script = (
        "import sys; from sgdoctor.cli.main import main; main(sys.argv[1:]); "
        "sys.stderr.write(' '.join(sorted({name.partition('.')[0] for name in sys.modules})))"
    )

    done = subprocess.run([sys.executable, "-c", script, "diagnose", dead], capture_output=True, check=True)

    loaded = set(done.stderr.decode().split())
    assert {"sgdoctor", "rich"} <= loaded
    assert loaded & {
        "textual", "docker", "pynvml", "pydantic", "yaml", "typing_extensions", "asyncio", "requests", "shtab",
        "jsonschema", "zstandard", "platformdirs", "concurrent",
    } == set()  # fmt: skip


def test_json_loads_no_rich(dead: str) -> None:
    script = (
        "import sys; from sgdoctor.cli.main import main; main(sys.argv[1:]); sys.exit('rich.console' in sys.modules)"
    )

    done = subprocess.run(
        [sys.executable, "-c", script, "diagnose", dead, "--format", "json"], capture_output=True, check=False
    )

    assert (done.returncode, done.stderr) == (0, b"")


def test_a_finished_log_through_a_pipe(dead: str, alive: str) -> None:
    done = run("diagnose", "-", stdin=Path(dead).read_bytes())

    assert done.returncode == 3
    assert done.stdout.decode().startswith("stdin")
    assert done.stdout.decode().count("failed at graph capture: ") == 1
    with Path(alive).open("rb") as file:
        redirected = subprocess.run([*SGDOCTOR, "diagnose", "-"], stdin=file, capture_output=True, check=False)
    assert redirected.returncode == 0


def test_an_archive_through_a_pipe(dead: str) -> None:
    import gzip

    assert run("diagnose", "-", "--format", "json", stdin=gzip.compress(Path(dead).read_bytes())).returncode == 3


def test_nothing_through_a_pipe_is_said(dead: str) -> None:
    done = run("diagnose", "-")

    assert done.returncode == 2
    assert b"docker logs" in done.stderr


def test_a_growing_log_says_each_change_and_ends_with_the_verdict(dead: str) -> None:
    text = Path(dead).read_bytes()
    cut = text.index(b"Load weight end")
    with subprocess.Popen([*SGDOCTOR, "diagnose", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(text[: text.rindex(b"\n", 0, cut) + 1])
        process.stdin.flush()
        seen = b""
        while b"starting: " not in seen:
            seen += os.read(process.stdout.fileno(), 4096)
        process.stdin.write(text[text.rindex(b"\n", 0, cut) + 1 :])
        process.stdin.close()
        rest = process.stdout.read()

    assert process.returncode == 3
    assert rest.decode().splitlines()[-1].startswith("failed at graph capture: ")


def test_ctrl_c_gives_the_answer_so_far(alive: str) -> None:
    with subprocess.Popen([*SGDOCTOR, "diagnose", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(Path(alive).read_bytes())
        process.stdin.flush()
        seen = b""
        while b"healthy: " not in seen:
            seen += os.read(process.stdout.fileno(), 4096)
        process.send_signal(signal.SIGINT)
        rest = process.stdout.read()
        process.wait()

    assert process.returncode == 0
    assert b"healthy: " in rest


def test_a_reader_that_has_had_enough_is_no_error(dead: str) -> None:
    with subprocess.Popen(
        [*SGDOCTOR, "diagnose", *[dead] * 20, "--facts"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        errors = process.stderr.read()

    assert errors == b""
    assert process.returncode == 0


@pytest.mark.parametrize(
    "environment",
    [
        {"LC_ALL": "C", "LANG": ""},
        {"LC_ALL": "POSIX", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"LC_ALL": "zh_CN.UTF-8"},
        {"PYTHONIOENCODING": "ascii"},
        {"PYTHONIOENCODING": "latin-1", "NO_COLOR": "1", "COLUMNS": "60"},
        {"TERM": "dumb"},
    ],
)
def test_every_locale(dead: str, environment: dict[str, str]) -> None:
    for lang in ("en", "zh"):
        done = run("diagnose", dead, "--lang", lang, "--phases", "--notices", environment=environment)

        assert (done.returncode, done.stderr) == (3, b"")
        assert b"\x1b" not in done.stdout


def test_a_closed_standard_input_is_said() -> None:
    done = subprocess.run(
        ["sh", "-c", f"{sys.executable} -m sgdoctor diagnose - <&-"], capture_output=True, check=False
    )

    assert done.returncode == 2
    assert done.stderr.count(b"\n") == 1


def test_a_directory_a_binary_an_empty_file(tmp_path: Path) -> None:
    (tmp_path / "empty.log").touch()
    (tmp_path / "binary.log").write_bytes(bytes(range(256)) * 100)

    for target in (tmp_path, tmp_path / "empty.log", tmp_path / "binary.log"):
        done = run("diagnose", str(target))
        assert (done.returncode, done.stdout, done.stderr.count(b"\n")) == (2, b"", 1)


@pytest.mark.slow
def test_a_line_of_100_mb_and_a_log_of_hits_alone_have_an_answer(tmp_path: Path) -> None:
    (tmp_path / "line.log").write_bytes(b"CUDA out of memory. " * 5_000_000)
    (tmp_path / "hits.log").write_bytes(
        b"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB\n" * 800_000
    )

    for name in ("line.log", "hits.log"):
        done = subprocess.run(
            [*SGDOCTOR, "diagnose", str(tmp_path / name)], capture_output=True, check=False, timeout=60
        )

        assert done.returncode in (3, 5)
