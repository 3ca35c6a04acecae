"""Commands are read as they were meant; what stands in quotes, comments and here-documents is left alone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.launch.typography import REPAIR, repaired


@pytest.mark.parametrize(
    ("text", "expected", "kinds"),
    [
        ("docker run –gpus all ‑it —name x –p 1:2", "docker run --gpus all -it --name x -p 1:2", ["typographic-dash"]),
        ("a ––tp 1 －－dtype half −m b", "a --tp 1 --dtype half -m b", ["typographic-dash"]),
        ("a --mem‑fraction‑static 0.9", "a --mem-fraction-static 0.9", ["typographic-dash"]),
        ("a “b c” ‘d’", "a \"b c\" 'd'", ["typographic-quote"]),
        ("a ‘{“x”: “y”}’", 'a \'{"x": "y"}\'', ["typographic-quote"]),
        ("a '{“x”: 1}'", "a '{\"x\": 1}'", ["typographic-quote"]),
        ("a\u00a0b\u3000c\u202fd", "a b c d", ["odd-blank"]),
        ("a\u200b --b\ufeff", "a --b", ["invisible-character"]),
        ('a --j {"b": {"c": [1]}} d', 'a --j \'{"b": {"c": [1]}}\' d', ["json-without-quotes"]),
        ('a --j={"b":1}', "a --j='{\"b\":1}'", ["json-without-quotes"]),
        ('a "{"b": "c"}"', 'a \'{"b": "c"}\'', ["json-without-quotes"]),
        ("a {“b”: 1}", "a '{\"b\": 1}'", ["json-without-quotes"]),
        ("a \\ \n  --b", "a \\\n  --b", ["blank-behind-backslash"]),
        ("a \\\u00a0\n  --b", "a \\\n  --b", ["odd-blank", "blank-behind-backslash"]),
        ("a \\\r\n  --b\r\n", "a \\\n  --b\n", ["windows-line-ends"]),
        ("a \\\n  # why\n  --b", "# why\na \\\n  --b", ["comment-in-command"]),
        ("x\na \\ # why\n  --b", "x\n# why\na \\\n  --b", ["comment-in-command"]),
        ("a --b # why \\\n  --c", "# why\na --b \\\n  --c", ["comment-in-command"]),
        ("a \\\n# why \\\n  image \\\n  --b", "# why \\\na \\\n  image \\\n  --b", ["comment-in-command"]),
        ("a \\\n\n  --b", "a \\\n  --b", ["blank-line-in-command"]),
        ("a # why\n  --b", "# why\na \\\n  --b", ["comment-in-command"]),
        ("a --b\n# why\n  --c", "# why\na --b \\\n  --c", ["comment-in-command", "no-backslash"]),
        (
            "case $1 in\n  --x)\n    y ;;\nesac\na\n --b $(c)",
            "case $1 in\n  --x)\n    y ;;\nesac\na \\\n --b $(c)",
            ["no-backslash"],
        ),
        ("A=(b)\na\n  --b", "A=(b)\na \\\n  --b", ["no-backslash"]),
        ("a\n  --b 1\n  -c\nd", "a \\\n  --b 1 \\\n  -c\nd", ["no-backslash"]),
    ],
)
def test_what_is_put_right(text: str, expected: str, kinds: list[str]) -> None:
    result = repaired(text)

    assert expected == result.text
    assert kinds == [problem.id for problem in result.problems]
    assert all(problem.changes == (REPAIR,) for problem in result.problems)


@pytest.mark.parametrize(
    "text",
    [
        "a '“b” – c' \"– ’\" # – “x” \u00a0",
        "a <<E\n– “b”\n--c\nE\nd",
        "a <<'E' | b\n\u00a0{\"x\": 1}\nE\n",
        "a '{\"b\": 1}' --c='{}'",
        "a {b,c} ${d} $(e) { f; }",
        "a /models/模型—一 --b x–y",
        "a \\\n  --b\n\n# c\nd --e\n",
        "a \\\n# end\nb",
        "echo a\n# b\nc \\\n  --d",
        "echo a # b\nc \\\n  --d",
        "a 'b \\ \n  --c\n# d'",
        "A=(--b /x\n  --c ')' # why\n  --d)\ne \"${A[@]}\"",
        "a\r\nb --c\r\n",
        "echo It’s up\nb --c 'd'",
        "echo ‘a\nb’",
        "a --b \\\\\n--",
        "- a\n-1",
        "case $1 in\n  --tp)\n    tp=$2\n    ;;\n  -h | --help)\n    exit ;;\n  --port=*|-p*)\n    p=${1#*=} ;;\nesac",
        "",
    ],
)
def test_what_is_left_alone(text: str) -> None:
    result = repaired(text)

    assert text == result.text
    assert () == result.problems


def test_places_are_those_of_the_text_as_written() -> None:
    result = repaired("x\na \\\n\n  # why\n  –bb 1 \\\n  –cc")

    assert "x\n# why\na \\\n  --bb 1 \\\n  --cc" == result.text
    assert {
        "typographic-dash": "lines 5, 6",
        "comment-in-command": "line 4",
        "blank-line-in-command": "line 3",
    } == {problem.id: problem.where.en for problem in result.problems if problem.where}
    assert [1, 4, 2, 5, 6] == list(result.numbers)
    assert 5 == result.line(result.text.index("--bb"))


def test_the_words_that_are_wrong_are_named() -> None:
    [problem] = repaired("a –b ——c “ –d –e").problems

    assert "Typographic dash in place of a hyphen: –b ——c –d …" == problem.title.en
    assert problem.title.zh.endswith("–b ——c –d …")
    assert ("fatal", "SGL107") == (problem.severity, problem.rule)


@given(st.text("ab -–\\\n#{}: 1\r<E", max_size=40))
def test_a_repaired_text_needs_no_repair(text: str) -> None:
    once = repaired(text)

    again = repaired(once.text)
    assert (once.text, ()) == (again.text, again.problems)
    assert len(once.numbers) == once.text.count("\n") + 1
    assert (once.text == text) == (once.problems == ())
