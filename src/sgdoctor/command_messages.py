"""What the commands say: their help, and what only one of them answers; in English and Chinese."""

from collections.abc import Mapping
from typing import Final

COMMANDS: Final[Mapping[str, tuple[str, str]]] = {
    "about": (
        "Why did my SGLang server die? Reads the log, names the cause with its evidence line, and says what cures it.",
        "SGLang 服务为什么挂了？读取日志，指出原因和作为证据的那一行，并告诉你怎么修。",
    ),
    "usage": ("usage: ", "用法："),
    "actions": ("actions", "操作"),
    "commands": ("commands", "命令"),
    "options": ("options", "选项"),
    "arguments": ("arguments", "参数"),
    "help.help": ("show this help and leave", "显示帮助并退出"),
    "help.version": ("show the version and leave", "显示版本并退出"),
    "help.lang": ("language of the output; default: from the locale", "输出语言；默认取自系统区域设置"),
    "help.diagnose": ("name the cause of a failure, from a log or a container", "从日志或容器找出故障的原因"),
    "help.watch": ("follow a server while it starts, serves or dies", "跟踪服务的启动、运行和退出"),
    "help.run": ("start a server without a container and stay with it", "不用容器启动服务并一直跟踪"),
    "help.demo": ("see it at work on a recorded start", "用录制的启动过程演示"),
    "help.fix": ("plan the change that cures it, for this launch and card", "针对这份启动配置和这张卡，给出修复方案"),
    "help.preflight": ("find what would fail before the first start", "在首次启动之前找出会失败的地方"),
    "help.relaunch": (
        "relaunch a container with the corrected flags, with a way back",
        "用修正后的参数重启容器，随时可恢复",
    ),
    "help.heal": (
        "relaunch with one fix after the other until a server is verified",
        "逐个修复并重启，直到服务通过验证",
    ),
    "help.rollback": ("go back to an earlier launch of a container", "恢复容器之前的启动配置"),
    "help.history": ("the launches that a container has had", "容器经历过的各次启动"),
    "help.forget": ("remove what was kept of earlier launches", "删除以往启动所保留的内容"),
    "help.explain": ("what a rule means, offline", "离线查看某条规则的说明"),
    "help.rules": ("list, show, check and test rules", "列出、查看、检查和测试规则"),
    "help.flags": ("the flags of every SGLang version, and checks of a command", "各版本 SGLang 的参数，以及命令检查"),
    "help.completion": ("print a shell completion script", "输出 shell 补全脚本"),
    "diagnose.about": (
        (
            "Reads logs (plain, .gz, .zst; '-' is standard input) or the log of a container and how it ended, and says "
            "what went wrong, why, and what cures it. Exit code: 0 nothing is wrong, 3 a failure was diagnosed, "
            "4 warnings only, 5 it failed and the cause is not determined, 2 bad usage or unreadable input."
        ),
        (
            "读取日志文件（普通文件、.gz、.zst；“-” 表示标准输入），或容器的日志和退出情况，"
            "说明出了什么问题、为什么、怎么修。"
            "退出码：0 没有问题，3 已诊断出故障，4 只有警告，5 已失败但原因无法确定，2 用法错误或无法读取输入。"
        ),
    ),
    "diagnose.file": ("log file, or a container; '-' reads standard input", "日志文件或容器；“-” 表示标准输入"),
    "diagnose.all_attempts": ("every start in the log, not only the newest", "日志中的每次启动，而不只是最新一次"),
    "diagnose.format": ("text (default), json, md or sarif", "text（默认）、json、md 或 sarif"),
    "diagnose.facts": ("list what was read from the log", "列出从日志中读到的数值"),
    "diagnose.phases": ("show the course of the start with times and memory", "显示启动过程的耗时和显存"),
    "diagnose.notices": (
        "show what looks alarming and is not",
        "显示看起来吓人但其实正常的内容",
    ),
    "diagnose.no_redact": ("show tokens, keys and passwords too", "同时显示令牌、密钥和密码"),
    "diagnose.rules": ("read more rules from this folder", "从该目录读取更多规则"),
    "watch.about": (
        (
            "Follows the log of a container, a file or standard input ('-'): phase by phase, what is normal, what went "
            "wrong, why, and what cures it. Without a name: the container that runs SGLang. Opens the app on a "
            "terminal, prints lines elsewhere. Exit code: as of diagnose, for the newest start."
        ),
        (
            "跟踪容器、文件或标准输入（“-”）的日志：逐个阶段说明进展、什么是正常的、出了什么问题、为什么、怎么修。"
            "不给名称时选择运行 SGLang 的容器。在终端中打开界面，否则逐行输出。"
            "退出码与 diagnose 相同，以最新一次启动为准。"
        ),
    ),
    "watch.target": (
        "name, id or compose service of a container, which need not exist yet; '-' reads standard input",
        "容器的名称、ID 或 compose 服务名，可以尚不存在；“-” 表示标准输入",
    ),
    "watch.file": ("follow a log file instead", "改为跟踪日志文件"),
    "watch.speed": (
        "play the file with its own clock, N times faster",
        "按日志自身的时间回放文件，速度为 N 倍",
    ),
    "watch.until_ready": (
        "leave with code 0 when it serves, with 3 when it failed",
        "服务就绪时以退出码 0 结束，失败时以 3 结束",
    ),
    "watch.read_only": (
        "act on nothing: neither containers nor the files that start them are changed",
        "只读：既不改动容器，也不改动用于启动它们的文件",
    ),
    "watch.plain": ("print lines, also on a terminal", "即使在终端中也逐行输出"),
    "watch.one_target": ("give a container or --file, not both", "容器和 --file 只能给一个"),
    "watch.path": (
        "{given} is a path, and no name of a container has a /. Follow a log file: sgdoctor watch --file {given}",
        "{given} 是路径，而容器名中没有 /。跟踪日志文件请用：sgdoctor watch --file {given}",
    ),
    "watch.speed_needs_file": ("--speed is for --file", "--speed 只能与 --file 一起使用"),
    "watch.speed_range": ("--speed: {given} is not a number above 0", "--speed：{given} 不是大于 0 的数"),
    "watch.attempt": ("--- attempt {number}", "--- 第 {number} 次启动"),
    "watch.attempt_ended": ("attempt {number} {state}: {title}", "第 {number} 次启动{state}：{title}"),
    "watch.ready": ("ready", "就绪"),
    "watch.usual": (" (usual here: {low} to {high})", "（本机通常为 {low}到 {high}）"),
    "watch.serving": ("{closing} Serving on {address}", "{closing}服务地址：{address}"),
    "fix.about": (
        (
            "Turns a diagnosis into a plan: every change at once, also against what would fail next, as a diff of the "
            "launch in its own form, with the memory that is to be expected. Changes no container. Exit code: 0 "
            "nothing to change, 3 a failure was diagnosed and planned for, 4 warnings only, 5 not determined, 2 bad "
            "input."
        ),
        (
            "把诊断变成方案：一次列出全部改动，包括预防接下来的故障，按启动配置原有的格式给出差异，并预测显存。"
            "不会改动任何容器。退出码：0 无需改动，3 已诊断出故障并给出方案，4 只有警告，5 无法确定，2 输入有误。"
        ),
    ),
    "fix.target": (
        "log file, container, compose.yaml[:service], script, or a command behind '--'; '-' reads a command",
        "日志文件、容器、compose.yaml[:服务]、脚本，或写在 “--” 之后的命令；“-” 从标准输入读取命令",
    ),
    "fix.from": ("log of this launch: a file or a container", "这次启动的日志：文件或容器"),
    "fix.choose": ("take this fix (repeatable)", "采用这个办法（可重复）"),
    "fix.set": ("set a flag of the engine (repeatable)", "设置引擎参数（可重复）"),
    "fix.unset": ("leave a flag of the engine out (repeatable)", "去掉引擎参数（可重复）"),
    "fix.env": ("set a variable of the environment (repeatable)", "设置环境变量（可重复）"),
    "fix.write": (
        "write the new text: to FILE, or without it in place, with a backup",
        "写出新文本：写到指定文件；不给文件名则原地修改并保留备份",
    ),
    "fix.version": ("version of SGLang, where log and image do not say it", "日志和镜像都未说明时的 SGLang 版本"),
    "fix.format": ("text (default), json or patch", "text（默认）、json 或 patch"),
    "fix.no_target": (
        "name a log, a container, a compose file or a script, or put a command behind '--'",
        "请给出日志、容器、compose 文件或脚本，或把命令写在 “--” 之后",
    ),
    "fix.write_took_target": (
        "; did you mean: sgdoctor fix {given} --write",
        "；你是想运行：sgdoctor fix {given} --write",
    ),
    "fix.patch_hidden": (
        "secrets are hidden in this patch, so it does not apply as it is; --no-redact or --write help",
        "补丁中的机密信息已隐去，无法直接应用；可用 --no-redact 或 --write",
    ),
    "fix.origin.compose": ("compose file", "compose 文件"),
    "fix.origin.container": ("container", "容器"),
    "fix.origin.docker-run": ("docker run command", "docker run 命令"),
    "fix.origin.script": ("script", "脚本"),
    "fix.origin.command": ("command", "命令"),
    "fix.origin.log": ("launch as the log shows it", "日志中显示的启动参数"),
    "fix.log": ("log: {name}", "日志：{name}"),
    "fix.explain": ("more: sgdoctor explain {rule}", "详见 sgdoctor explain {rule}"),
    "fix.problems": ("Wrong as written", "写法上的问题"),
    "fix.changes": ("What to change", "要改什么"),
    "fix.no_changes": ("Nothing that could be changed here.", "这里没有可以改动的内容。"),
    "fix.why": ("Because: {text}", "因为：{text}"),
    "fix.diff": ("The launch", "启动配置"),
    "fix.memory": ("GPU memory, as computed", "显存（计算值）"),
    "fix.memory.now": ("now", "现在"),
    "fix.memory.then": ("then", "之后"),
    "fix.memory.fraction": ("static fraction", "静态比例"),
    "fix.memory.slots": ("state slots", "状态槽"),
    "fix.memory.tokens": ("KV cache, tokens", "KV 缓存（token）"),
    "fix.memory.windows": ("sliding windows, tokens", "滑动窗口（token）"),
    "fix.memory.requests": ("requests at once", "同时请求数"),
    "fix.memory.longest": ("longest request, tokens", "单个请求上限（token）"),
    "fix.memory.left": ("stays free", "剩余显存"),
    "fix.memory.fails_now": ("Now it fails: {message}", "现在会失败：{message}"),
    "fix.memory.fails_then": ("It would still fail: {message}", "改后仍会失败：{message}"),
    "fix.refused": (
        "This text cannot be changed safely: {why}. To be typed by hand:",
        "无法安全地修改这份文本：{why}。请手动输入：",
    ),
    "fix.note": ("Note: {text}", "说明：{text}"),
    "fix.notices": ("Worth knowing", "值得注意"),
    "fix.by_hand": ("What to do by hand", "需要手动完成的"),
    "fix.left": ("What cannot be done here", "需要手动完成的"),
    "fix.alternatives": ("Other ways", "其他办法"),
    "fix.written": ("Written: {name}", "已写入：{name}"),
    "fix.kept": ("The copy of before: {name}", "修改前的副本：{name}"),
    "fix.closing.nothing": ("nothing to change.", "无需改动。"),
    "fix.closing.unmeasured": (
        "nothing to change as written; the memory was not computed.",
        "写法上无需改动；未计算显存。",
    ),
    "fix.closing.warned": ("nothing to change; warnings: {count}.", "无需改动；警告：{count} 条。"),
    "fix.closing.by_hand": (
        "to be done by hand: {count}; nothing can be changed here.",
        "需要手动完成：{count} 项；这里没有可改的。",
    ),
    "fix.closing.impossible": (
        "nothing can be changed here; see what is to be done by hand.",
        "这里没有可改的；请看需要手动完成的部分。",
    ),
    "fix.closing.to_type": (
        "changes to be typed by hand: {count} ({safety})",
        "需要手动输入：{count} 处改动（{safety}）",
    ),
    "fix.closing.wrong": (
        "wrong as written: {count}; nothing can be changed here.",
        "写法有误：{count} 处；这里没有可以改动的内容。",
    ),
    "fix.closing.one": ("planned: 1 change ({safety})", "方案：1 处改动（{safety}）"),
    "fix.closing.several": ("planned: {count} changes ({safety})", "方案：{count} 处改动（{safety}）"),
    "fix.closing.predicted": (
        ", {predicted} against what would fail next",
        "，其中 {predicted} 处用于预防接下来的故障",
    ),
    "fix.closing.left": (", some things are left to be done by hand", "，另有需要手动完成的部分"),
    "basis.asked": ("as you asked", "按你的要求"),
    "basis.found": ("seen in the log", "日志中已出现"),
    "basis.written": ("as written", "写法问题"),
    "basis.predicted": ("predicted: would fail next", "预测：否则接着会失败"),
    "preflight.about": (
        (
            "Checks a launch before its start: host, launch, command, model and memory, in seconds, starting nothing. "
            "Says how the start would end and when, and plans one change against all of it. Without a target: the "
            "compose file here, else the host alone. Exit code: 0 nothing speaks against a start, 3 it would fail, 4 "
            "warnings only, 2 bad usage."
        ),
        (
            "在启动之前检查主机、启动配置、命令、模型和显存：只需几秒，不启动任何东西。说明启动会在何时、以何种方式失败，"
            "并给出一次解决全部问题的方案。不给目标时检查当前目录的 compose 文件，没有则只检查主机。"
            "退出码：0 没有问题，3 会失败，4 只有警告，2 用法错误。"
        ),
    ),
    "preflight.target": (
        "compose.yaml[:service], container, script, or a command behind '--'; '-' reads a command",
        "compose.yaml[:服务]、容器、脚本，或写在 “--” 之后的命令；“-” 从标准输入读取命令",
    ),
    "preflight.gpu": (
        "take these cards instead of those here: 3090, 2x4090, 24GiB:sm86",
        "假定使用这些显卡而不是本机的：3090、2x4090、24GiB:sm86",
    ),
    "preflight.model": ("folder of the model, where the launch does not lead to it", "模型目录（启动配置未指向它时）"),
    "preflight.version": ("version of SGLang instead of that of the image", "以此 SGLang 版本代替镜像中的版本"),
    "preflight.fix": ("show the launch with the changes", "显示修改后的启动配置"),
    "preflight.deep": (
        "start a throw-away container to prove that it gets a card (asks first)",
        "启动一个临时容器，验证它能否使用显卡（会先询问）",
    ),
    "preflight.yes": ("answer the question of --deep with yes", "对 --deep 的询问回答“是”"),
    "preflight.write_compose": (
        "write a first compose file for --model and a card: to FILE, or without it to the screen",
        "为 --model 和显卡生成初始 compose 文件：写到指定文件；不给文件名则输出到屏幕",
    ),
    "preflight.use": (
        "what --write-compose is for: single (default), agents or many",
        "--write-compose 的用途：single（默认）、agents 或 many",
    ),
    "preflight.deep_question": (
        "This starts a container of {image} without network for a moment, with the cards of the launch. Go on? [y/N] ",
        "这会短暂启动一个 {image} 容器（无网络，使用启动配置中的显卡）。继续吗？[y/N] ",
    ),
    "preflight.deep_refused": (
        "--deep asks before it starts a container; without a terminal say --yes",
        "--deep 启动容器前会询问；没有终端时请加 --yes",
    ),
    "preflight.deep_no_image": (
        "--deep needs a launch in a container, and Docker",
        "--deep 需要容器方式的启动配置以及 Docker",
    ),
    "preflight.more_files": (
        "this file needs others beside it, which --write-compose FILE writes: {names}",
        "该文件还需要旁边的其他文件，使用 --write-compose 文件名 会一并写出：{names}",
    ),
    "preflight.needs_model": ("--write-compose needs --model DIR", "--write-compose 需要 --model 目录"),
    "preflight.log": (
        "{name}: this is a log; sgdoctor diagnose reads it",
        "{name}：这是日志；请用 sgdoctor diagnose",
    ),
    "preflight.no_plan": ("there is no launch to be changed; name a target", "没有可以修改的启动配置；请指定目标"),
    "preflight.host_alone": ("this host", "本机"),
    "preflight.area.host": ("Host", "主机"),
    "preflight.area.launch": ("Launch", "启动配置"),
    "preflight.area.command": ("Command", "命令"),
    "preflight.area.model": ("Model", "模型"),
    "preflight.area.memory": ("Memory", "显存"),
    "preflight.course": ("What would happen", "将会发生什么"),
    "preflight.at_once": ("at once", "立即"),
    "preflight.after": ("after {low} to {high}", "{low}到 {high}后"),
    "preflight.repeated": (
        "The restart policy would start it again and again.",
        "重启策略会使它反复启动。",
    ),
    "preflight.silently": ("no error", "不报错"),
    "preflight.more": (
        "--fix shows the launch with these changes, --write writes it.",
        "--fix 显示修改后的启动配置，--write 写入文件。",
    ),
    "preflight.closing.fails": (
        "it would not start: {title} (checks that fail: {fails}, that warn: {warns}).",
        "启动会失败：{title}（失败 {fails} 项，警告 {warns} 项）。",
    ),
    "preflight.closing.wrong": (
        "it would start and serve something wrong: {title} (checks that fail: {fails}, that warn: {warns}).",
        "能启动但结果有误：{title}（失败 {fails} 项，警告 {warns} 项）。",
    ),
    "preflight.closing.warns": (
        "it should start; look at the warnings first ({warns}).",
        "应能启动；请先看警告（{warns} 项）。",
    ),
    "preflight.closing.unseen": (
        "no command of an engine could be checked, only the host and the container (warnings: {warns}).",
        "没有可检查的引擎启动命令，只检查了主机和容器（警告 {warns} 项）。",
    ),
    "preflight.closing.unchecked": (
        "nothing that was checked stops it (warnings: {warns}). Not checked: {what}.",
        "已检查的各项都不妨碍启动（警告 {warns} 项）。未检查：{what}。",
    ),
    "preflight.unchecked.model": ("the model", "模型"),
    "preflight.unchecked.memory": ("the memory of the card", "显存"),
    "preflight.unchecked.more": ("{count} more", "另有 {count} 项"),
    "preflight.closing.fine": ("nothing speaks against a start.", "没有发现妨碍启动的问题。"),
    "preflight.closing.host_fine": ("nothing is wrong with this host.", "本机没有问题。"),
    "preflight.closing.skipped": (" Not checked: {skipped}.", "未能检查 {skipped} 项。"),
    "demo.about": (
        (
            "Plays a recorded start that failed, with its diagnosis, and one of the same model that serves, in the app "
            "of watch. Needs neither Docker nor a GPU. Prints lines where there is no terminal."
        ),
        (
            "在 watch 的界面中回放一次失败的真实启动及其诊断，以及同一模型的一次成功启动。"
            "不需要 Docker 和 GPU。不在终端中时逐行输出。"
        ),
    ),
    "demo.speed": ("N times as fast as it was; default: {speed}", "速度为实际的 N 倍；默认 {speed}"),
    "explain.about": (
        "Explains a rule: what its failure means, how it looks in a log, and what cures it. Needs no network.",
        "说明一条规则：故障的含义、在日志中的样子以及怎么修。无需联网。",
    ),
    "explain.code": ("id (SGL401) or name of a rule, or a word in its title", "规则编号（SGL401）、名称或标题中的词"),
    "completion.about": (
        "Prints a script that completes the commands and options of sgdoctor in a shell.",
        "输出一个脚本，用于在 shell 中补全 sgdoctor 的命令和选项。",
    ),
    "completion.shell": ("bash, zsh or tcsh", "bash、zsh 或 tcsh"),
    # What stands for a value in help
    "metavar.FILE": ("FILE", "文件"),
    "metavar.DIR": ("DIR", "目录"),
    "metavar.PATH": ("PATH", "路径"),
    "metavar.COMMAND": ("COMMAND", "命令"),
    "metavar.ACTION": ("ACTION", "操作"),
    "metavar.CODE": ("CODE", "编号"),
    "metavar.RULE": ("RULE", "规则"),
    "metavar.NAME": ("NAME", "名称"),
    "metavar.LEVEL": ("LEVEL", "级别"),
    "metavar.FAMILY": ("FAMILY", "类别"),
    "metavar.CONTAINER": ("CONTAINER", "容器"),
    "metavar.TARGET": ("TARGET", "目标"),
    "metavar.LOG": ("LOG", "日志"),
    "metavar.FIX": ("FIX", "办法"),
    "metavar.FLAG": ("FLAG", "参数"),
    "metavar.FLAG=VALUE": ("FLAG=VALUE", "参数=值"),
    "metavar.NAME=VALUE": ("NAME=VALUE", "名称=值"),
    "metavar.VERSION": ("VERSION", "版本"),
    "metavar.CARD": ("CARD", "显卡"),
    "metavar.USE": ("USE", "用途"),
    "metavar.WORD": ("WORD", "词"),
    "metavar.LAUNCH": ("LAUNCH", "编号"),
    "metavar.SECONDS": ("SECONDS", "秒"),
    "metavar.IMAGE": ("IMAGE", "镜像"),
    "metavar.WHEEL": ("WHEEL", "WHEEL 文件"),
    "metavar.PROGRAM": ("PROGRAM", "程序"),
    "metavar.TIME": ("TIME", "时间"),
    "metavar.LOG:LINE": ("LOG:LINE", "日志:行号"),
}
