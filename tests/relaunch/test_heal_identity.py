"""Which launches are the same."""

import pytest

from sgdoctor.fixes.model import WrittenFile
from sgdoctor.launch.model import Launch, Mount, Origin
from sgdoctor.relaunch.heal.identity import identity_of
from sgdoctor.relaunch.heal.model import Identity
from sgdoctor.texts import Text
from tests.launch.tables import FLAGS

BASE = "--model-path /m --mem-fraction-static 0.9 --dtype half"


def identity(words: str, content: bytes = b"", **options: object) -> Identity:
    argv = ("python3", "-m", "sglang.launch_server", *words.split())
    launch = Launch(Origin.CONTAINER, argv, 3, **options)  # type: ignore[arg-type]
    return identity_of(launch, FLAGS, [WrittenFile("patch.py", content, Text("", ""))])


@pytest.mark.parametrize(
    "words",
    [
        "--dtype half --mem-fraction-static 0.90 --model-path /m",
        "--model /m --mem-fraction-static=0.9 --dtype=half",
        "--model-path /other --dtype half --mem-fraction-static 0.9 --model-path /m",
    ],
)
def test_the_same(words: str) -> None:
    assert identity(BASE) == identity(words)


def test_only_the_fraction_differs() -> None:
    assert Identity(identity(BASE).rest, 0.8) == identity(BASE.replace("0.9", "0.8"))
    assert Identity(identity(BASE).rest) == identity("--model-path /m --dtype half")


@pytest.mark.parametrize(
    "other",
    [
        identity("--model-path /m --mem-fraction-static 0.9 --dtype bfloat16"),
        identity(f"{BASE} --trust-remote-code"),
        identity(BASE, env={"A": "1"}),
        identity(BASE, mounts=(Mount("/m", "/other"),)),
        identity(BASE, image="lmsysorg/sglang:v0.5.16"),
        identity(BASE, b"other patch"),
        identity("--model-path /m --mem-fraction-static lots --dtype half"),
    ],
)
def test_not_the_same(other: Identity) -> None:
    assert identity(BASE).rest != other.rest
