"""What ``sgdoctor rules`` says, in English and Chinese."""

from collections.abc import Mapping
from typing import Any, Final

_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "about": (
        (
            "Rules are YAML files; docs/rule-format.md describes them. Rules of your own live in the `rules` folder of"
            " the configuration directory (~/.config/sgdoctor/rules) and in the directories that SGDOCTOR_RULES names."
        ),
        (
            "规则是 YAML 文件，格式见 docs/rule-format.zh.md。你自己的规则放在配置目录的 rules 文件夹"
            "（~/.config/sgdoctor/rules）以及 SGDOCTOR_RULES 指定的目录中。"
        ),
    ),
    "help.list": ("list the rules", "列出规则"),
    "help.show": ("show the file of a rule", "显示某条规则的文件"),
    "help.check": ("explain every mistake in rule files", "指出规则文件中的每个错误"),
    "help.test": ("run the tests inside rule files", "运行规则文件中的测试"),
    "help.schema": ("print the JSON Schema of rule files", "输出规则文件的 JSON Schema"),
    "help.new": ("write the draft of a rule", "生成一份规则草稿"),
    "help.docs": ("write one Markdown page a rule", "为每条规则生成一个 Markdown 页面"),
    "format": ("text (default) or json", "text（默认）或 json"),
    "family": ("family of the rule", "规则所属的类别"),
    "severity": ("only rules of this severity", "只列出该严重程度的规则"),
    "rule": ("id (SGL401) or name of a rule", "规则编号（SGL401）或名称"),
    "selection": (
        "ids, names, files or folders; all rules where none is given",
        "编号、名称、文件或目录；不给则为全部规则",
    ),
    "new.name": ("name of the rule, lower-case words joined by -", "规则名称，小写单词用 - 连接"),
    "new.from": ("begin with what stands on this line of a log", "以日志中这一行的内容为起点"),
    "new.dir": ("folder for the file; default: your rules folder", "文件所在目录；默认为你的规则目录"),
    "docs.dir": ("folder for the pages", "页面所在目录"),
    "count": ("rules: {count}, muted: {muted}", "{count} 条规则，{muted} 条已停用"),
    "list.muted": ("muted", "已停用"),
    "list.replaces": ("yours, over the built-in one", "你的规则，替换内置规则"),
    "muted_by": ("muted by {file}", "已被 {file} 停用"),
    "replaces": ("replaces {file}", "替换 {file}"),
    "no_rule": (
        "there is no rule or file {given}{hint}; sgdoctor rules list shows all",
        "没有规则或文件 {given}{hint}；sgdoctor rules list 列出全部规则",
    ),
    "checked": (
        "rules: {rules}, errors: {errors}, warnings: {warnings}",
        "规则 {rules} 条，错误 {errors} 个，警告 {warnings} 个",
    ),
    "tested": ("tests: {tests}, failures: {failures}", "{tests} 个测试，{failures} 个失败"),
    "new.kebab": (
        "{given!r} is no name of a rule; write lower-case words joined by -, such as state-cache-empty",
        "{given!r} 不能作为规则名称；请用小写单词和 -，例如 state-cache-empty",
    ),
    "new.full": ("the family {family} has no free id", "类别 {family} 没有空闲的编号"),
    "new.exists": ("{path} exists already", "{path} 已存在"),
    "new.written": (
        "{path} written; edit it, then: sgdoctor rules check {path} && sgdoctor rules test {path}",
        "已写入 {path}；编辑后运行：sgdoctor rules check {path} && sgdoctor rules test {path}",
    ),
    "unwritable": ("cannot write {path}: {reason}", "无法写入 {path}：{reason}"),
    "docs.written": ("{count} pages written to {path}", "已将 {count} 个页面写入 {path}"),
    "test.no_log": ("there is no log {log}", "没有日志 {log}"),
    "test.silent": (
        "{rule} must hit and does not (found: {found})",
        "{rule} 应命中但没有命中（找到：{found}）",
    ),
    "test.not_root": (
        "{rule} must be the diagnosis, but that is {found}",
        "{rule} 应为主诊断，实际是 {found}",
    ),
    "test.hits": ("{rule} must stay silent and hits line {line}", "{rule} 不应命中，却命中了第 {line} 行"),
    "test.capture": (
        "{rule}: {name} is {found}, expected {expected}",
        "{rule}：{name} 为 {found}，应为 {expected}",
    ),
    "test.fix": (
        "{rule}: the first fix is {found}, expected {expected}",
        "{rule}：首个修复是 {found}，应为 {expected}",
    ),
    "test.severity": (
        "{rule}: the severity is {found}, expected {expected}",
        "{rule}：严重程度是 {found}，应为 {expected}",
    ),
    "test.state": ("the verdict is {found}, expected {expected}", "结论是 {found}，应为 {expected}"),
    "nothing": ("nothing", "无"),
}


def words(lang: str, key: str, /, **values: Any) -> str:
    """A text in ``en`` or ``zh`` with its values filled in."""
    english, chinese = _TEXTS[key]
    return (chinese if lang == "zh" else english).format(**values)
