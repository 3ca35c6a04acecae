"""The NVIDIA driver is there and works."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.gpu import reasons
from sgdoctor.launch.change import Change
from sgdoctor.preflight.elsewhere import NOT_LOOKED_AT
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_RULES: Final = {
    reasons.MISMATCH: ("SGL004", "sudo reboot"),
    reasons.NOT_LOADED: ("SGL006", "sudo modprobe nvidia"),
}
_NO_CARD: Final = Text(
    "this machine has no NVIDIA card; --gpu names one of another machine", "本机没有 NVIDIA 显卡；可用 --gpu 指定"
)


class DriverWorks:
    """The NVIDIA driver is loaded, and of one version."""

    id: ClassVar[str] = "nvidia-driver"
    area: ClassVar[Area] = Area.HOST
    title: ClassVar[Text] = Text("NVIDIA driver", "NVIDIA 驱动")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """One."""
        host = situation.host
        if host.simulated:
            yield Finding(Status.SKIPPED, NOT_LOOKED_AT)
        elif host.remote:
            yield Finding(Status.SKIPPED, Text("it is of another machine", "它属于另一台机器"), remote=True)
        elif host.cards:
            yield _works(situation)
        else:
            yield _silent(situation)


def _works(situation: Situation) -> Finding:
    host = situation.host
    cuda = f", CUDA {host.driver_cuda}" if host.driver_cuda else ""
    return Finding(Status.PASS, Text(f"driver {host.driver or '?'}{cuda}", f"驱动 {host.driver or '?'}{cuda}"))


def _silent(situation: Situation) -> Finding:
    host = situation.host
    reason = host.cards_reason or reasons.NO_GPU
    if not host.pci_cards and not host.wsl and host.driver is None:
        return Finding(Status.SKIPPED, reason if host.contained else _NO_CARD)
    rule, command = _RULES.get(reason, ("SGL052" if host.wsl else "SGL006", ""))
    return Finding(
        Status.FAIL,
        reason,
        evidence=host.driver or "",
        prevents=rule,
        changes=(Change("host.command", "", command),) if command else (),
        phase="docker",
    )
