"""What ``sgdoctor heal`` says, in English and Chinese."""

from collections.abc import Mapping
from typing import Any, Final

_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "about": (
        (
            "Heals a container: reads why its start failed, relaunches it with the corrected flags, follows the new "
            "start, and goes on from how that one fails, until a server is ready and has answered a question well, or "
            "the original launch is back. No launch is tried twice. Only safe fixes are made; what a fix costs is "
            "asked about. Exit code: 0 a server is verified, 3 not healed and everything is as before, 5 likewise "
            "because the cause is not determined, 4 it serves and could not be asked, or a journal is open, 2 refused, "
            "not agreed to or bad usage, 130 you stopped it."
        ),
        (
            "修好一个容器：找出启动失败的原因，用修正后的参数重启，跟踪新的启动，如果再次失败就从新的失败继续，"
            "直到服务就绪并正确回答一个问题，或者恢复最初的启动配置。同一启动配置不会尝试两次。只采用安全的办法；"
            "有代价的办法会先询问。退出码：0 服务已验证，3 未修好且一切恢复原状，5 同上，因为原因无法确定，"
            "4 已提供服务但无法询问，或重启记录未结束，2 被拒绝、你没有同意或用法错误，130 被你中止。"
        ),
    ),
    "max_attempts": ("relaunches at most (default 3)", "最多重启几次（默认 3）"),
    "deadline": ("time for all of it: 900, 15m, 1h (default: none)", "总时限：900、15m、1h（默认不限）"),
    "verify": (
        "whether the server is asked for its models and an answer (default), or ready is enough",
        "是否检查模型列表和一个回答（默认检查），否则就绪即可",
    ),
    "allow_unsafe": (
        "take fixes that can make answers worse, too, without asking",
        "也采用可能降低回答质量的办法，不再询问",
    ),
    "format": ("text (default), json or md", "text（默认）、json 或 md"),
    "usage.attempts": (
        "--max-attempts: {given} is not a number from 1 on",
        "--max-attempts：{given} 不是大于等于 1 的整数",
    ),
    "usage.deadline": (
        "--deadline: {given} is no time; write it as 900, 15m or 1h",
        "--deadline：{given} 不是时间；写法如 900、15m、1h",
    ),
    # Before and on the way
    "head_once": ("Healing {name} by one relaunch:", "修复 {name}，重启一次："),
    "head": (
        "Healing {name}: up to {tries} relaunches, each drawn from how the one before fails. The first one:",
        "修复 {name}：最多重启 {tries} 次，每次都依据上一次的失败。第一次：",
    ),
    "waiting": ("{name} runs. Its answers are asked for.", "{name} 正在运行，正在检查它的回答。"),
    "try": ("Relaunch {number} of at most {tries}: {changes}", "第 {number} 次重启（最多 {tries} 次）：{changes}"),
    "bisected": (
        "between what was too low and what was too high",
        "取过低值与过高值的中间",
    ),
    "ask.unsafe": (
        "This can make answers worse: {what} Take it? [y/N] ",
        "这可能降低回答质量：{what}采用吗？[y/N] ",
    ),
    # The report
    "report": ("What was tried", "尝试过的启动"),
    "found": ("As it was found", "最初的启动"),
    "relaunch": ("Relaunch {number}", "第 {number} 次重启"),
    "tried": ("{name}: {result}", "{name}：{result}"),
    "no_changes": ("the launch as it is", "原有的启动配置"),
    "result.verified": ("ready and verified", "就绪并通过验证"),
    "result.serves": ("ready", "就绪"),
    "result.faulty": ("ready, and its answers are wrong", "就绪，但回答有误"),
    "result.failed": ("failed", "失败"),
    "result.idle": ("does not run", "未在运行"),
    "result.refused": ("not carried out", "未执行"),
    "result.open": ("not finished", "未完成"),
    "result.stopped": ("stopped by you", "被你中止"),
    "check": ("{title}: {detail}", "{title}：{detail}"),
    "log": ("Its log: {path}", "日志：{path}"),
    "after": ("after {time}", "用时 {time}"),
    "pool": (
        "a KV cache of {tokens} tokens; requests at once: {requests}",
        "KV 缓存 {tokens} 个 token；同时请求数：{requests}",
    ),
    # The last line
    "end.verified": (
        "{name} is healed after {count} and {time}: it serves, and its answers were checked.",
        "{name} 已修好：{count}，用时 {time}；服务正常，回答已检查。",
    ),
    "end.well": (
        "{name} serves, and its answers were checked; there is nothing to heal.",
        "{name} 服务正常，回答已检查；无需修复。",
    ),
    "end.serves": (
        "{name} serves after {count} and {time}; its answers were not checked. {why}",
        "{name} 已提供服务；{count}，用时 {time}；回答未检查。{why}",
    ),
    "end.runs": ("{name} serves; its answers were not checked. {why}", "{name} 正在提供服务；回答未检查。{why}"),
    "end.faulty": (
        "{name}: not healed: it starts, and what it answers is wrong; why is not determined. {why}",
        "{name}：未修好：能启动，但回答有误，原因无法确定。{why}",
    ),
    "end.manual": ("{name}: not healed: only you can put this right. {why}", "{name}：未修好：需要你手动处理。{why}"),
    "end.undetermined": (
        "{name}: not healed: why it fails is not determined. {why}",
        "{name}：未修好：失败原因无法确定。{why}",
    ),
    "end.unsafe": (
        "{name}: not healed: what is left to try can make answers worse (--allow-unsafe). {why}",
        "{name}：未修好：剩下的办法可能降低回答质量（--allow-unsafe）。{why}",
    ),
    "end.does-not-fit": (
        "{name}: not healed: this model does not fit this card. {why}",
        "{name}：未修好：这张卡放不下该模型。{why}",
    ),
    "end.nothing-new": (
        "{name}: not healed: nothing is left to try. {why}",
        "{name}：未修好：没有可再尝试的办法。{why}",
    ),
    "end.idle": (
        "{name}: there is nothing to heal. {why} Start it: docker start {name}",
        "{name}：无需修复。{why}启动：docker start {name}",
    ),
    "end.limit": (
        "{name}: not healed. {why} More: --max-attempts",
        "{name}：未修好。{why}可用 --max-attempts 增加次数",
    ),
    "end.deadline": ("{name}: not healed. {why}", "{name}：未修好。{why}"),
    "end.stopped": ("{name}: stopped by you.", "{name}：已被你中止。"),
    "end.not-agreed": ("{name}: left as it is.", "{name}：保持不变。"),
    "end.refused": ("{name}: not relaunched. {why}", "{name}：未重启。{why}"),
    "end.open": (
        "{name}: not finished. {why} Go back: sgdoctor rollback {name}; go on: sgdoctor relaunch {name} --resume",
        "{name}：尚未完成。{why}恢复：sgdoctor rollback {name}；继续：sgdoctor relaunch {name} --resume",
    ),
    "as_before": ("Everything is as before.", "一切恢复原状。"),
    "untouched": ("Nothing was touched.", "未做任何改动。"),
    "one_relaunch": ("one relaunch", "重启 1 次"),
    "relaunches": ("{count} relaunches", "重启 {count} 次"),
}


def words(lang: str, key: str, /, **values: Any) -> str:
    """A text in ``en`` or ``zh`` with its values filled in."""
    english, chinese = _TEXTS[key]
    return (chinese if lang == "zh" else english).format(**values)
