"""Docker can be reached, and by this user."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.preflight.model import Area, DockerState, Finding, Situation, Status
from sgdoctor.texts import Text

_RULES: Final = {DockerState.DENIED: "SGL055", DockerState.SILENT: "SGL054"}
_ABSENT: Final = Text("this machine has no Docker", "本机没有 Docker")


class DockerReachable:
    """Docker answers, and this user may use it."""

    id: ClassVar[str] = "docker-reachable"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("Docker", "Docker")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One, except for a launch outside of containers."""
        host, launch = situation.host, situation.launch
        if launch is not None and launch.image is None:
            return
        if host.docker is not None:
            yield _answers(situation)
        elif host.docker_state is DockerState.ABSENT or host.simulated or host.contained:
            absent = host.docker_state is DockerState.ABSENT and not host.is_only_a_card
            yield Finding(Status.SKIPPED, _ABSENT if absent else _reason(situation))
        else:
            denied = host.docker_state is DockerState.DENIED
            fix = "sudo usermod -aG docker $USER" if denied else "sudo systemctl start docker"
            here = host.endpoint.startswith("unix:")
            yield Finding(
                Status.FAIL,
                _reason(situation),
                evidence=host.endpoint,
                prevents=_RULES.get(host.docker_state),
                changes=(Change("host.command", "", fix),) if here else (),
                phase="docker",
            )


def _reason(situation: Situation) -> Text:
    return situation.host.docker_reason or Text("Docker does not answer", "Docker 没有响应")


def _answers(situation: Situation) -> Finding:
    host = situation.host
    info = host.docker or {}
    version, name = info.get("ServerVersion") or "?", info.get("Name") or "?"
    if host.remote:
        return Finding(
            Status.PASS,
            Text(f"Docker {version} on another machine, {name}", f"Docker {version}，位于另一台机器 {name}"),
            evidence=host.endpoint,
            detail=Text(
                "Files, ports, cards and free memory of this machine say nothing about that one; what needs them is "
                "skipped.",
                "本机的文件、端口、显卡和空闲内存与那台机器无关；需要它们的检查已跳过。",
            ),
            remote=True,
        )
    return Finding(Status.PASS, Text(f"Docker {version} answers", f"Docker {version} 正常响应"), evidence=host.endpoint)
