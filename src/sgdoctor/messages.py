"""What the program itself says, in English and Chinese."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from sgdoctor.command_messages import COMMANDS

LANGUAGES: Final = ("en", "zh")

_LOCALE_VARIABLES: Final = ("LC_ALL", "LC_MESSAGES", "LANG")

MESSAGES: Final[Mapping[str, tuple[str, str]]] = {
    **COMMANDS,
    # Errors
    "error": ("sgdoctor: {text}", "sgdoctor：{text}"),
    "error.unknown_command": ("unknown command {given}{hint}", "未知命令 {given}{hint}"),
    "error.unknown_option": ("unknown option {given}{hint}", "未知选项 {given}{hint}"),
    "error.command_behind": (
        "; the flags of a command stand behind `--`: {program} -- ...",
        "；命令的参数要放在 `--` 之后：{program} -- ...",
    ),
    "error.or_command_behind": (
        " The flags of a command stand behind `--`: {program} -- ...",
        "命令的参数要放在 `--` 之后：{program} -- ...",
    ),
    "error.unknown_argument": ("unexpected argument {given}", "多余的参数 {given}"),
    "error.did_you_mean": ("; did you mean {close}?", "；你是想用 {close} 吗？"),
    "error.choice_unnamed": ("{given} is not one of {choices}{hint}", "{given} 不在可选值 {choices} 中{hint}"),
    "error.choice": ("{name}: {given} is not one of {choices}{hint}", "{name}：{given} 不在可选值 {choices} 中{hint}"),
    "error.missing": (
        "missing: {names} (usage: {usage}; more: {program} --help)",
        "缺少：{names}（用法：{usage}；详见 {program} --help）",
    ),
    "error.needs_value": ("{name} needs a value", "{name} 需要一个值"),
    "error.no_value": ("{name} takes no value", "{name} 不接受值"),
    "error.ambiguous": ("{given} could be any of {choices}", "{given} 可能是 {choices} 中的任何一个"),
    "error.usage": ("bad usage: {text}", "用法错误：{text}"),
    "error.stdin_twice": ("'-' can be given only once", "“-” 只能给一次"),
    "error.no_rule": (
        "there is no rule {given}{hint}; sgdoctor rules list shows all",
        "没有规则 {given}{hint}；sgdoctor rules list 列出全部规则",
    ),
    "error.file_as_command": (
        "{given} is a file; did you mean: sgdoctor diagnose {given}",
        "{given} 是文件；你是想运行：sgdoctor diagnose {given}",
    ),
    "error.input_unread": (
        "there is input and no command; did you mean: sgdoctor diagnose -",
        "有输入但没有命令；你是想运行：sgdoctor diagnose -",
    ),
    "error.rules_folder": ("{given} is not a folder", "{given} 不是目录"),
    "error.output": ("the answer cannot be written: {reason}", "无法写出结果：{reason}"),
    "error.internal": (
        (
            "internal error ({text}). Please report it, with the command and, if you can, the log. "
            "SGDOCTOR_DEBUG=1 shows the traceback."
        ),
        "内部错误（{text}）。请报告此问题，附上所用命令，如可能也附上日志。SGDOCTOR_DEBUG=1 会显示完整堆栈。",
    ),
    "warning.rule": ("rule left out: {text}", "规则未加载：{text}"),
    "warning.more_rules": (
        "further problems in rules: {count}; sgdoctor rules check tells them",
        "规则中还有 {count} 个问题：sgdoctor rules check",
    ),
    # Report
    "report.attempt": ("attempt {attempt} of {attempts}", "第 {attempt} 次启动，共 {attempts} 次"),
    "report.lines": ("lines {first}-{last}", "第 {first}-{last} 行"),
    "report.why": ("Why", "原因"),
    "report.evidence": ("Evidence", "证据"),
    "report.fixes": ("What to do", "怎么办"),
    "report.no_fix": ("No cure is known for these values.", "对于这些数值，尚无已知的修复办法。"),
    "report.cost": ("Cost: {text}", "代价：{text}"),
    "report.consequences": ("Only consequences: {list}", "只是后果：{list}"),
    "report.consequence": ("{title} (line {line})", "{title}（第 {line} 行）"),
    "report.and_more": ("and {count} more", "以及另外 {count} 个"),
    "report.more_alike": ("and {count:,} more of the same kind", "以及另外 {count:,} 个同类项"),
    "report.not_this": ("Not to be confused with", "不要混淆"),
    "report.references": ("More", "更多"),
    "report.count": ("{count} times", "{count} 次"),
    "report.times": ("{title} ({count} times)", "{title}（{count} 次）"),
    "report.line": ("line {line}", "第 {line} 行"),
    "report.unexplained": ("The first error that no rule explains", "规则库无法解释的第一个错误"),
    "report.unexplained_exception": ("An exception that no rule knows", "规则库中没有的异常"),
    "report.unknown_phase": ("It happened during: {phase}.", "发生阶段：{phase}。"),
    "report.unusual": ("Lines before it that no healthy start has", "在它之前出现、正常启动不会有的行"),
    "report.resembling": (
        "Rules that are worded alike and did not match (they may be about something else)",
        "措辞相似但未匹配的规则（可能说的是另一回事）",
    ),
    "report.make_rule": (
        "To make a rule of it: sgdoctor rules new NAME --family FAMILY --from LOG:{line}",
        "把它写成规则：sgdoctor rules new 名称 --family 类别 --from 日志:{line}",
    ),
    "report.would_decide": (
        "What would decide it: the whole log from its first line, with the lines before the failure.",
        "要作出判断，需要：从第一行开始的完整日志，包括故障之前的内容。",
    ),
    "report.notices": (
        "{count} messages look alarming and are harmless (--notices)",
        "{count} 类日志看起来吓人但无害（--notices）",
    ),
    "report.notices_one": (
        "1 message looks alarming and is harmless (--notices)",
        "1 类日志看起来吓人但无害（--notices）",
    ),
    "report.notes": ("{count} notes (--notices)", "{count} 条提示（--notices）"),
    "report.notes_one": ("1 note (--notices)", "1 条提示（--notices）"),
    "report.version_range": ("{low} to {high}", "{low} 至 {high}"),
    "report.version_from": ("{version} or later", "{version} 或更高"),
    "report.version_to": ("{version} or earlier", "{version} 或更早"),
    "report.version_guess": ("{version} by its arguments", "{version}（据参数推断）"),
    "report.each_file": ("{name}: {text}", "{name}：{text}"),
    "report.slow_rules": (
        "Left out, their patterns took too long on this log: {rules} (see sgdoctor rules check)",
        "以下规则的匹配式在这份日志上耗时过长，已跳过：{rules}（见 sgdoctor rules check）",
    ),
    "report.notices_title": ("Normal, not an error", "正常，不是错误"),
    "report.notes_title": ("Worth knowing", "值得了解"),
    "report.phases_title": ("Course of the start", "启动过程"),
    "report.facts_title": ("Read from the log", "从日志中读到"),
    "report.unfinished": ("not finished", "未完成"),
    "report.derived": ("computed", "计算得出"),
    "report.fixed_in": ("Fixed upstream in {versions}.", "上游已在 {versions} 中修复。"),
    "safety.safe": ("safe", "安全"),
    "safety.unsafe": ("has side effects", "有副作用"),
    "safety.manual": ("by hand", "需手动"),
    "severity.fatal": ("fatal", "致命"),
    "severity.error": ("error", "错误"),
    "severity.degraded": ("degraded", "降级"),
    "severity.notice": ("notice", "提示"),
    "severity.benign": ("benign", "无害"),
    "confidence.certain": ("certain", "确定"),
    "confidence.likely": ("likely", "很可能"),
    "confidence.possible": ("possible", "可能"),
    "change.flag.unset": ("remove {name}", "去掉 {name}"),
    "change.flag.raise": ("raise {name}", "调高 {name}"),
    "change.flag.lower": ("lower {name}", "调低 {name}"),
    "change.env.unset": ("unset {name}", "取消变量 {name}"),
    "change.image.tag": ("image {value}", "镜像 {value}"),
    "change.file.edit": ("edit {name}: {value}", "修改 {name}：{value}"),
    "change.file.mount": ("mount {name}: {value}", "挂载 {name}：{value}"),
    "change.client.request": ("in the request: {name} {value}", "在请求中：{name} {value}"),
    "change.wait": ("wait", "等待"),
    "change.text.repair": ("put right how the command is written", "修正命令的写法"),
    "report.footer": (
        "Made by sgdoctor {version}; secrets are redacted.",
        "由 sgdoctor {version} 生成；机密信息已隐去。",
    ),
    "report.footer_plain": ("Made by sgdoctor {version}.", "由 sgdoctor {version} 生成。"),
    "report.phase": ("phase", "阶段"),
    "report.seconds": ("seconds", "秒"),
    "report.memory": ("GiB", "GiB"),
    "explain.fixes": ("What cures it", "怎么修"),
    "explain.severity": ("{severity}, {confidence}", "{severity}，{confidence}"),
    "explain.looks_like": ("How it looks in a log", "在日志中的样子"),
    "explain.muted": ("Muted by {file}: diagnose leaves it out.", "已被 {file} 停用：diagnose 会跳过它。"),
    "explain.which": (
        "diagnose shows those that fit the numbers of a log.",
        "diagnose 只显示适合日志中数值的办法。",
    ),
    "explain.versions": ("for {versions}", "适用于 {versions}"),
}


def say(lang: str, key: str, /, **values: Any) -> str:
    """A message in ``en`` or ``zh`` with its values filled in."""
    english, chinese = MESSAGES[key]
    text = chinese if lang == "zh" else english
    return text.format(**values) if values else text


def language(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """The language to speak: ``--lang`` wherever it stands, else the locale, else English.

    Found before the parser is built, because help and errors are to be in it too.
    """
    wanted = ""
    for index, argument in enumerate(arguments):
        if argument == "--":
            break
        if argument == "--lang" and index + 1 < len(arguments):
            wanted = arguments[index + 1]
        elif argument.startswith("--lang="):
            wanted = argument.partition("=")[2]
    if wanted in LANGUAGES:
        return wanted
    for variable in _LOCALE_VARIABLES:
        if value := environment.get(variable, ""):
            return "zh" if value.lower().startswith("zh") else "en"
    return "en"
