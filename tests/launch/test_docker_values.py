"""Values of Docker's options."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.errors import UserError
from sgdoctor.launch.docker_values import (
    gpus_text,
    port_text,
    read_gpus,
    read_port,
    read_restart,
    read_size,
    read_ulimit,
    read_volume,
    size_text,
)
from sgdoctor.launch.model import Gpus, Mount, Port


@pytest.mark.parametrize(
    ("text", "size"),
    [("32g", 32 << 30), ("32G", 32 << 30), ("512m", 512 << 20), ("1.5gb", 3 << 29), ("64MiB", 64 << 20), ("100", 100)],
)
def test_sizes(text: str, size: int) -> None:
    assert size == read_size(text)


@given(st.integers(0, 1 << 50))
def test_size_as_text_is_the_same_size(size: int) -> None:
    assert size == read_size(size_text(size))


PORT = st.builds(
    Port,
    st.integers(1, 65535),
    st.none() | st.integers(1, 65535),
    st.sampled_from(["", "127.0.0.1", "::1"]),
    st.sampled_from(["tcp", "udp"]),
)


@given(PORT)
def test_port_as_text_is_the_same_port(port: Port) -> None:
    assert port == read_port(port_text(port))


@pytest.mark.parametrize(
    ("text", "mount"),
    [
        ("/data/models:/models:ro", Mount("/models", "/data/models", "bind", read_only=True)),
        ("cache:/root/.cache:z,ro", Mount("/root/.cache", "cache", "volume", read_only=True)),
        ("./models:/models", Mount("/models", "./models", "bind")),
        ("$PWD/models:/models", Mount("/models", "$PWD/models", "bind")),
        ("/data", Mount("/data", None, "volume")),
        (r"C:\Users\me\models:/models:ro", Mount("/models", r"C:\Users\me\models", "bind", read_only=True)),
        ("d:/models:/models", Mount("/models", "d:/models", "bind")),
    ],
)
def test_volumes(text: str, mount: Mount) -> None:
    assert mount == read_volume(text)


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("all", Gpus(count=-1)),
        ("2", Gpus(count=2)),
        ("device=1", Gpus(device_ids=("1",))),
        ('"device=0,1"', Gpus(device_ids=("0", "1"))),
        ("device=GPU-3a", Gpus(device_ids=("GPU-3a",))),
    ],
)
def test_gpus(text: str, gpus: Gpus) -> None:
    assert gpus == read_gpus(text)
    assert text == gpus_text(gpus)


def test_no_gpus_are_no_text() -> None:
    assert gpus_text(Gpus(runtime="nvidia")) is None


def test_limits_and_policies() -> None:
    assert (-1, -1) == read_ulimit("-1")
    assert (1000, 2000) == read_ulimit("1000:2000")
    assert ("on-failure", 3) == read_restart("on-failure:3")
    assert ("always", 0) == read_restart("always")


@pytest.mark.parametrize(
    ("read", "text"),
    [
        (read_size, "32 apples"),
        (read_size, ""),
        (read_size, "-1"),
        (read_port, "a:b"),
        (read_port, "70000:1"),
        (read_port, "1:2:3:4"),
        (read_volume, "models:relative"),
        (read_volume, ":/models"),
        (read_gpus, "device="),
        (read_gpus, "none"),
        (read_ulimit, "many"),
        (read_restart, "always:3"),
    ],
)
def test_what_is_none_of_them(read: object, text: str) -> None:
    assert callable(read)
    with pytest.raises(UserError) as refused:
        read(text)

    assert refused.value.zh != refused.value.en
