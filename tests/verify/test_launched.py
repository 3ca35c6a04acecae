"""What a launch says about its server."""

import pytest

from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.launch.model import Launch, Origin
from sgdoctor.verify.launched import server_of
from sgdoctor.verify.model import Server

FLAGS = schema("0.5.15")


@pytest.mark.parametrize(
    ("words", "server"),
    [
        ("", Server("http://a")),
        ("--api-key k --served-model-name m", Server("http://a", "k", "m")),
        ("--api-key=one --api-key two", Server("http://a", "two")),
        ("--api-key $KEY", Server("http://a", "from-env")),
        ("--api-key ${KEY}", Server("http://a", "from-env")),
        ("--api-key $ELSEWHERE", Server("http://a")),
        ("--is-embedding", Server("http://a", chats=False)),
    ],
)
def test_server_of_a_launch(words: str, server: Server) -> None:
    argv = ("python3", "-m", "sglang.launch_server", *words.split())
    launch = Launch(Origin.CONTAINER, argv, 3, env={"KEY": "from-env"})

    assert server == server_of(launch, FLAGS, "http://a")
