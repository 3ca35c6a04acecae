"""Variables that are not set: named with their lines; refused where the launch cannot be told without them."""

import pytest

from sgdoctor.errors import UserError
from sgdoctor.launch.compose import ComposeDocument, open_compose
from sgdoctor.launch.compose.unset import refuse_unset, unset_in

HEAD = "services:\n  llm:\n    image: lmsysorg/sglang:latest\n    gpus: all\n"


def opened(text: str, **environment: str) -> ComposeDocument:
    return open_compose([("compose.yaml", text)], None, environment)


def refused(document: ComposeDocument) -> UserError:
    with pytest.raises(UserError) as caught:
        refuse_unset(document.name, document.project.services[document.service])
    return caught.value


@pytest.mark.parametrize(
    ("text", "named"),
    [
        (HEAD + "    command: sglang serve --model-path ${MODEL}\n", "MODEL (compose.yaml:5, `command`)"),
        (HEAD + "    command: >\n      sglang serve\n      --model-path $MODEL\n", "MODEL (compose.yaml:7, `command`)"),
        (HEAD + "    command: [sglang, serve, --model-path, '$MODEL']\n", "MODEL (compose.yaml:5, `command`)"),
        (HEAD + "    command: [sglang, serve, '$EXTRA_ARGS']\n", "EXTRA_ARGS (compose.yaml:5, `command`)"),
        (HEAD + "    command: sglang serve --tp=${ARGS}\n", "ARGS (compose.yaml:5, `command`)"),
        (HEAD.replace("latest", "${TAG}") + "    command: sglang serve\n", "TAG (compose.yaml:3, `image`)"),
        (HEAD + "    entrypoint: $RUN\n    command: sglang serve\n", "RUN (compose.yaml:5, `entrypoint`)"),
        (HEAD + "    command: sglang serve --model-path ${A:-${MODEL}}\n", "MODEL (compose.yaml:5, `command`)"),
    ],
)
def test_what_the_launch_is_not_known_without(text: str, named: str) -> None:
    error = refused(opened(text))

    assert f"compose.yaml:llm: not set: {named}; Compose puts nothing there." in error.en
    assert ".env" in error.en
    assert named.split(" ", maxsplit=1)[0] + "=... sgdoctor" in error.zh


@pytest.mark.parametrize(
    "text",
    [
        HEAD + "    command: sglang serve --model-path ${MODEL:-m}\n",
        HEAD + "    command: sglang serve --model-path m $EXTRA_ARGS\n",
        HEAD + "    command: [bash, -c, 'sglang serve --model-path m $EXTRA_ARGS']\n",
        HEAD + "    command: [bash, -c, 'sglang serve --model-path $$MODEL']\n",
        HEAD + "    command: sglang serve --model-path m\n    labels: {owner: $OWNER}\n",
        HEAD + "    command: sglang serve --model-path m\n  other:\n    image: $IMAGE\n",
    ],
)
def test_what_does_no_harm(text: str) -> None:
    document = opened(text)
    refuse_unset(document.name, document.project.services[document.service])


def test_a_value_of_the_shell_is_enough() -> None:
    document = opened(HEAD + "    command: sglang serve --model-path ${MODEL}\n", MODEL="m")

    assert [] == unset_in(document.project.services["llm"])


def test_a_variable_of_the_container_needs_two_dollars() -> None:
    text = HEAD + "    environment: {MODEL: m}\n    command: [bash, -c, 'sglang serve --model-path $MODEL']\n"

    assert "the container's own variable is written $$MODEL" in refused(opened(text)).en


def test_others_are_mentioned_once() -> None:
    text = (
        HEAD + "    command: sglang serve\n    labels:\n      - a=$OWNER\n      - b=$OWNER\n    environment: [A=$A]\n"
    )
    [problem] = [one for one in opened(text).problems if one.id == "variable-not-set"]

    assert "notice" == problem.severity
    assert problem.title.en.endswith(
        "OWNER (compose.yaml:7, `labels`), OWNER (compose.yaml:8, `labels`), A (compose.yaml:9, `environment`)"
    )


def test_a_field_that_cannot_be_read_without_it_names_it() -> None:
    text = HEAD + "    command: sglang serve\n    volumes: ['/models:${PLACE}']\n"
    with pytest.raises(UserError, match=r"compose.yaml:6: .*; not set: PLACE"):
        opened(text)
