"""What is said of a machine out of sight: its card is named (``--gpu``), or it is around this container."""

from typing import Final

from sgdoctor.launch.model import Launch
from sgdoctor.preflight.model import HostFacts
from sgdoctor.preflight.models.locate import Located, Place
from sgdoctor.texts import Text

NOT_LOOKED_AT: Final = Text("not looked at: the card is of another machine", "未检查：显卡属于另一台机器")
NO_CARD_SEEN: Final = Text("no card was seen", "没有看到显卡")
_NOT_HERE: Final = Text(
    "not on this machine; the one with the card was not looked at", "不在本机；没有检查装有该显卡的机器"
)
_HIDDEN: Final = Text("not to be seen from inside of this container", "在当前容器里看不到")


def unseen(host: HostFacts, launch: Launch | None) -> Text | None:
    """Why a path that is not found here may be there all the same; None if it may not."""
    if host.is_only_a_card:
        return _NOT_HERE
    # From inside a container most paths of the host are out of sight; what starts in it sees the same.
    return _HIDDEN if host.contained and (launch is None or launch.image is not None) else None


def model_unseen(host: HostFacts, launch: Launch, located: Located) -> Text | None:
    """Why a model that is not found here may be there all the same; None if it may not, or if another one is meant."""
    why = unseen(host, launch)
    if why is None or located.place is not Place.MISSING or located.meant:
        return None
    if not host.is_only_a_card and located.root is not None and located.root.exists():
        return None
    return Text(f"{located.asked}: {why.en}", f"{located.asked}：{why.zh}")
