"""``sgdoctor flags`` on the command line."""

import json
import re
from pathlib import Path

import pytest

from sgdoctor.cli.flag_texts import _TEXTS
from sgdoctor.cli.main import main
from tests.engines.flag_sources import ANNOTATED

COMMAND = ["python3", "-m", "sglang.launch_server", "--model-path", "x"]


@pytest.fixture(autouse=True)
def own_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("LANG", "C")
    return tmp_path / "data" / "sgdoctor" / "flags"


def _package(folder: Path) -> Path:
    for name, text in ANNOTATED.items():
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    return folder


def test_list_of_a_version(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["flags", "list", "radix", "--version", "v0.5.15"])

    output = capsys.readouterr().out
    assert code == 0
    assert "--mamba-radix-cache-strategy" in output
    assert output.endswith("6 flags of SGLang 0.5.15\n")


def test_list_as_json_and_of_a_version_between_two_known_ones(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["flags", "list", "--version", "0.5.6", "--format", "json"])

    output = capsys.readouterr()
    document = json.loads(output.out)
    assert code == 0
    assert (document["version"], document["exact"], len(document["flags"])) == ("0.5.5", False, 273)
    assert "0.5.6 is not known; this is 0.5.5" in output.err


def test_show_tells_what_a_flag_takes_and_its_names(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["flags", "show", "mamba_radix_cache_strategy", "--version", "0.5.15"])

    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        "--mamba-radix-cache-strategy",
        "  takes     one value (str)",
        "  choices   auto, no_buffer, extra_buffer, extra_buffer_lazy",
        "  default   auto",
        "  versions  0.5.14 and later",
        "  formerly  --mamba-scheduler-strategy",
    ]


def test_show_of_a_flag_that_is_gone(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["flags", "show", "--version", "0.5.23", "--", "--disable-piecewise-cuda-graph"])

    assert code == 0
    assert capsys.readouterr().out.splitlines() == [
        "--disable-piecewise-cuda-graph",
        "  versions   0.5.10.post1 to 0.5.19; not in 0.5.23",
        "  successor  --cuda-graph-backend-prefill disabled",
    ]


def test_show_of_no_flag_at_all(capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["flags", "show", "mem-fracton-static"])

    assert code == 2
    assert "did you mean --mem-fraction-static?" in capsys.readouterr().err


def test_show_suggests_nothing_that_only_shares_the_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    assert 2 == main(["flags", "show", "nope"])
    assert capsys.readouterr().err == "sgdoctor: no version has a flag --nope\n"


def test_one_flag_is_counted_in_the_singular(capsys: pytest.CaptureFixture[str]) -> None:
    main(["flags", "list", "mamba-radix-cache-strategy", "--version", "0.5.15"])

    assert "1 flag of SGLang 0.5.15" == capsys.readouterr().out.splitlines()[-1]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--cuda-graph-max", "8"], "`--cuda-graph-max-bs-decode`、`--cuda-graph-max-bs-prefill`"),
        (["--port", "1", "--port", "2"], "第 6、8 个词"),
        (["--lora-backend", "triton", "--max-lora-rank", "8"], "`--max-lora-rank`、`--lora-backend`"),
    ],
)
def test_chinese_items_are_listed_with_the_chinese_comma(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["flags", "check", "--version", "0.5.23", "--lang", "zh", "--format", "json", "--", *COMMAND, *words])

    assert said in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "last"),
    [
        ([*COMMAND, "--dtype", "bfloat16"], 0, "nothing is wrong with these flags for SGLang 0.5.15"),
        ([*COMMAND, "--dtype", "bf16"], 3, "1 problem for SGLang 0.5.15"),
        ([*COMMAND, "--mem-fraction", "0.9"], 0, "1 problem for SGLang 0.5.15"),
        (["--model", "x", "--dtype", "bf16", "--port"], 3, "2 problems for SGLang 0.5.15"),
        (["sglang serve --model x --dtype 'bf16'"], 3, "1 problem for SGLang 0.5.15"),
        (["bash", "-c", "exec sglang serve --model x --dtype bf16"], 3, "1 problem for SGLang 0.5.15"),
    ],
)
def test_check(words: list[str], code: int, last: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert code == main(["flags", "check", "--version", "0.5.15", "--", *words])
    assert last == capsys.readouterr().out.splitlines()[-1]


TAGGED = ["docker", "run", "--gpus", "all", "lmsysorg/sglang:v0.5.10", *COMMAND, "--cuda-graph-max-bs", "8"]


@pytest.mark.parametrize(
    ("arguments", "words", "code", "version", "source", "last"),
    [
        ([], TAGGED, 0, "0.5.9", "image", "the tag of lmsysorg/sglang:v0.5.10 says 0.5.10"),
        ([], [" ".join(TAGGED)], 0, "0.5.9", "image", "the tag of lmsysorg/sglang:v0.5.10 says 0.5.10"),
        (["--version", "0.5.23"], TAGGED, 3, "0.5.23", "asked", "1 problem for SGLang 0.5.23"),
        ([], COMMAND, 0, "0.5.23", "newest", "against 0.5.23, the newest known one: nothing here names a version"),
    ],
)
def test_check_against_the_version_in_the_tag_of_the_image(
    arguments: list[str],
    words: list[str],
    code: int,
    version: str,
    source: str,
    last: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert code == main(["flags", "check", *arguments, "--", *words])
    output = capsys.readouterr().out
    assert last in " ".join(output.split())
    assert output.splitlines()[-1].endswith(f" SGLang {version}")
    main(["flags", "check", *arguments, "--format", "json", "--", *words])
    document = json.loads(capsys.readouterr().out)
    assert (version, source) == (document["version"], document["version_from"])


def test_check_shows_place_reason_and_change(capsys: pytest.CaptureFixture[str]) -> None:
    main(["flags", "check", "--version", "0.5.15", "--lang", "zh", "--", *COMMAND, "--dtype", "bf16"])

    assert capsys.readouterr().out.splitlines() == [
        "致命  第 6 个词：`bf16` 不是 `--dtype` 的可选值",
        "      可选值：auto、half、float16、bfloat16、float、float32。",
        "      ↳ --dtype bfloat16",
        "对 SGLang 0.5.15 来说有 1 个问题",
    ]


@pytest.mark.parametrize(
    "command",
    [
        ["python3", "-m", "sglang.launch_server", "--config", "{here}/a.yaml"],
        ["docker", "run", "-v", "{here}:/cfg", "lmsysorg/sglang:v0.5.15", "sglang", "serve", "--config", "/cfg/a.yaml"],
        ["docker run -v {here}:/cfg lmsysorg/sglang:v0.5.15 sglang serve --config /cfg/a.yaml"],
        ["--config", "{here}/a.yaml"],
    ],
)
def test_check_reads_the_file_of_config(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text("tp-size: two\n")
    words = [word.format(here=tmp_path) for word in command]
    code = main(["flags", "check", "--version", "0.5.15", "--format", "json", "--", *words])

    document = json.loads(capsys.readouterr().out)
    assert 3 == code
    assert document["config"]["read"]
    assert ["value-type", "flag-missing"] == [one["id"] for one in document["problems"]]
    assert document["problems"][0]["where"] == f"{document['config']['file']}: `tp-size`"
    assert "two" not in document["argv"]


def test_check_says_that_the_file_of_config_is_out_of_sight(capsys: pytest.CaptureFixture[str]) -> None:
    assert 0 == main(["flags", "check", "--version", "0.5.15", "--", *COMMAND, "--config", "nowhere.yaml"])
    assert "nowhere.yaml (--config) says is not known" in capsys.readouterr().out


def test_check_refuses_a_file_of_config_that_is_too_large(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.yaml").write_text("# filling\n" * (1 << 17))

    assert 2 == main(["flags", "check", "--", *COMMAND, "--config", str(tmp_path / "a.yaml")])
    (line,) = capsys.readouterr().err.splitlines()
    assert "larger than 1 MiB" in line


def test_check_as_json_hides_secrets(capsys: pytest.CaptureFixture[str]) -> None:
    words = [*COMMAND, "--api-key", "first-key", "--api-key=second-key"]
    main(["flags", "check", "--version", "0.5.15", "--format", "json", "--", *words])

    output = capsys.readouterr().out
    (problem,) = json.loads(output)["problems"]
    assert (problem["id"], problem["severity"], problem["where"]) == ("flag-repeated", "error", "words 6, 8")
    assert "first-key" not in output
    assert "second-key" not in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["check", "--", "ls", "-l"], "no SGLang command"),
        (["check", "--", "vllm", "serve", "x"], "this starts vllm"),
        (["check", "--", "sglang serve 'x"], "is not closed"),
        (["check", "--version", "../x", "--", "--model", "x"], "../x is not a version"),
        (["list", "zzz"], "has zzz in its name"),
        (["check", "--max-running-requests", "4"], "behind `--`: sgdoctor flags check -- ..."),
        (["check", "--disable-radix-cache"], "usage: sgdoctor flags check -- COMMAND"),
        (["check", "--formt", "json", "x"], "did you mean --format?"),
        (["add", "/no/such/file"], "there is no such file"),
        (["add"], "give a wheel"),
        (["add", "x", "--image", "y"], "only one"),
    ],
)
def test_bad_use(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["flags", *arguments]) == 2
    errors = capsys.readouterr().err
    assert len(errors.splitlines()) == 1
    assert message in errors


def test_add_and_use_a_version(tmp_path: Path, own_data_folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package = _package(tmp_path / "source")

    assert main(["flags", "add", str(package)]) == 2
    assert "say their version" in capsys.readouterr().err
    assert main(["flags", "add", str(package), "--version", "v0.6.0"]) == 0
    assert capsys.readouterr().out == f"SGLang 0.6.0: 15 flags, kept in {own_data_folder / '0.6.0.json'}\n"
    assert main(["flags", "check", "--", "--model", "x", "--phase", "ful"]) == 3
    assert capsys.readouterr().out.splitlines()[-1] == "1 problem for SGLang 0.6.0"


def test_both_languages_fill_in_the_same_names() -> None:
    for key, (english, chinese) in _TEXTS.items():
        assert set(re.findall(r"{(\w+)}", english)) == set(re.findall(r"{(\w+)}", chinese)), key
        assert re.search(r"[\u4e00-\u9fff]", chinese) or key == "at", key


@pytest.mark.parametrize("words", [["--tp"], ["tp"], ["--", "--tp"], ["--version", "0.5.15", "--tp", "--lang", "en"]])
def test_a_flag_may_be_shown_as_it_is_typed(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["flags", "show", *words])

    assert code == 0
    assert capsys.readouterr().out.startswith("--tp-size")
