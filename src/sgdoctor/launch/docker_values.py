"""Values of Docker's options: sizes, ports, volumes, GPUs, ulimits, as they are typed and as data."""

import re
from collections.abc import Iterator
from typing import Final

from sgdoctor.errors import UserError
from sgdoctor.launch.model import Gpus, Mount, Port

# docker/go-units size.go: any case, with or without "b" or "ib", a fraction is allowed.
_SIZE: Final = re.compile(r"(\d+(?:\.\d+)?) ?([bkmgtp]?)(?:i?b)?", re.IGNORECASE)
_POWERS: Final = "bkmgtp"
_PORT: Final = re.compile(
    r"(?:(?P<ip>\[[0-9a-fA-F:.]+\]|[0-9.]+):)??(?:(?P<host>\d*):)?(?P<container>\d+)(?:/(?P<protocol>tcp|udp|sctp))?"
)
_ULIMIT: Final = re.compile(r"(-1|\d+)(?::(-1|\d+))?")
# Docker Desktop shows paths of Windows as they were typed.
_DRIVE: Final = re.compile(r"[A-Za-z]:(?=[\\/])")
_RESTART: Final = re.compile(r"no|always|unless-stopped|on-failure(?::\d+)?")
CDI_PREFIX: Final = "nvidia.com/gpu="
"""What the names of GPUs begin with in the Container Device Interface, as ``docker run --device`` takes them."""
_ANONYMOUS: Final = re.compile(r"[0-9a-f]{64}")


def read_size(text: str) -> int:
    """Bytes that ``32g``, ``64M``, ``1.5gb`` or ``1024`` mean.

    Raises:
        UserError: it is no size.
    """
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise UserError(f"{text!r} is no size; write 32g or 512m", f"{text!r} 不是大小；请写成 32g 或 512m")
    return int(float(match[1]) * 1024 ** _POWERS.index(match[2].lower() or "b"))


def size_text(size: int) -> str:
    """A number of bytes in the largest unit that needs no fraction: ``32g``."""
    power = 0
    while size and power < len(_POWERS) - 1 and size % 1024 == 0:
        size //= 1024
        power += 1
    return f"{size}{_POWERS[power] if power else ''}"


def read_port(text: str) -> Port:
    """A published port: ``15433:30000``, ``127.0.0.1:15433:30000/tcp``, ``127.0.0.1::30000``, ``30000``.

    Raises:
        UserError: it is none.
    """
    match = _PORT.fullmatch(text.strip())
    numbers = [int(match[name]) for name in ("host", "container") if match[name]] if match else []
    if match is None or any(number > 65535 for number in numbers):
        raise UserError(
            f"{text!r} is no published port; write HOST:CONTAINER, such as 30000:30000",
            f"{text!r} 不是端口映射；请写成 主机端口:容器端口，例如 30000:30000",
        )
    return Port(
        container=int(match["container"]),
        host=int(match["host"]) if match["host"] else None,
        host_ip=(match["ip"] or "").strip("[]"),
        protocol=match["protocol"] or "tcp",
    )


def read_ports(text: str) -> Iterator[Port]:
    """The published ports of one entry: one for each of a range, as in ``30000-30003:30000-30003``.

    Raises:
        UserError: it is none.
    """
    number, slash, protocol = text.partition("/")
    *before, inner = number.split(":")
    if "-" not in number:
        yield read_port(text)
        return
    first, last = _range(inner)
    outer = _range(before[-1])[0] if before and before[-1] else None
    single = bool(before) and "-" not in before[-1]
    for offset in range(last - first + 1):
        head = [*before[:-1], str(outer + (0 if single else offset))] if outer is not None else before
        yield read_port(":".join([*head, str(first + offset)]) + slash + protocol)


def _range(text: str) -> tuple[int, int]:
    first, _, last = text.partition("-")
    if not first.isdecimal() or (last and not last.isdecimal()):
        read_port(text)
        return 0, 0
    return int(first), int(last or first)


def port_text(port: Port) -> str:
    """As ``docker run -p`` takes it."""
    host = "" if port.host is None else str(port.host)
    ip = f"[{port.host_ip}]" if ":" in port.host_ip else port.host_ip
    before = f"{ip}:{host}:" if ip else f"{host}:" if host else ""
    return f"{before}{port.container}{'' if port.protocol == 'tcp' else f'/{port.protocol}'}"


def read_volume(text: str) -> Mount:
    """What ``docker run -v`` is given: ``/host/models:/models:ro``, ``cache:/root/.cache``, ``/data``.

    Raises:
        UserError: it names no absolute path inside the container.
    """
    drive = _DRIVE.match(text)
    source, colon, rest = text[drive.end() if drive else 0 :].partition(":")
    source = (drive[0] if drive else "") + source
    target, _, options = rest.partition(":")
    if not colon:
        source, target = "", text
    if not target.startswith("/") or (colon and not source):
        raise UserError(
            f"{text!r} is no volume; write HOST:CONTAINER, such as /data/models:/models",
            f"{text!r} 不是卷；请写成 主机路径:容器路径，例如 /data/models:/models",
        )
    bind = drive is not None or source.startswith(("/", ".", "~", "$"))
    return Mount(target, source or None, "bind" if bind else "volume", "ro" in options.split(","))


def is_anonymous(volume: str) -> bool:
    """Whether a volume's name is one that Docker makes up."""
    return _ANONYMOUS.fullmatch(volume) is not None


def read_gpus(text: str) -> Gpus:
    """What ``docker run --gpus`` is given: ``all``, ``2``, ``device=0``, ``"device=0,1"``.

    Raises:
        UserError: it is none of these.
    """
    value = text.strip().strip("'\"")
    if value == "all":
        return Gpus(count=-1)
    if value.isdecimal():
        return Gpus(count=int(value))
    name, _, ids = value.partition("=")
    devices = tuple(one for one in ids.split(",") if one)
    if name != "device" or not devices:
        raise UserError(
            f"{text!r} names no GPUs; write all, a number, or device=0",
            f"{text!r} 没有指明 GPU；请写 all、数量或 device=0",
        )
    return Gpus(device_ids=devices)


def gpus_text(gpus: Gpus) -> str | None:
    """As ``docker run --gpus`` takes it, less the quotes of the shell; None where none is asked for.

    The value is a line of CSV (docker/cli opts/gpus.go): more than one device has to stand in double quotes, or the
    second one is taken for a count.
    """
    if gpus.device_ids:
        ids = ",".join(gpus.device_ids)
        return f'"device={ids}"' if len(gpus.device_ids) > 1 else f"device={ids}"
    if gpus.count is None:
        return None
    return "all" if gpus.count == -1 else str(gpus.count)


def read_ulimit(text: str) -> tuple[int, int]:
    """The soft and the hard limit that ``SOFT[:HARD]`` means.

    Raises:
        UserError: it is none.
    """
    match = _ULIMIT.fullmatch(text.strip())
    if match is None:
        raise UserError(
            f"{text!r} is no limit; write SOFT or SOFT:HARD, -1 for none",
            f"{text!r} 不是限制；请写成 软限制 或 软限制:硬限制，-1 表示不限",
        )
    return int(match[1]), int(match[2] or match[1])


def read_restart(text: str) -> tuple[str, int]:
    """Name and number of attempts (0 for no limit) of a restart policy such as ``on-failure:3``.

    Raises:
        UserError: there is no such policy.
    """
    if _RESTART.fullmatch(text) is None:
        raise UserError(
            f"{text!r} is no restart policy; there are no, always, unless-stopped and on-failure[:N]",
            f"{text!r} 不是重启策略；可用 no、always、unless-stopped、on-failure[:N]",
        )
    name, _, attempts = text.partition(":")
    return name, int(attempts or 0)
