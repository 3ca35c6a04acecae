"""Every message exists in both languages and has the same places to fill in."""

import re
from pathlib import Path

from sgdoctor.diagnosis.model import State
from sgdoctor.diagnosis.wording import PHASES, state_label
from sgdoctor.engines.base import PhaseName
from sgdoctor.fixes.model import Basis
from sgdoctor.launch.change import KINDS, Change
from sgdoctor.launch.model import Origin
from sgdoctor.messages import MESSAGES, language, say
from sgdoctor.preflight.model import Area
from sgdoctor.report.wording import change_text
from sgdoctor.rules.model import Confidence, Severity


def test_both_languages_fill_in_the_same_names() -> None:
    for key, (english, chinese) in MESSAGES.items():
        assert english, key
        assert re.search(r"[\u4e00-\u9fff]", chinese) or key in (
            "report.memory",
            "error",
            "explain.severity",
            "report.each_file",
        ), key
        assert set(re.findall(r"{(\w+)}", english)) == set(re.findall(r"{(\w+)}", chinese)), key


def test_every_message_is_used_and_every_used_message_exists() -> None:
    source = "\n".join(
        path.read_text("utf-8")
        for folder in ("cli", "report", "diagnosis")
        for path in (Path(__file__).parents[2] / "src" / "sgdoctor" / folder).glob("*.py")
    )
    built = (
        *("severity.", "confidence.", "safety.", "change.", "help.", "diagnose.", "metavar.", "basis."),
        *("fix.origin.", "fix.memory.", "preflight.area.", "preflight.unchecked."),
    )

    unused = [key for key in MESSAGES if f'"{key}"' not in source and not key.startswith(built)]

    assert unused == []


def test_every_name_of_the_model_has_its_words() -> None:
    for lang in ("en", "zh"):
        for severity in Severity:
            assert say(lang, f"severity.{severity.value}")
        for confidence in Confidence:
            assert say(lang, f"confidence.{confidence.value}")
        for safety in ("safe", "unsafe", "manual"):
            assert say(lang, f"safety.{safety}")
        for basis in Basis:
            assert say(lang, f"basis.{basis.value}")
        for origin in Origin:
            assert say(lang, f"fix.origin.{origin.value}")
        for area in Area:
            assert say(lang, f"preflight.area.{area.value}")
        for kind in KINDS:
            assert change_text(Change(kind, "NAME", "1"), lang)
    assert set(PHASES) == set(PhaseName)
    assert all(state_label(state).zh for state in State)


def test_changes_read_as_they_are_typed() -> None:
    texts = [
        change_text(change, "en")
        for change in (
            Change("flag.set", "--dtype", "bfloat16"),
            Change("flag.set", "--json", "{a b}"),
            Change("flag.set", "--enable-x"),
            Change("flag.lower", "--mem-fraction-static"),
            Change("env.set", "X", "a b"),
            Change("docker.shm_size", value="16g"),
            Change("docker.ulimit", "memlock", "-1"),
            Change("package.pin", "transformers", "5.12.1"),
            Change("package.pin", "transformers", "<5.13"),
            Change("wait"),
        )
    ]

    assert texts == [
        "--dtype bfloat16",
        "--json '{a b}'",
        "--enable-x",
        "lower --mem-fraction-static",
        "X='a b'",
        "--shm-size 16g",
        "--ulimit memlock=-1",
        "pip install 'transformers==5.12.1'",
        "pip install 'transformers<5.13'",
        "wait",
    ]


def test_the_language_of_a_command_line() -> None:
    chinese = {"LANG": "zh_CN.UTF-8"}

    assert language([], {}) == "en"
    assert language([], chinese) == "zh"
    assert language([], {**chinese, "LC_ALL": "C"}) == "en"
    assert language(["--lang", "zh"], {}) == "zh"
    assert language(["diagnose", "--lang=en", "x"], chinese) == "en"
    assert language(["diagnose", "--", "--lang", "en"], chinese) == "zh"
    assert language(["--lang"], chinese) == "zh"
