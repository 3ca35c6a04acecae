"""What the user is told while nothing can be read, and about lines that are gone."""

from sgdoctor.containers.client import Look
from sgdoctor.containers.records import Container
from sgdoctor.exit_codes import exit_text
from sgdoctor.texts import Text


def engine(why: Text) -> Text:
    """It cannot be asked.

    Args:
        why: what it, or the connection to it, says.
    """
    en, zh = why.en.rstrip("."), why.zh.rstrip("。")
    return Text(f"{en}. Waiting for the engine.", f"{zh}。正在等待容器引擎。")


def no_container(name: str) -> Text:
    """Nothing has this name yet."""
    return Text(f"Waiting for a container named {name}.", f"正在等待名为 {name} 的容器。")


def removed(name: str) -> Text:
    """The container followed is gone."""
    return Text(
        f"The container {name} was removed. Waiting for another one of this name.",
        f"容器 {name} 已被删除。正在等待同名的新容器。",
    )


def not_started(look: Look) -> Text:
    """It was created only, or refused."""
    name = look.container.name
    if look.facts.error:
        return Text(
            f"The engine refused to start {name}. Waiting for the next start.",
            f"容器引擎拒绝启动 {name}。正在等待下一次启动。",
        )
    return Text(
        f"The container {name} was created and never started: docker start {name}",
        f"容器 {name} 已创建但从未启动：docker start {name}",
    )


def restarting(look: Look) -> Text:
    """The restart policy is at work."""
    name, count = look.container.name, look.facts.restart_count
    return Text(
        f"{name} ended and is about to be started again (restart {count}).",
        f"{name} 已退出，即将被再次启动（第 {count} 次重启）。",
    )


def stopped(look: Look) -> Text:
    """It has ended for good."""
    name, code = look.container.name, look.facts.exit_code
    if code is None:
        ended = Text(f"{name} has ended", f"{name} 已退出")
    else:
        said = exit_text(code)
        ended = Text(f"{name} has ended with {said.en}", f"{name} 已退出：{said.zh}")
    return Text(
        f"{ended.en}. Waiting for the next start: docker start {name}",
        f"{ended.zh}。正在等待下一次启动：docker start {name}",
    )


def unreadable(container: Container) -> Text:
    """The log driver keeps nothing."""
    return Text(
        f"The log of {container.name} cannot be read: its log driver {container.driver!r} keeps nothing. "
        "Only its exits can be told. Use --log-driver json-file or local.",
        f"无法读取 {container.name} 的日志：日志驱动 {container.driver!r} 不保存内容，只能报告它的退出。"
        "请使用 --log-driver json-file 或 local。",
    )


def rotated_away() -> Text:
    """The last line given is not in the log any more, which begins with a later one."""
    return Text(
        "Lines may be missing here: the log was rotated before it could be read on.",
        "此处可能有日志行丢失：继续读取之前日志已被轮转。",
    )
