"""What the commands about relaunching say, in English and Chinese."""

from collections.abc import Mapping
from typing import Any, Final

_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    # Help
    "relaunch.about": (
        (
            "Lets a container with the corrected flags take the place of one, step by step, with a journal and a way "
            "back at every moment: the old one is stopped only when the new one is ready to start, and comes back if "
            "that does not serve. Without changes: the plan of `sgdoctor fix`. With any of --fix, --set, --unset, "
            "--env, --image and --plan: those and nothing else. A service of Compose is relaunched through its file. "
            "Exit code: 0 it serves, 3 it failed and everything is as before, 2 refused, not agreed to or bad usage, 4 "
            "neither: the journal is open, 130 you stopped it."
        ),
        (
            "用修正参数后的新容器替换原容器，逐步进行，有重启记录，随时可以恢复：新容器准备好之后才停止旧容器；"
            "如果新容器无法提供服务，旧容器会恢复运行。不指定改动时采用 `sgdoctor fix` 的方案；指定 --fix、--set、"
            "--unset、--env、--image 或 --plan 时只做这些改动。Compose 服务通过其文件重启。退出码：0 已提供服务，"
            "3 失败且一切恢复原状，2 被拒绝、你没有同意或用法错误，4 两者都不是：重启记录未结束，130 被你中止。"
        ),
    ),
    "relaunch.container": ("name, id or compose service of a container", "容器的名称、ID 或 compose 服务名"),
    "relaunch.fix": ("make this fix of the plan (repeatable)", "采用方案中的这个办法（可重复）"),
    "relaunch.image": (
        "another image, or another tag of the same one; it has to be there",
        "换用其他镜像，或同一镜像的其他标签；镜像必须已在本机",
    ),
    "relaunch.plan": (
        "the changes of a plan, as `sgdoctor fix --format json --no-redact` prints it",
        "采用 `sgdoctor fix --format json --no-redact` 输出的方案",
    ),
    "relaunch.dry_run": ("show everything, touch nothing", "只显示，不做任何改动"),
    "yes": ("do not ask", "不再询问"),
    "relaunch.ready_timeout": (
        "seconds until it has to serve; default: as long as it makes progress",
        "多少秒内必须就绪；默认只要有进展就一直等待",
    ),
    "relaunch.resume": ("bring a relaunch that was cut off to its end", "完成一次被中断的重启"),
    "relaunch.accept_drift": (
        "go on where Compose would change more than the flags, too",
        "即使 Compose 的改动会超出参数范围也继续",
    ),
    "format": ("text (default) or json", "text（默认）或 json"),
    "rollback.about": (
        (
            "Goes back to an earlier launch of a container: the kept container takes its place again. A relaunch that "
            "was cut off is undone. Exit code: as of relaunch; 0 for a relaunch that was undone."
        ),
        (
            "恢复容器之前的启动配置：保留的旧容器重新接管。被中断的重启会被撤销。退出码与 relaunch 相同；"
            "成功撤销中断的重启时为 0。"
        ),
    ),
    "rollback.to": (
        "good: the last launch that served (default), original: the one before all relaunches, or a number of history",
        "good：上一次正常的启动（默认），original：所有重启之前的启动，或 history 中的编号",
    ),
    "history.about": (
        (
            "The launches that a container has had through relaunches, or the starts of a server of `sgdoctor run`: "
            "what changed, how it ended, how long it took."
        ),
        "容器经过重启的各次启动，或 `sgdoctor run` 的各次启动：改了什么、结果如何、用了多久。",
    ),
    "forget.about": (
        (
            "Removes what was kept of a container's earlier launches: stopped containers, saved logs, closed journals. "
            "Volumes stay. There is no way back to those launches then."
        ),
        "删除容器以往启动所保留的内容：已停止的旧容器、保存的日志、已结束的重启记录。数据卷保留。此后无法再恢复到那些启动。",
    ),
    # Before
    "head": ("Relaunch of {name} ({id})", "重启 {name}（{id}）"),
    "state.running": ("It runs.", "容器正在运行。"),
    "state.failing": ("It does not serve: its newest start has failed.", "它没有提供服务：最近一次启动已失败。"),
    "state.stopped": ("It does not run.", "容器未在运行。"),
    "through_compose": (
        "Through {files}, service {service}: the file is edited, then Compose makes the container anew.",
        "通过 {files} 的服务 {service}：先修改文件，再由 Compose 重建容器。",
    ),
    "down": ("Down-time to expect: {low} to {high} ({source})", "预计停机时间：{low}到 {high}（{source}）"),
    "start": ("The start takes {low} to {high} ({source})", "启动预计需要 {low}到 {high}（{source}）"),
    "source.learned": ("as earlier starts here", "依据本机以往的启动"),
    "source.last": ("as its last start", "依据它的上一次启动"),
    "source.bands": ("by what is usual for such models", "依据同类模型的通常耗时"),
    "not_carried": ("What a new container does not have", "新容器不会带有的内容"),
    "not_carried.files": (
        "Files and folders that were changed inside of the container ({count}): {paths}",
        "容器内改动过的 {count} 个文件或目录：{paths}",
    ),
    "not_carried.removes_itself": (
        "The old one removes itself when it stops (--rm): its log is kept, and it is made anew on the way back.",
        "旧容器停止后会自行删除（--rm）：日志会保存，恢复时将重新创建。",
    ),
    "not_carried.compose": (
        "The old container: Compose removes it. The way back is the file; its log is kept.",
        "旧容器：会被 Compose 删除。恢复依靠文件；其日志会保存。",
    ),
    "and_more": ("{text} and {count} more", "{text} 等，另有 {count} 个"),
    "way_back": (
        "The old container is kept, stopped; back to it: sgdoctor rollback {name}",
        "旧容器会停止并保留；恢复命令：sgdoctor rollback {name}",
    ),
    "files": ("Written before: {paths}", "事先写入：{paths}"),
    "dry_run": ("{name}: dry run, nothing was touched.", "{name}：仅演示，未做任何改动。"),
    "refused": ("{name}: not relaunched: {why}", "{name}：未重启：{why}"),
    "type_by_hand": ("To be typed where it is started:", "请在启动它的地方手动输入："),
    "nothing": (
        "there is nothing to change; --set FLAG=VALUE and others say what to change",
        "没有需要改动的内容；可用 --set 参数=值 等选项指定",
    ),
    "refused.edit": ("its command cannot be changed safely: {why}", "无法安全地修改其命令：{why}"),
    "refused.left": (
        "a container has no place for a part of what was asked for: {changes} ({why})",
        "容器中没有地方放置部分改动：{changes}（{why}）",
    ),
    "refused.image": (
        "the image {image} is not there; docker pull {image}",
        "镜像 {image} 不存在；请先 docker pull {image}",
    ),
    "refused.sources": (
        "{path} is to be mounted and is not there; Docker would make an empty folder of it",
        "要挂载的 {path} 不存在；Docker 会把它建成空目录",
    ),
    "refused.files": (
        "the plan writes files beside the container, and its engine is on another machine",
        "方案需要在容器旁写入文件，但容器引擎在另一台机器上",
    ),
    "plan.unreadable": (
        "{file}: no plan of `sgdoctor fix --format json`: {why}",
        "{file}：不是 `sgdoctor fix --format json` 的方案：{why}",
    ),
    "plan.hidden": (
        "{file}: secrets are hidden in this plan; make it with --no-redact",
        "{file}：方案中的机密信息已隐去；请用 --no-redact 重新生成",
    ),
    "plan.other": (
        "{file}: this plan was made for another launch than that of {name} at this moment; make it again",
        "{file}：该方案针对的启动配置与 {name} 目前的不同；请重新生成",
    ),
    "usage.image": (
        "--image needs the name or the tag of an image: --image v0.5.16",
        "--image 需要镜像名或标签：--image v0.5.16",
    ),
    "usage.plan": (
        "--plan says all that is to be changed; leave out {options}",
        "--plan 已包含全部改动；请去掉 {options}",
    ),
    "usage.resume": (
        "--resume goes on with what was begun; leave out {options}",
        "--resume 只是继续已开始的重启；请去掉 {options}",
    ),
    "usage.timeout": ("--ready-timeout: {given} is not a number above 0", "--ready-timeout：{given} 不是大于 0 的数"),
    "usage.to": ("--to: {given} is neither good nor original nor a number", "--to：{given} 不是 good、original 或编号"),
    "no_terminal": (
        "nobody can be asked here; --yes says that it is all right",
        "这里无法询问；请用 --yes 表示同意",
    ),
    "ask.name": (
        "It runs and is going to be stopped. Type its name to go on ({name}): ",
        "它正在运行，将被停止。请输入其名称以继续（{name}）：",
    ),
    "ask.yes": ("Go on? [y/N] ", "继续吗？[y/N] "),
    "not_agreed": ("{name}: left as it is.", "{name}：保持不变。"),
    # On the way
    "step.failed": ("{step}: {why}", "{step}：{why}"),
    "stopping": (
        "Stopping: everything goes back to what it was. Please wait.",
        "正在中止：恢复原状，请稍候。",
    ),
    "stopping.again": (
        "The way back is under way. Once more leaves it unfinished; then: sgdoctor rollback {name}",
        "正在恢复。再按一次将中途退出；之后请运行：sgdoctor rollback {name}",
    ),
    # After
    "log": ("Its log: {path}", "日志：{path}"),
    "done": (
        "{name} serves with the new launch, after {time}; back: sgdoctor rollback {name}",
        "{name} 已用新的启动配置提供服务，用时 {time}；恢复：sgdoctor rollback {name}",
    ),
    "done.rollback": (
        "{name} serves again with launch {number}, after {time}.",
        "{name} 已恢复到第 {number} 次启动并提供服务，用时 {time}。",
    ),
    "done.failed_before": (
        "{name} is at launch {number} again, as it was. That launch failed before.",
        "{name} 已原样恢复到第 {number} 次启动，它之前失败过。",
    ),
    "back.runs": (
        "{name}: it failed and was undone; the old server runs again. {why}",
        "{name}：失败并已撤销；旧服务已重新运行。{why}",
    ),
    "back.stands": (
        "{name}: it failed and was undone; everything is as before. {why}",
        "{name}：失败并已撤销；一切恢复原状。{why}",
    ),
    "stopped": ("{name}: stopped by you; everything is as before.", "{name}：已被你中止；一切恢复原状。"),
    "undone": ("{name}: the relaunch was undone; everything is as before.", "{name}：重启已撤销；一切恢复原状。"),
    "refused.nothing": ("{name}: nothing was changed: {why}", "{name}：未做任何改动：{why}"),
    "open": (
        "{name}: not finished: {why} Go back: sgdoctor rollback {name}; go on: sgdoctor relaunch {name} --resume",
        "{name}：尚未完成：{why}恢复：sgdoctor rollback {name}；继续：sgdoctor relaunch {name} --resume",
    ),
    "open.stopped": ("You left it.", "你中途退出了。"),
    # Open journals
    "unfinished": (
        (
            "a relaunch of {name} was cut off on {time} at: {step}. Go back: sgdoctor rollback {name}; go on: sgdoctor "
            "relaunch {name} --resume"
        ),
        (
            "{name} 的一次重启于 {time} 中断，停在：{step}。恢复：sgdoctor rollback {name}；"
            "继续：sgdoctor relaunch {name} --resume"
        ),
    ),
    "under_way": (
        "{name} is being relaunched at this moment by process {pid}, at: {step}",
        "{name} 正在由进程 {pid} 重启，进行到：{step}",
    ),
    "unfinished.before": ("the beginning", "开始"),
    "open_elsewhere": (
        (
            "a relaunch of {name} on another container engine ({places}) has no end; that is none of this one. For "
            "that one: set DOCKER_HOST."
        ),
        "{name} 在另一个容器引擎（{places}）上的重启尚未结束，与当前引擎无关。若要处理，请设置 DOCKER_HOST。",
    ),
    "place.unknown": ("unknown", "未知"),
    "damaged": (
        (
            "{path} cannot be read ({why}). A relaunch may have been cut off there, with its containers half way: "
            "docker ps -a --filter label=sgdoctor.relaunch shows them. Once they are as they should be: "
            "mv {path} {path}.damaged"
        ),
        (
            "无法读取 {path}（{why}）。可能有一次重启在此中断，相关容器可能处于中间状态："
            "可用 docker ps -a --filter label=sgdoctor.relaunch 查看。确认容器无误后：mv {path} {path}.damaged"
        ),
    ),
    "damaged.ended": (
        (
            "{path} cannot be read ({why}). Its relaunch had ended; only the history lacks it, and there may be no way "
            "back to its launch. To leave it at that: mv {path} {path}.damaged"
        ),
        (
            "无法读取 {path}（{why}）。该次重启已经结束，只是历史中缺少它，可能无法恢复到那次启动。"
            "若保持现状：mv {path} {path}.damaged"
        ),
    ),
    "none_open": ("{name}: no relaunch of it was cut off", "{name}：没有被中断的重启"),
    # Rollback
    "rollback.head": ("Back to launch {number} of {name}", "将 {name} 恢复到第 {number} 次启动"),
    "rollback.undo": (
        "Undo the relaunch of {name} that was cut off at: {step}",
        "撤销 {name} 在以下步骤中断的重启：{step}",
    ),
    "resume.head": (
        "Go on with the relaunch of {name} that was cut off at: {step}",
        "继续 {name} 在以下步骤中断的重启：{step}",
    ),
    "rollback.same": ("The command is the same.", "命令相同。"),
    "rollback.kept": ("Its container is still there and takes its place again.", "它的容器仍在，将重新接管。"),
    "rollback.other_name": (
        "{name} has another name now: sgdoctor rollback {now}",
        "{name} 现在改用其他名称：sgdoctor rollback {now}",
    ),
    "rollback.renamed": (
        "Its container is still there, named {now}, and takes its place again.",
        "它的容器仍在，现名 {now}，将重新接管。",
    ),
    "rollback.anew": ("Its container is gone; one like it is made.", "它的容器已不存在，将按原样重建。"),
    "rollback.failed": (
        "That launch failed: {title} It is put back and started, and not waited for.",
        "那次启动失败过：{title}将恢复并启动它，但不等待就绪。",
    ),
    "rollback.compose": ("Through its compose file.", "通过其 compose 文件。"),
    # History
    "history.none": ("{name}: no relaunch of this container is known here.", "{name}：这里没有该容器的重启记录。"),
    "history.elsewhere": (
        "Relaunches of a container of this name on other engines: {count} ({places}). DOCKER_HOST shows them.",
        "其他容器引擎上同名容器的重启：{count} 次（{places}）。设置 DOCKER_HOST 即可查看。",
    ),
    "history.original": ("as it was before the first relaunch", "第一次重启之前的启动"),
    "history.current": ("now", "当前"),
    "ending.done": ("served", "已提供服务"),
    "ending.back": ("failed, went back", "失败，已恢复"),
    "ending.open": ("not finished", "未完成"),
    "ending.failed": ("failed", "失败"),
    "ending.stopped": ("stopped before it served", "就绪前被停止"),
    "history.rollback": ("back to an earlier launch", "恢复到之前的启动"),
    "history.times": ("ready after {ready}, {total} in all", "{ready}后就绪，共 {total}"),
    "history.total": ("{total} in all", "共 {total}"),
    "history.rule": ("more: sgdoctor explain {rule}", "详见 sgdoctor explain {rule}"),
    "history.closing": (
        "{name}: {launches}; launch {number} holds the name.",
        "{name}：共 {launches}；当前为第 {number} 次。",
    ),
    "history.closing_removed": (
        "{name}: {launches}; there is no container of this name now.",
        "{name}：共 {launches}；目前没有使用该名称的容器。",
    ),
    "history.closing_by_others": (
        "{name}: {launches}; somebody else made the container that has the name now.",
        "{name}：共 {launches}；目前使用该名称的容器由其他人创建。",
    ),
    "history.process_runs_first": ("{name}: 1 start; it runs now.", "{name}：共 1 次启动；正在运行。"),
    "history.process_runs": (
        "{name}: {count} starts; start {number} runs now.",
        "{name}：共 {count} 次启动；第 {number} 次正在运行。",
    ),
    "history.process_stood_once": ("{name}: 1 start; it has ended.", "{name}：共 1 次启动；已结束。"),
    "history.process_stands": ("{name}: {count} starts; none runs now.", "{name}：共 {count} 次启动；目前没有运行。"),
    "process.only": (
        (
            "{name} is a process of sgdoctor run and no container: it is acted on where it was started, in the app of "
            "sgdoctor run --tui (f, r, u, h). Its starts: sgdoctor history {name}"
        ),
        (
            "{name} 是 sgdoctor run 启动的进程，不是容器：请在启动它的地方操作，"
            "即 sgdoctor run --tui 的界面（f、r、u、h）。"
            "它的历次启动：sgdoctor history {name}"
        ),
    ),
    "process.runs": ("runs", "正在运行"),
    "process.open": ("was cut off", "被中断"),
    "process.served_failed": ("served, then failed", "提供服务后失败"),
    "process.ready": ("ready after {time}", "{time}后就绪"),
    "process.serving": ("served for {time}", "提供服务 {time}"),
    "process.ran": ("{time} in all", "共 {time}"),
    # Forget
    "forget.container": ("container {name} ({state})", "容器 {name}（{state}）"),
    "forget.logs": ("saved logs: {count} ({size})", "{count} 份保存的日志（{size}）"),
    "forget.files": (
        "links to a model and corrected files: {folder}",
        "指向模型的链接和修正后的文件：{folder}",
    ),
    "forget.journals": ("journals of relaunches that have ended: {count}", "{count} 份已结束的重启记录"),
    "forget.head": (
        "To be removed of {name}; there is no way back to these launches then:",
        "将删除 {name} 的以下内容，此后无法恢复到这些启动：",
    ),
    "forget.none": ("{name}: nothing is kept of it.", "{name}：没有保留任何内容。"),
    "forget.runs": ("{name} runs; it was left alone", "{name} 正在运行，未作改动"),
    "forget.damaged": (
        "{name}: nothing was removed: a relaunch of it may have been cut off.",
        "{name}：未删除任何内容：它的一次重启可能被中断。",
    ),
    "forget.failed": ("{name} could not be removed: {why}", "无法删除 {name}：{why}"),
    "forget.done": ("{name}: removed.", "{name}：已删除。"),
    "forget.partly": ("{name}: not all of it could be removed.", "{name}：未能全部删除。"),
}


def words(lang: str, key: str, /, **values: Any) -> str:
    """A text in ``en`` or ``zh`` with its values filled in."""
    english, chinese = _TEXTS[key]
    return (chinese if lang == "zh" else english).format(**values)
