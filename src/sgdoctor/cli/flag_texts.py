"""What ``sgdoctor flags`` says, in English and Chinese."""

from collections.abc import Mapping
from typing import Any, Final

_TEXTS: Final[Mapping[str, tuple[str, str]]] = {
    "about": (
        (
            "What SGLang accepts on its command line, from 0.4.6.post5 on, and what is wrong with the flags "
            "of a command. Nothing is started."
        ),
        "SGLang 命令行接受哪些参数（0.4.6.post5 起的各个版本），以及一条命令的参数有什么问题。不会启动任何程序。",
    ),
    "help.list": ("list the flags of a version", "列出某个版本的参数"),
    "help.show": ("what one flag takes, and which versions have it", "某个参数接受什么，以及哪些版本有它"),
    "help.check": ("what is wrong with the flags of a command", "检查一条命令的参数有什么问题"),
    "help.add": ("add a version from its wheel, its sources or an image", "从 wheel、源码或镜像添加一个版本"),
    "format": ("text (default) or json", "text（默认）或 json"),
    "version": (
        "of SGLang; default: that of the image's tag in a command, else the newest known one",
        "SGLang 的版本；默认取命令中镜像标签的版本，否则为已知的最新版本",
    ),
    "from_image": ("the tag of {image} says {version}", "镜像 {image} 的标签表明版本为 {version}"),
    "from_newest": (
        "checked against {version}, the newest known one: nothing here names a version, --version does",
        "没有指明版本，按已知的最新版本 {version} 检查；可用 --version 指定",
    ),
    "word": ("only flags with this word in their names", "只列出名称中含有该词的参数"),
    "flag": ("a flag, with or without its dashes", "参数名，可省略前面的短横线"),
    "command": (
        "the engine's command or only its flags, behind `--`",
        "引擎的启动命令或只写参数，放在 `--` 之后",
    ),
    "place": ("a .whl, an unpacked one, or a checkout", ".whl 文件、解压后的目录或源码目录"),
    "image": (
        "read them out of this image, which is not started",
        "从该镜像中读取源码，不会启动它",
    ),
    "one_place": ("give a wheel, a folder or --image, and only one of them", "请给出 wheel、目录或 --image 中的一个"),
    "no_redact": ("show tokens, keys and passwords too", "同时显示令牌、密钥和密码"),
    "count_one": ("1 flag of SGLang {version}", "SGLang {version} 的 1 个参数"),
    "count": ("{count} flags of SGLang {version}", "SGLang {version} 的 {count} 个参数"),
    "nearest": (
        "{asked} is not known; this is {version}, the nearest known version (sgdoctor flags add)",
        "不认识 {asked}；这里用的是最接近的已知版本 {version}（可用 sgdoctor flags add 添加）",
    ),
    "none": ("no flag of {version} has {word} in its name", "{version} 没有名称中含有 {word} 的参数"),
    "unknown": ("no version has a flag {flag}{hint}", "没有任何版本有参数 {flag}{hint}"),
    "names": ("also {names}", "也写作 {names}"),
    "takes": ("takes", "取值"),
    "choices": ("choices", "可选值"),
    "default": ("default", "默认值"),
    "versions": ("versions", "版本"),
    "becomes": ("successor", "替代参数"),
    "formerly": ("formerly", "旧名"),
    "required": ("required", "必填"),
    "deprecated": ("deprecated", "已弃用"),
    "not_here": ("not in {version}", "{version} 中没有"),
    "range": ("{first} to {last}", "{first} 至 {last}"),
    "from": ("{first} and later", "{first} 及以上"),
    "nothing": ("nothing (a switch)", "不取值（开关）"),
    "one": ("one value ({type})", "一个值（{type}）"),
    "many": ("one or more values ({type})", "一个或多个值（{type}）"),
    "decided": ("decided at start", "启动时决定"),
    "at": ("{place}: ", "{place}："),
    "fine": ("nothing is wrong with these flags for SGLang {version}", "对 SGLang {version} 来说，这些参数没有问题"),
    "found": ("{count} problems for SGLang {version}", "对 SGLang {version} 来说有 {count} 个问题"),
    "found_one": ("1 problem for SGLang {version}", "对 SGLang {version} 来说有 1 个问题"),
    "no_engine": (
        "no SGLang command in it; give one behind `--`, such as: sgdoctor flags check -- sglang serve --model-path X",
        "其中没有 SGLang 命令；请把命令放在 `--` 之后，例如：sgdoctor flags check -- sglang serve --model-path X",
    ),
    "other_engine": ("this starts {engine}, not SGLang", "这条命令启动的是 {engine}，不是 SGLang"),
    "no_version": (
        "{place}: the sources do not say their version; give it with --version",
        "{place}：源码没有写明版本；请用 --version 指定",
    ),
    "bad_version": ("{version} is not a version such as 0.5.15", "{version} 不是类似 0.5.15 的版本号"),
    "added": ("SGLang {version}: {count} flags, kept in {file}", "SGLang {version}：{count} 个参数，保存在 {file}"),
}


def words(lang: str, key: str, /, **values: Any) -> str:
    """A text in ``en`` or ``zh`` with its values filled in."""
    english, chinese = _TEXTS[key]
    return (chinese if lang == "zh" else english).format(**values)
