"""Which answers of a model are none."""

from typing import Any

import pytest

from sgdoctor.verify.answers import fault_of_chat, fault_of_text


@pytest.mark.parametrize(
    "text",
    [
        "The baker opens at six.",
        "面包师早上六点开门。",
        "6",
        "The user asks when the shop opens. It says six in the morning, so six. </think>\n\nAt six in the morning.",
        "Six! Six! Six o'clock!",
        "哈哈哈哈，六点。",
        "**Answer**\n\n----------\n\nAt 6:00 in the morning, as the text says.",
        "1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16",
        "xkcd qwzf plmn trbv ghjk",
    ],
)
def test_answers(text: str) -> None:
    assert fault_of_text(text) is None


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("!!!!", "`!`"),
        ("!" * 64, "`!`"),
        ("the the the the the the the the the the", "`the`"),
        ("的的的的的的的的的的的的", "`的`"),
        ("Sure. " + "and then and then " * 12, "`and then`"),
        ("\n".join(["<unk>"] * 20), "`<unk>`"),
        ("\ufffd\ufffda\ufffd", "broken characters"),
        ("", "nothing"),
        (" \n\t", "nothing"),
        (". . . . . . .", "`.`"),
    ],
)
def test_no_answers(text: str, named: str) -> None:
    fault = fault_of_text(text)

    assert fault is not None
    assert named in fault.en


def chat(finish: Any = "stop", **message: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"role": "assistant", **message}, "finish_reason": finish}]}


@pytest.mark.parametrize(
    "data",
    [
        chat(content="Six."),
        chat(content=None, reasoning_content="The user asks for a time"),
        chat(content="", reasoning_content="The user asks for a time", finish="length"),
    ],
)
def test_chat(data: Any) -> None:
    assert fault_of_chat(data) is None


@pytest.mark.parametrize(
    ("data", "named"),
    [
        (chat(content="", reasoning_content=None), "nothing"),
        (chat(content=None), "nothing"),
        (chat(content="Six.", reasoning_content="!" * 40), "over and over"),
        (chat(content="Six.", finish="abort"), "abort"),
        (chat(content="Six.", finish=None), "None"),
        ({"choices": []}, "OpenAI"),
        ({"error": "x"}, "OpenAI"),
        (None, "OpenAI"),
        ([], "OpenAI"),
    ],
)
def test_no_chat(data: Any, named: str) -> None:
    fault = fault_of_chat(data)

    assert fault is not None
    assert named in fault.en
