"""Words are split as a shell splits them, know their places, and can be changed in place."""

import shutil
import subprocess

import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from sgdoctor.errors import UserError
from sgdoctor.launch.shell import Splice, Word, line_of, quoted, splice_inside, spliced, splices_inside, words

BASH = shutil.which("bash")
texts = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=12)


def bash(*arguments: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run([str(BASH), *arguments], capture_output=True, check=False)


def values(text: str) -> list[str]:
    return [word.text for word in words(text)]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a  b\tc", ["a", "b", "c"]),
        ("a'b c'\"d e\"f", ["ab cd ef"]),
        ("a \\\n  b\\\nc", ["a", "bc"]),
        ("a\\ b \\'", ["a b", "'"]),
        ("a # no 'comment\nb #", ["a", "\n", "b"]),
        ("a \\", ["a"]),
        ("a#b", ["a#b"]),
        ("a `# why` \\\n  b `#c`", ["a", "b"]),
        ("a `#b`c x`#d`", ["a", "`#b`c", "x`#d`"]),
        ("'' \"\"", ["", ""]),
        ('x="a \\" \\$b \\q"', ['x=a " $b \\q']),
        ("$'a\\tb\\'\\x41\\101\\u4e2d'", ["a\tb'AA中"]),
        ('$"hello"', ["hello"]),
        ("a $b ${c:-d e} $(f 'g)' $(h)) `i j`", ["a", "$b", "${c:-d e}", "$(f 'g)' $(h))", "`i j`"]),
        ("$((1+2)) 5$ $", ["$((1+2))", "5$", "$"]),
        ("a|b||c&d&&e;f", ["a", "|", "b", "||", "c", "&", "d", "&&", "e", ";", "f"]),
        ("a 2>&1 >>b 3<c &>d", ["a", "2>&", "1", ">>", "b", "3<", "c", "&>", "d"]),
        ("(a)", ["(", "a", ")"]),
        ("a <<E; b\n'\nE\nc", ["a", "<<", "E", ";", "b", "\n", "c"]),
        ("a <<-'E' <<F\n\tE\nF\nc", ["a", "<<-", "E", "<<", "F", "\n", "c"]),
        ("", []),
    ],
)  # fmt: skip
def test_values(text: str, expected: list[str]) -> None:
    assert expected == values(text)


@pytest.mark.parametrize(
    ("text", "expands"),
    [
        ("$a", True), ('"$a"', True), ("'$a'", False), ("\\$a", False), ("~/x", True), ("x~", False), ("`a`", True),
        ("a$", False), ("$'a'", False), ('"a `b`"', True), ("$?", True),
    ],
)  # fmt: skip
def test_what_expands(text: str, expands: bool) -> None:
    [word] = words(text)

    assert expands == word.expands


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\n'b", "line 2: ' is not closed"),
        ('a "b\nc', 'line 1: " is not closed'),
        ("\n\n$(a", "line 3: $( is not closed"),
        ("${a", "line 1: ${ is not closed"),
        ("`a", "line 1: ` is not closed"),
        ("$'a", "line 1: $' is not closed"),
        ("a\ncat <<E\nb\n", "line 2: here-document is not closed"),
        ("cat <<E", "line 1: here-document is not closed"),
    ],
)
def test_what_is_not_closed(text: str, message: str) -> None:
    with pytest.raises(UserError) as error:
        words(text)

    assert message == error.value.en
    assert "没有结束" in error.value.zh


@given(st.text("ab '\"\\\n$(){}`|&;<>#~=-é", max_size=24))
def test_places_are_those_of_the_text(text: str) -> None:
    try:
        found = words(text)
    except UserError:
        assume(False)

    ends = [0]
    for word in found:
        assert text[word.start : word.end] == word.raw
        assert word.start >= ends[-1]
        ends.append(word.end)
        if not word.operator:
            assert word.text == "".join(piece.text for piece in word.pieces)


@pytest.mark.skipif(BASH is None, reason="there is no bash")
@settings(max_examples=60, deadline=None)
@given(st.text("ab '\"\\\n#=-{", min_size=1, max_size=16))
@example("a\\\nb # c\n'd'")
def test_values_are_those_of_bash(text: str) -> None:
    try:
        found = words(f"X {text}\n")
    except UserError:
        assert 0 != bash("-n", "-c", f"X {text}\n").returncode
        return

    printed = bash("-c", "X() { printf '%s\\0' \"$@\"; exit; }\nX " + text + "\n").stdout.decode()

    first = next((index for index, word in enumerate(found) if word.operator), len(found))
    assert ("".join(f"{word.text}\0" for word in found[1:first]) or "\0") == printed


@given(st.lists(texts), st.sampled_from(["", "'x'", '"x"', "x", "$'x'", "--x=1"]))
def test_what_is_quoted_is_read_as_it_was(given_values: list[str], like: str) -> None:
    text = " ".join(quoted(value, like) for value in given_values)

    assert given_values == values(text)
    assert not any(word.expands or word.operator for word in words(text))


@pytest.mark.parametrize(
    ("value", "like", "expected"),
    [
        ("0.9", "0.8", "0.9"),
        ("0.9", '"0.8"', '"0.9"'),
        ("0.9", "'0.8'", "'0.9'"),
        ("a b", "x", "'a b'"),
        ("a'b", "'x'", "'a'\"'\"'b'"),
        ('a"$b', '"x"', "'a\"$b'"),
        ("it's $b", '"x"', '"it\'s \\$b"'),
        ("--x=2", "--x='1'", "--x='2'"),
        ("A=b c", 'A="d"', 'A="b c"'),
        ("A=b", "'A=d e'", "'A=b'"),
        ("模型/一", "x", "模型/一"),
        ("", "x", "''"),
    ],
)
def test_quotes_are_kept(value: str, like: str, expected: str) -> None:
    assert expected == quoted(value, like)


@given(st.lists(texts, min_size=1, max_size=3), st.sampled_from(["", "'x'", '"x"']), st.data())
def test_a_value_is_changed_in_place(parts: list[str], like: str, data: st.DataObject) -> None:
    source = "a " + "".join(quoted(part, like) for part in parts) + " b"
    word = words(source)[1]
    start = data.draw(st.integers(0, len(word.text)))
    end = data.draw(st.integers(start, len(word.text)))
    new = data.draw(texts)

    result = spliced(source, splices_inside(word, [Splice(start, end, new)]))

    assert ["a", word.text[:start] + new + word.text[end:], "b"] == values(result)


def test_the_rest_of_a_quoted_script_stays_as_it_is() -> None:
    source = 'bash -c "echo \\"a\\" \\\n  --x 1 \'b\' \\$C"'
    word: Word = words(source)[2]
    at = word.text.index("1")

    splice = splice_inside(word, at, at + 1, '"2"')

    assert source.replace("1", '\\"2\\"') == spliced(source, [splice])


def test_splices_at_one_place_keep_their_order() -> None:
    assert "a12b3" == spliced("abc", [Splice(1, 1, "1"), Splice(1, 1, "2"), Splice(2, 3, "3")])


def test_lines_are_counted_from_one() -> None:
    assert [1, 1, 2] == [line_of("a\nb", index) for index in (0, 1, 2)]
