"""The ports that the launch takes on the host are free."""

from collections.abc import Iterator, Sequence
from typing import ClassVar

from sgdoctor.launch.change import Change
from sgdoctor.launch.docker_values import port_text
from sgdoctor.launch.model import Launch, Port
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.elsewhere import NOT_LOOKED_AT
from sgdoctor.preflight.launches.containers import holders_of, is_this, names_of, overlap
from sgdoctor.preflight.launches.flags import port_of
from sgdoctor.preflight.launches.settings import settings_of
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_PROXY = "docker-proxy"


class LaunchPort:
    """Nobody holds the ports of the launch."""

    id: ClassVar = "launch-port"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Ports", "端口")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Each port against containers, which are named, and programs."""
        launch = situation.launch
        if launch is None:
            return
        if launch.image is None or launch.network == "host":
            yield from _own_port(situation, launch)
            return
        taken = [port for port in launch.ports if port.host is not None]
        if not taken:
            return
        found = [*_twice(taken), *(finding for port in taken for finding in _held(situation, port))]
        yield from found
        if found:
            return
        shown = ", ".join(port_text(port) for port in taken)
        if situation.host.docker is None:
            reason = situation.host.docker_reason or Text("Docker does not answer", "Docker 没有响应")
            yield Finding(Status.SKIPPED, reason, evidence=shown)
        elif situation.host.is_only_a_card:
            yield Finding(Status.SKIPPED, NOT_LOOKED_AT, evidence=shown)
        else:
            yield Finding(Status.PASS, Text("free", "空闲"), evidence=shown, remote=situation.host.remote)


def _twice(ports: Sequence[Port]) -> Iterator[Finding]:
    """A port of the host that is given away twice, also for the same port of the container."""
    for index, port in enumerate(ports):
        for other in ports[:index]:
            same = (port.host, port.protocol) == (other.host, other.protocol)
            if same and overlap(port.host_ip, other.host_ip):
                yield Finding(
                    Status.FAIL,
                    Text(f"port {port.host} of the host is published twice", f"主机端口 {port.host} 发布了两次"),
                    evidence=f"{port_text(other)}, {port_text(port)}",
                    prevents="SGL020",
                    detail=Text(
                        "Docker refuses the second one: leave it out, or give it another port of the host.",
                        "Docker 会拒绝第二个：请去掉它，或换一个主机端口。",
                    ),
                    phase="docker",
                )
                break


def _held(situation: Situation, port: Port) -> Iterator[Finding]:
    assert port.host is not None
    settings = settings_of(situation)
    holders = list(holders_of(situation, port))
    if holders:
        # `docker rm -f NAME` in the same text makes way.
        if settings.replaces and settings.name in holders:
            return
        yield Finding(
            Status.FAIL,
            Text(f"container {holders[0]} holds port {port.host}", f"容器 {holders[0]} 占用了端口 {port.host}"),
            evidence=port_text(port),
            prevents="SGL020",
            changes=(Change("host.command", value=f"docker stop {holders[0]}"),),
            phase="docker",
            remote=situation.host.remote,
        )
        return
    program = situation.host.listening.get(port.host)
    if program is None or program == _PROXY or _own_container_publishes(situation, port):
        return
    yield Finding(
        Status.FAIL,
        Text(
            f"{program or 'a program'} of this machine listens on port {port.host}",
            f"本机程序{f' {program} ' if program else ''}正在监听端口 {port.host}",
        ),
        evidence=port_text(port),
        prevents="SGL021",
        changes=(Change("host.command", value=f"sudo ss -ltnp sport = :{port.host}"),),
        detail=Text(
            f"Stop it, or publish another port of the host: -p OTHER:{port.container}.",
            f"请停止它，或换一个主机端口：-p 其他端口:{port.container}。",
        ),
        phase="docker",
    )


def _own_container_publishes(situation: Situation, port: Port) -> bool:
    """Whether the listener is the proxy of the container that the launch replaces, without its name."""
    name = settings_of(situation).name
    return any(
        taken.get("PublicPort") == port.host
        for entry in situation.host.containers
        if is_this(situation, entry) or name in names_of(entry)
        for taken in entry.get("Ports") or ()
    )


def _own_port(situation: Situation, launch: Launch) -> Iterator[Finding]:
    """Without a network of its own the engine listens on the host itself."""
    port = port_of(asked_by(launch, situation.flags))
    if situation.host.remote or port is None or not launch.argv:
        return
    if situation.host.is_only_a_card:
        yield Finding(Status.SKIPPED, NOT_LOOKED_AT, evidence=str(port))
        return
    program = situation.host.listening.get(port)
    if program is None:
        if situation.host.listening:
            yield Finding(Status.PASS, Text("free", "空闲"), evidence=str(port))
        return
    if _is_running(situation):
        return
    yield Finding(
        Status.FAIL,
        Text(
            f"{program or 'a program'} listens on port {port}, which the engine takes after loading the model",
            f"{program or '某个程序'} 正在监听端口 {port}，而引擎要到加载完模型后才会发现",
        ),
        evidence=str(port),
        prevents="SGL022",
        changes=(Change("host.command", value=f"sudo ss -ltnp sport = :{port}"),),
        phase="http",
    )


def _is_running(situation: Situation) -> bool:
    """Whether the container of the launch is up: then the listener is it."""
    name = settings_of(situation).name
    return any(
        entry.get("State") == "running" and (is_this(situation, entry) or (name and name in names_of(entry)))
        for entry in situation.host.containers
    )
