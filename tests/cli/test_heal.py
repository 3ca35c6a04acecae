"""The report of ``heal``, and what its command line refuses."""

import pytest

from sgdoctor.cli.heal_report import Report, as_data, as_markdown, print_report
from sgdoctor.cli.main import main
from sgdoctor.launch.change import Change
from sgdoctor.redaction import redactor
from sgdoctor.relaunch.heal.model import End, Healing, Identity, Result, Stop, Try
from sgdoctor.report.canvas import Canvas, console_for
from sgdoctor.texts import Text
from sgdoctor.verify.model import Check, Grade, Verification

WHY = Text("Too large <b>.", "太大。")
CHANGE = Change("flag.set", "--mem-fraction-static", "0.92")
KEY = Change("flag.set", "--api-key", "sk-1234567890abcdef")
CHECK = Check("chat", Grade.PASSED, Text("it answers a question", "回答问题"), Text("At six.", "At six."), 1.0)
FOUND = Try(0, Identity("a"), Result.FAILED, rule="SGL401", reason=WHY)


def report(end: End, *tries: Try, lang: str = "en", verify: bool = True) -> Report:
    healing = Healing((FOUND, *tries), Stop(end, WHY), 65.0)
    return Report("sgl", healing, verify, lang, redactor({"sk-1234567890abcdef"}))


def relaunched(result: Result) -> Try:
    return Try(1, Identity("b"), result, (CHANGE, KEY), verification=Verification((CHECK,)), log="/x.log", seconds=60.0)


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("end", list(End))
def test_every_end_is_one_line_in_both_languages(end: End, lang: str) -> None:
    for tries in ((), (relaunched(Result.FAILED),)):
        line = report(end, *tries, lang=lang).closing

        assert line.startswith("sgl")
        assert not set(line) & set("{}\n")
        assert line.isascii() is (lang == "en")


def test_container_that_is_as_before_is_said_to_be_so() -> None:
    tried, untouched = report(End.LIMIT, relaunched(Result.FAILED)).closing, report(End.MANUAL).closing

    assert tried.endswith("Everything is as before.")
    assert untouched.endswith("Nothing was touched.")
    assert "as before" not in report(End.VERIFIED, relaunched(Result.VERIFIED)).closing


@pytest.mark.parametrize(
    ("end", "verify", "code"),
    [
        (End.VERIFIED, True, 0),
        (End.SERVES, True, 4),
        (End.SERVES, False, 0),
        (End.LIMIT, True, 3),
        (End.DOES_NOT_FIT, True, 3),
        (End.UNDETERMINED, True, 5),
        (End.REFUSED, True, 2),
        (End.NOT_AGREED, True, 2),
        (End.IDLE, True, 0),
        (End.OPEN, True, 4),
        (End.STOPPED, True, 130),
    ],
)
def test_exit_codes(end: End, verify: bool, code: int) -> None:
    assert code == report(end, verify=verify).exit_code


def test_report_as_text(capsys: pytest.CaptureFixture[str]) -> None:
    import sys

    print_report(Canvas(console_for(sys.stdout), "en"), report(End.VERIFIED, relaunched(Result.VERIFIED)))
    said = capsys.readouterr().out

    assert "As it was found: failed\n" in said
    assert "Relaunch 1: ready and verified after 1 min 0 s\n" in said
    assert "--mem-fraction-static 0.92" in said
    assert "it answers a question: At six." in said
    assert "sk-1234567890abcdef" not in said
    assert "sgl is healed after one relaunch and 1 min 5 s" in said.splitlines()[-1]


def test_report_as_markdown() -> None:
    text = as_markdown(report(End.LIMIT, relaunched(Result.FAILED)))

    assert text.startswith("# sgl\n\nsgl: not healed.")
    assert "- SGL401 Too large &lt;b>." in text
    assert "sk-1234567890abcdef" not in text


def test_report_as_data() -> None:
    data = as_data(report(End.VERIFIED, relaunched(Result.VERIFIED)))
    found, tried = data["tries"]

    assert (1, "verified", True, 1) == (data["schema"], data["end"], data["changed"], data["relaunches"])
    assert (None, "SGL401") == (found["verified"], found["rule"])
    assert (True, "***") == (tried["verified"], tried["changes"][1]["value"])


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["--max-attempts", "0"], "--max-attempts"),
        (["--max-attempts", "many"], "--max-attempts"),
        (["--deadline", "soon"], "--deadline"),
        (["--deadline", "0"], "--deadline"),
    ],
)
def test_refused_arguments(words: list[str], named: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["heal", "sgl", *words])
    assert named in capsys.readouterr().err
