"""What can be wrong with a launch script, in words."""

from typing import Final

from sgdoctor.launch.model import Problem
from sgdoctor.texts import Text

_INSTEAD: Final = Text(
    "The stock command `python3 -m sglang.launch_server` needs no script: a corrected copy of config.json, mounted "
    "over the original, corrects `layer_types`; a `sitecustomize.py` in a mounted folder on PYTHONPATH does the rest.",
    "用官方命令 `python3 -m sglang.launch_server` 就不需要脚本：`layer_types` 用修正后的 config.json 副本挂载覆盖"
    "原文件，其余补丁写进 `sitecustomize.py`，放在挂载的目录里并加入 PYTHONPATH。",
)


def not_python(line: int, message: str) -> Problem:
    """Python cannot read the script."""
    return _problem(
        "script-syntax",
        "fatal",
        line,
        Text(f"the launch script is not valid Python: {message}", f"启动脚本不是有效的 Python 代码：{message}"),
        Text(
            "Text copied from a web page loses its indentation, and its quotes turn into typographic ones.",
            "从网页复制的代码常常丢失缩进，引号也会变成排版引号。",
        ),
        "SGL146",
    )


def no_such_entry(line: int, entry: str, releases: Text) -> Problem:
    """Something is imported from SGLang that it does not have."""
    return _problem(
        "no-such-entry",
        "fatal",
        line,
        Text(f"SGLang has no `{entry}`: {releases.en}", f"SGLang 没有 `{entry}`：{releases.zh}"),
        Text(
            "The script ends here with an ImportError. 0.5.5 and later have `run_server` in `sglang.launch_server`, to "
            "be called with `prepare_server_args(sys.argv[1:])` of `sglang.srt.server_args`.",
            "脚本会在此处因 ImportError 退出。0.5.5 及以后的入口是 `sglang.launch_server` 的 `run_server`，"
            "参数来自 `sglang.srt.server_args` 的 `prepare_server_args(sys.argv[1:])`。",
        ),
        "SGL140",
    )


def no_main_guard(line: int) -> Problem:
    """The start is reached by every process that imports the script."""
    return _problem(
        "no-main-guard",
        "fatal",
        line,
        Text(
            'the server is started outside of `if __name__ == "__main__":`',
            '启动服务的代码不在 `if __name__ == "__main__":` 之内',
        ),
        Text(
            "SGLang spawns its schedulers, and each of them imports the script again: it would start the server once "
            "more, and Python refuses.",
            "SGLang 用 spawn 启动调度进程，每个子进程都会重新导入该脚本：那样会再次启动服务，被 Python 拒绝。",
        ),
        "SGL141",
    )


def children_unpatched(line: int, entry: str) -> Problem:
    """Another module takes the place of the script as the main one."""
    return _problem(
        "children-unpatched",
        "error",
        line,
        Text(
            f"`{entry}` is run by runpy as the main module: only this process is patched",
            f"用 runpy 把 `{entry}` 当作主模块运行：只有当前进程打了补丁",
        ),
        Text(
            "Spawned schedulers import the main module, which is not this script any more: the patches do not reach "
            "them.",
            "spawn 出的调度进程会导入主模块，而主模块已不是这个脚本：补丁到不了它们。",
        ),
    )


def patches_left_behind(line: int, call: str) -> Problem:
    """The engine is started as another program."""
    return _problem(
        "patches-left-behind",
        "error",
        line,
        Text(
            f"`{call}` starts the server as a program of its own, without the patches of this script",
            f"`{call}` 以独立程序启动服务，本脚本的补丁对它无效",
        ),
        Text("A patch changes the process that it is made in, no other.", "补丁只影响执行它的那个进程。"),
    )


def keyword_missing(line: int, target: str, function: str, severity: str) -> Problem:
    """A replacement of `register` does not take `exist_ok` by name."""
    return _problem(
        "keyword-missing",
        severity,
        line,
        Text(
            f"`{function}` replaces `{target}` but has no parameter `exist_ok`",
            f"`{function}` 替换了 `{target}`，却没有名为 `exist_ok` 的参数",
        ),
        Text(
            "SGLang 0.5.20 and later (and other libraries) call `register(..., exist_ok=True)`, a TypeError then. "
            "SGLang from 0.5.20 on does not need this patch at all.",
            "SGLang 0.5.20 及以后（以及其他库）会调用 `register(..., exist_ok=True)`，届时抛出 TypeError。"
            "从 0.5.20 起也不再需要这个补丁。",
        ),
        "SGL142",
    )


def not_needed(line: int, target: str, since: str) -> Problem:
    """A patch of what the release in the image has put right itself."""
    return _problem(
        "patch-not-needed",
        "notice",
        line,
        Text(
            f"the patch of `{target}` is not needed since SGLang {since}: remove it",
            f"从 SGLang {since} 起不再需要对 `{target}` 打补丁：请删除",
        ),
        Text(
            "The engine registers its own model types with `exist_ok=True` there.",
            "该版本的引擎注册自带的模型类型时已使用 `exist_ok=True`。",
        ),
    )


def never_applied(line: int, function: str) -> Problem:
    """A patch function that nothing refers to."""
    return _problem(
        "patch-without-effect",
        "error",
        line,
        Text(
            f"`{function}` is defined but put in the place of nothing: this patch does nothing",
            f"定义了 `{function}`，却没有赋值给任何对象：这个补丁不起作用",
        ),
        Text(
            "A patch is an assignment to an attribute of a module or class.", "补丁必须赋值给模块或类的属性才会生效。"
        ),
    )


def only_here(line: int, origin: str, function: str) -> Problem:
    """An imported name is bound anew inside of the script."""
    name = origin.rpartition(".")[2]
    return _problem(
        "patch-without-effect",
        "error",
        line,
        Text(
            f"`{name} = {function}` changes a name of this script only, `{origin}` stays as it is",
            f"`{name} = {function}` 只改了本脚本里的名字，`{origin}` 并没有变",
        ),
        Text("Assign to the attribute of the module or class instead.", "应赋值给模块或类的属性。"),
    )


def no_such_check(line: int, target: str) -> Problem:
    """A check is patched that no release has."""
    return _problem(
        "patch-target-missing",
        "error",
        line,
        Text(f"transformers has no `{target}`", f"transformers 里没有 `{target}`"),
        Text(
            "`layer_types` is checked by `validate_layer_type` of `transformers.configuration_utils.PreTrainedConfig`.",
            "检查 `layer_types` 的是 `transformers.configuration_utils.PreTrainedConfig` 的 `validate_layer_type`。",
        ),
        "SGL143",
    )


def check_too_new(line: int, target: str, transformers: str, *, reads: bool) -> Problem:
    """A check is patched that the installed release does not have yet."""
    return _problem(
        "patch-target-missing",
        "fatal" if reads else "error",
        line,
        Text(
            f"transformers {transformers} has no `{target}`: it came with 5.4",
            f"transformers {transformers} 没有 `{target}`：5.4 才加入",
        ),
        Text(
            "The script ends here with an AttributeError."
            if reads
            else "The assignment makes a name that nothing calls.",
            "脚本会在此处因 AttributeError 退出。" if reads else "这个赋值只是新建了一个没人调用的名字。",
        ),
        "SGL143",
    )


def check_taken_before(line: int, name: str, import_line: int) -> Problem:
    """A config class was imported, and took over its checks, before the patch."""
    return _problem(
        "patch-too-late",
        "error",
        line,
        Text(
            f"the patch comes after the import of `{name}` in line {import_line}, which keeps the old check",
            f"补丁在第 {import_line} 行导入 `{name}` 之后，该类保留了旧的检查",
        ),
        Text(
            "A config class of transformers takes over its checks when it is defined. Patch first, import then.",
            "transformers 的配置类在定义时就收集好检查函数。应先打补丁再导入。",
        ),
    )


def check_of_one_class(line: int, name: str) -> Problem:
    """The check is replaced on the class of one model."""
    return _problem(
        "patch-too-late",
        "error",
        line,
        Text(
            f"`validate_layer_type` is replaced on `{name}`, which took over the old check when it was imported",
            f"替换的是 `{name}` 的 `validate_layer_type`，但该类导入时已收集了旧的检查",
        ),
        Text(
            "Replace it on `transformers.configuration_utils.PreTrainedConfig` before any config class is imported.",
            "应在导入任何配置类之前，替换 `transformers.configuration_utils.PreTrainedConfig` 上的检查。",
        ),
    )


def registered_before(line: int, module: str, import_line: int) -> Problem:
    """SGLang registered its model types before the patch."""
    return _problem(
        "patch-too-late",
        "error",
        line,
        Text(
            f"the patch comes after the import of `{module}` in line {import_line}, which registers the model types",
            f"补丁在第 {import_line} 行导入 `{module}` 之后，而模型类型正是在那时注册的",
        ),
        Text("Patch first, import SGLang then.", "应先打补丁再导入 SGLang。"),
    )


def _problem(  # noqa: PLR0917 - one line per part reads best
    name: str, severity: str, line: int, title: Text, detail: Text, rule: str | None = None
) -> Problem:
    return Problem(
        id=name,
        severity=severity,
        title=title,
        where=Text(f"line {line}", f"第 {line} 行"),
        rule=rule,
        detail=Text(f"{detail.en} {_INSTEAD.en}", f"{detail.zh}{_INSTEAD.zh}"),
    )
