"""The card: complete, narrow if need be, and never steered by the log."""

import io
import re
from typing import Any

import pytest
from rich.cells import cell_len

from sgdoctor.diagnosis.model import Evidence, State, Verdict
from sgdoctor.engines.base import Fact
from sgdoctor.report.canvas import console_for
from sgdoctor.report.text import Options, print_verdict
from sgdoctor.texts import Text
from tests.report.samples import TOKEN, verdict


class Output(io.TextIOWrapper):
    """A stream of bytes in a given encoding, like a terminal that knows no other."""

    def __init__(self, encoding: str = "utf-8", *, tty: bool = False) -> None:
        self.bytes = io.BytesIO()
        self.tty = tty
        super().__init__(self.bytes, encoding=encoding, errors="replace", write_through=True)

    def isatty(self) -> bool:
        return self.tty

    @property
    def text(self) -> str:
        return self.bytes.getvalue().decode(self.encoding)


def printed(
    *,
    columns: int = 80,
    encoding: str = "utf-8",
    tty: bool = False,
    environment: dict[str, str] | None = None,
    of: Verdict | None = None,
    **options: Any,
) -> str:
    output = Output(encoding, tty=tty)
    variables = {"COLUMNS": str(columns), "LINES": "40", "TERM": "xterm-256color", **(environment or {})}
    print_verdict(console_for(output, variables), of or verdict(), "some.log", Options(**options))
    return output.text


def test_the_card_holds_cause_proof_fix_cost_and_the_verdict_last() -> None:
    lines = printed().splitlines()
    text = "\n".join(lines)

    for part in (
        "The state cache of the hybrid model does not fit",
        "SGL402 state-cache-small · fatal · certain · TP0, TP1 · 2 times",
        "812 │ RuntimeError:",
        "810 │ before one",
        "--mem-fraction-static 0.92",
        "remove --x",
        "Less room for graphs.",
        "Only consequences: It was told to die (line 840)",
        "attempt 3 of 3",
        "Fixed in SGLang 0.5.20: upgrade (0.5.15 runs here).",
    ):
        assert part in text
    assert lines[-1] == "failed: The start failed at state cache: it does not fit."


def test_markup_escapes_and_emoji_codes_of_the_log_are_only_text() -> None:
    text = printed()

    assert "[bold red]x[/] :smile:" in " ".join(text.split())
    assert not {"\x1b", "\x07", "\u202e"} & set(text)


def test_the_only_escapes_on_a_terminal_are_our_own_colours() -> None:
    text = printed(tty=True)

    assert "\x1b[" in text
    assert "\x1b]" not in text
    assert "\x1b[31m\x1b]0" not in text


def test_no_color() -> None:
    text = printed(tty=True, environment={"NO_COLOR": "1"})

    assert "\x1b[3" not in text
    assert "\x1b[9" not in text


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("columns", [60, 40])
def test_narrow_screens(lang: str, columns: int) -> None:
    text = printed(
        columns=columns, tty=True, environment={"NO_COLOR": "1"}, lang=lang, phases=True, facts=True, notices=True
    )
    plain = text.replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[2m", "")

    assert max(cell_len(line) for line in _without_styles(plain).splitlines()) <= columns


def test_long_names_of_facts_fit_a_narrow_screen() -> None:
    name = "args.speculative_ngram_external_corpus_max_tokens"
    text = printed(columns=40, tty=True, facts=True, of=verdict(facts={name: Fact(name, 10_000_000, 7)}))

    lines = _without_styles(text).splitlines()
    assert max(map(cell_len, lines)) <= 40 < cell_len(name)
    assert "1e+07" in "".join(lines) or "10000000" in "".join(lines)


def _without_styles(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


def test_an_ascii_terminal_gets_ascii() -> None:
    text = printed(encoding="ascii", phases=True)

    assert "812 | RuntimeError" in text
    assert "x The state cache" in text


def test_chinese_on_an_ascii_terminal_does_not_fail() -> None:
    assert printed(encoding="ascii", lang="zh").count("?") > 10


def test_chinese() -> None:
    lines = printed(lang="zh").splitlines()

    assert "混合模型的状态缓存放不下" in "\n".join(lines)
    assert lines[-1] == "失败：启动在“状态缓存”阶段失败。"


def test_secrets_are_hidden_unless_asked_for() -> None:
    assert TOKEN not in printed(facts=True)
    assert "my-own-secret" not in printed(facts=True)
    assert TOKEN in printed(redact=False).replace("\n", "").replace(" ", "")
    assert "my-own-secret" in printed(facts=True, redact=False)


def test_harmless_lines_are_folded_and_unfolded() -> None:
    assert "Because." not in printed()
    assert "--notices" in printed()
    assert "SGL911  Harmless (3 times) · line 77" in printed(notices=True)


def test_phases_and_facts() -> None:
    text = printed(phases=True, facts=True)

    assert "13.3 s    19.05 GiB" in text
    assert "weights_gib" in text
    assert "a, b" in text


def test_an_unexplained_error_is_quoted() -> None:
    text = printed(of=verdict(state=State.UNDETERMINED, diagnoses=(), unexplained=Evidence(9, "ValueError: who knows")))

    assert "9 │ ValueError: who knows" in text


def test_what_would_decide_stands_before_the_verdict() -> None:
    text = printed(
        of=verdict(state=State.UNDETERMINED, diagnoses=(), would_decide=Text("The whole log.", "完整日志。"))
    )

    assert text.splitlines()[-3] == "The whole log."


def test_the_verdict_in_a_pipe_is_one_line_however_long() -> None:
    text = printed(columns=60, of=verdict(summary=Text("word " * 40 + "end.", "")))

    assert text.splitlines()[-1] == "failed: " + "word " * 40 + "end."


def test_a_version_that_was_only_narrowed_down_is_called_a_guess() -> None:
    facts = {"version_min": Fact("version_min", "0.5.15", 1), "version_max": Fact("version_max", "0.5.16", 1)}

    english = printed(columns=110, of=verdict(version="0.5.15-0.5.16", facts=facts))
    chinese = printed(columns=110, of=verdict(version=">=0.5.15", facts=facts), lang="zh")

    assert "sglang 0.5.15 to 0.5.16 by its arguments" in english.splitlines()[0]
    assert "sglang 0.5.15 或更高（据参数推断）" in chinese.splitlines()[0]


def test_a_fix_without_a_cost_says_nothing_about_it() -> None:
    free = verdict().diagnoses[0]
    free = free._replace(fixes=(free.fixes[0]._replace(effect=Text("None.", "无。")),))

    assert "Cost" in printed()
    assert "Cost" not in printed(of=verdict(diagnoses=(free,)))


def test_the_last_line_is_one_sentence_where_the_verdict_has_one() -> None:
    closing = Text("failed at state cache: it does not fit.", "启动失败（状态缓存阶段）：放不下。")

    assert closing.en == printed(of=verdict(closing=closing)).splitlines()[-1]
    assert closing.zh == printed(of=verdict(closing=closing), lang="zh").splitlines()[-1]
