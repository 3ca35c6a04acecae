"""What a user is told about a relaunch."""

from collections.abc import Sequence

from sgdoctor.relaunch.compare import Difference
from sgdoctor.texts import Text

PODMAN = Text(
    "podman cannot relaunch a container through its Docker API: it refuses parts of what it shows, and has no way to "
    "change a restart policy. Print the corrected command (sgdoctor fix) and run it with podman run.",
    "podman 无法通过其 Docker API 重启容器：它拒绝接收自己显示的部分配置，也无法修改重启策略。"
    "请打印修正后的命令（sgdoctor fix），再用 podman run 运行。",
)
PAUSED = Text("It is paused. Let it go on first: docker unpause.", "容器处于暂停状态。请先恢复：docker unpause。")
GOING = Text("It is being removed at this moment.", "容器正在被删除。")
STOPPED_BY_USER = Text("It was stopped by you.", "已被你中止。")
OLD_RUNS = Text(
    "The old container was started again by somebody else, and two servers do not fit on the GPU.",
    "旧容器被其他人重新启动，GPU 上放不下两个服务。",
)
NEW_RUNS = Text(
    "The new container still runs, and two servers do not fit on the GPU.", "新容器仍在运行，GPU 上放不下两个服务。"
)
UNAWAITED = Text(
    "It failed before, so nobody waits for it to serve.",
    "它之前失败过，因此不等待其就绪。",
)
SAME = Text("It has that launch already.", "容器当前就是这样启动的。")
ENDED = Text("The server has ended.", "服务已退出。")
DIED_AT_ONCE = Text("The server was ready and ended right after it.", "服务就绪后随即退出。")
NO_ADDRESS = Text(
    "The server says that it is ready; none of its ports can be asked from here.",
    "服务自称已就绪；从这里无法访问它的任何端口。",
)
NEW_GONE = Text("The new container was removed by somebody else.", "新容器被其他人删除。")


def managed(by: str) -> Text:
    """Something else would undo what is done here."""
    return Text(
        f"{by} made this container and would make it again as it was; change it there.",
        f"该容器由 {by} 创建，会按原样重建；请在那里修改。",
    )


def kept(name: str, of: str) -> Text:
    """It would run beside the one that took its place."""
    return Text(
        f"It is an earlier launch of {of}, kept for the way back (sgdoctor rollback {of}), and two servers do not fit "
        f"on the GPU. To use it beside {of}, rename it: docker rename {name} NAME",
        f"它是 {of} 的早前容器，为恢复而保留（sgdoctor rollback {of}），且 GPU 上放不下两个服务。"
        f"若要与 {of} 同时使用，请先改名：docker rename {name} 新名称",
    )


def kept_runs(name: str, kept: str) -> Text:
    """Somebody started an earlier launch by hand."""
    return Text(
        f"{kept} runs, an earlier launch of {name}, and two servers do not fit on the GPU. First: docker stop {kept}",
        f"{name} 的早前容器 {kept} 正在运行，而 GPU 上放不下两个服务。请先执行：docker stop {kept}",
    )


def old_started_beside(name: str) -> Text:
    """Whoever did it wants the old one; the new one has to give way."""
    return Text(
        f"The old container was started by somebody else while the new one of {name} was getting ready, and two "
        "servers do not fit on the GPU: the new one was ended, and the old one was left to run.",
        f"{name} 的新容器就绪之前，旧容器被其他人启动，而 GPU 上放不下两个服务：已结束新容器，旧容器保持运行。",
    )


def old_renamed(name: str, now: str) -> Text:
    """The plan is about a container that does not hold the name any more."""
    return Text(
        f"{name} was relaunched or renamed by somebody else since the plan was made; the container is {now} now. Make "
        "the plan again.",
        f"制定方案之后，{name} 被其他人重启或改名；该容器现在名为 {now}。请重新制定方案。",
    )


def other_runs(name: str, old: str, journal: str) -> Text:
    """Somebody made a server in its place while this was cut off."""
    left = f"the old container is {old}" if old else "the old container is gone"
    left_zh = f"旧容器名为 {old}" if old else "旧容器已不存在"
    return Text(
        f"{name} is another container by now, and it runs: nothing is started beside it ({left}). To leave it at that, "
        f"move the journal away: mv {journal} {journal}.left",
        f"{name} 现在是另一个正在运行的容器：不会在它旁边启动任何服务（{left_zh}）。"
        f"若要保持现状，请移走重启记录：mv {journal} {journal}.left",
    )


def log_not_kept(name: str, reason: str) -> Text:
    """The disk, mostly; the container is about to be removed, and its log with it."""
    return Text(
        f"The log of {name} could not be kept ({reason}): it is gone with its container.",
        f"无法保存 {name} 的日志（{reason}）：日志已随容器一起删除。",
    )


def unlocked(name: str, reason: str) -> Text:
    """The engine has no place for a lock."""
    return Text(
        f"Other users are not kept from relaunching {name} meanwhile: the engine makes no lock for it ({reason}).",
        f"期间无法阻止其他用户重启 {name}：容器引擎未能为其加锁（{reason}）。",
    )


def held(name: str, process: int, user: str, since: str) -> Text:
    """Another user, with files of their own."""
    return Text(
        f"{name} is being relaunched already, by process {process} of {user}, since {since}. Nothing was touched.",
        f"{name} 已在重启中：{user} 的进程 {process}，开始于 {since}。未做任何改动。",
    )


def held_open(name: str, who: str, host: str, since: str, way: Text) -> Text:
    """Another user's relaunch that was cut off, or goes on on another machine.

    Args:
        name: of the container.
        who: user and process.
        host: where that process is; empty for this machine, where it is gone.
        since: time in ISO 8601.
        way: out of it.
    """
    if host:
        return Text(
            f"{name} is being relaunched by {who} on {host}, since {since}, or that was cut off. Nothing was touched. "
            f"If it was cut off: {way.en}",
            f"{name} 正由 {host} 上的 {who} 重启（开始于 {since}），或该重启已被中断。未做任何改动。"
            f"如果已被中断：{way.zh}",
        )
    return Text(
        f"A relaunch of {name} by {who}, which is gone, was cut off (it began at {since}). Nothing was touched. "
        f"{way.en}",
        f"{who} 对 {name} 的重启被中断，该进程已不存在（开始于 {since}）。未做任何改动。{way.zh}",
    )


def way_of_owner(user: str, host: str, journal: str, back: str, by_hand: Text) -> Text:
    """A journal that somebody else has."""
    where, where_zh = (f" on {host}", f"在 {host} 上") if host else ("", "")
    return Text(
        f"Back by its journal ({journal}), as {user} or root{where}: {back}; without it: {by_hand.en}",
        f"以 {user} 或 root {where_zh}用其重启记录（{journal}）恢复：{back}；没有记录时：{by_hand.zh}",
    )


def way_without_journal(journal: str, by_hand: Text) -> Text:
    """Nobody has it any more."""
    return Text(
        f"Its journal ({journal}) is gone or cannot be read; by hand: {by_hand.en}",
        f"其重启记录（{journal}）已不存在或无法读取；请手动执行：{by_hand.zh}",
    )


def by_hand_compose(file: str, backup: str, free: str) -> Text:
    """Compose has the way back in a file."""
    return Text(
        f"put {file} back from {backup} if that is there, docker compose up -d, and then {free}",
        f"如有 {backup}，用它恢复 {file}，执行 docker compose up -d，然后执行 {free}",
    )


def renamed(name: str, to: str) -> Text:
    """It serves, and is not found by the name that it should have."""
    return Text(
        f"Somebody else renamed the new container to {to} meanwhile. Its name back: docker rename {to} {name}",
        f"期间新容器被其他人改名为 {to}。恢复名称：docker rename {to} {name}",
    )


def changed_meanwhile(name: str, what: Sequence[Difference]) -> Text:
    """The plan is about a container that is not so any more."""
    fields = ", ".join(one.field for one in what)
    return Text(
        f"{name} was changed by somebody else since the plan was made ({fields}). Make the plan again.",
        f"制定方案之后，{name} 被其他人修改过（{fields}）。请重新制定方案。",
    )


def old_gone(name: str) -> Text:
    """Nothing is left to be relaunched."""
    return Text(f"{name} was removed by somebody else.", f"{name} 被其他人删除。")


def lost(what: Sequence[Difference]) -> Text:
    """The new container would not be like the old one."""
    fields = "; ".join(str(one) for one in what)
    return Text(
        f"The new container would not be as the old one, so the old one was left alone: {fields}",
        f"新容器与旧容器不一致，因此未改动旧容器：{fields}",
    )


def added(what: Sequence[Difference]) -> Text:
    """The engine did more than it was asked for."""
    fields = "; ".join(f"{one.field}: {one.shown(one.found)}" for one in what)
    return Text(f"The engine set by itself: {fields}", f"容器引擎自行设置：{fields}")


def image_gone(image: str, reason: str) -> Text:
    """There is nothing to make a container from."""
    return Text(
        f"The image {image} is not there any more ({reason}). Get it: docker pull {image}",
        f"镜像 {image} 已不存在（{reason}）。请获取：docker pull {image}",
    )


def image_missing(image: str) -> Text:
    """What an earlier launch ran is not there any more."""
    if image.startswith("sha256:"):
        return Text(
            f"The container of that launch is gone, and its image ({image[7:19]}) as well: it cannot be made anew.",
            f"那次启动的容器已不存在，其镜像（{image[7:19]}）也已不存在，无法重建。",
        )
    return Text(
        f"The container of that launch is gone, and its image {image} as well. Get it: docker pull {image}",
        f"那次启动的容器已不存在，其镜像 {image} 也已不存在。请获取：docker pull {image}",
    )


def name_taken(name: str, reason: str) -> Text:
    """Somebody else took a name that is needed."""
    return Text(
        f"The name {name} was taken by another container ({reason}). Remove or rename that one.",
        f"名称 {name} 被另一个容器占用（{reason}）。请删除或重命名该容器。",
    )


def journal_unwritable(reason: str) -> Text:
    """The disk."""
    return Text(f"The journal cannot be written any more: {reason}.", f"重启记录无法继续写入：{reason}。")


def cut_off(name: str, journal: str) -> Text:
    """An earlier relaunch has no end."""
    return Text(
        f"An earlier relaunch of {name} was cut off ({journal}). First: sgdoctor rollback {name}, or "
        f"sgdoctor relaunch --resume {name}",
        f"{name} 的上一次重启被中断（{journal}）。请先执行：sgdoctor rollback {name}，或 "
        f"sgdoctor relaunch --resume {name}",
    )


def foreign(name: str, other: str) -> Text:
    """Another user or machine is at work, or its journal is lost."""
    return Text(
        f"{other} is left of a relaunch of {name} whose journal is not here: another user or another machine is at "
        f"work on it, or was. If nobody is: docker rm {other}",
        f"{other} 是 {name} 的一次重启留下的容器，但这里没有对应的重启记录：可能有其他用户或机器正在操作。"
        f"如果没有：docker rm {other}",
    )


def still_open(reason: Text, why: Text) -> Text:
    """Neither forward nor back."""
    en, zh = reason.en.rstrip("."), reason.zh.rstrip("。")
    return Text(f"{en}. The way back is not finished: {why.en}", f"{zh}。恢复尚未完成：{why.zh}")


def not_in_time(seconds: float) -> Text:
    """The user's limit is over."""
    given = f"{round(seconds, 1):g}"
    return Text(f"It was not ready within {given} s.", f"在 {given} 秒内未就绪。")


def died_at_once(why: Text) -> Text:
    """It was ready, and ended with the first request or right after."""
    return Text(f"{DIED_AT_ONCE.en} {why.en}", f"{DIED_AT_ONCE.zh}{why.zh}")


def no_answer(address: str) -> Text:
    """It takes requests and keeps silent."""
    return Text(
        f"The server says that it is ready, and does not answer at {address}/health.",
        f"服务自称已就绪，但 {address}/health 没有响应。",
    )


def not_reached(address: str, reason: str) -> Text:
    """Nothing listens there, by what can be seen from here."""
    return Text(
        f"The server says that it is ready; it is not reached at {address} from here ({reason}).",
        f"服务自称已就绪；从这里无法连接 {address}（{reason}）。",
    )


def unhealthy(address: str, status: int) -> Text:
    """It says so itself."""
    return Text(
        f"The server says that it is ready, and answers {address}/health with {status}.",
        f"服务自称已就绪，但 {address}/health 返回 {status}。",
    )


def removed_and_kept(name: str, number: int, commands: str) -> Text:
    """Somebody removed the container that had the name, and an earlier one is still there."""
    return Text(
        f"{name} was removed. The container of launch {number} is still there; back to it: {commands}",
        f"{name} 已被删除。第 {number} 次启动的容器仍在；恢复它：{commands}",
    )


def removed_with_all(name: str) -> Text:
    """Somebody removed the container that had the name, and no earlier one is there."""
    return Text(
        f"{name} was removed, and no container of that launch is left; what it was started with: "
        f"sgdoctor history {name}",
        f"{name} 已被删除，那次启动的容器也已不在；它的启动命令见：sgdoctor history {name}",
    )
