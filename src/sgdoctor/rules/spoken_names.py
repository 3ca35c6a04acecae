"""What stands in texts of rules where only a log could fill something in: the names of values as words."""

from collections.abc import Mapping
from typing import Final

from sgdoctor.texts import Text

UNNAMED: Final = Text("value from the log", "日志中的值")

NAMES: Final[Mapping[str, Text]] = {
    name: Text(en, zh)
    for name, en, zh in (
        ("allowed", "allowed number", "上限"),
        ("arch", "architecture", "架构名"),
        ("asked", "requested number", "请求的数量"),
        ("args_error.flag", "flag", "参数名"),
        ("args_error.other_engine", "another engine", "其他引擎"),
        ("args_error.others", "the other flags", "其他参数"),
        ("args_error.plain", "number", "数字"),
        ("args_error.renamed_to", "new name of the flag", "新的参数名"),
        ("args_error.since", "first version with it", "首个支持的版本"),
        ("args_error.suggestion", "suggested name", "建议的写法"),
        ("args_error.until", "last version with it", "最后支持的版本"),
        ("args_error.value", "value you gave", "你给的值"),
        ("available_gpu_mem_gib", "free memory", "空闲显存"),
        ("chunk_half", "half the present size", "当前大小的一半"),
        ("container", "container", "容器名"),
        ("container_name", "container", "容器名"),
        ("no_container", "process without a container", "不在容器中的进程"),
        ("context_len", "context length", "上下文长度"),
        ("dtype", "dtype", "dtype"),
        ("field", "field", "字段名"),
        ("file", "file", "文件"),
        ("flag", "flag", "参数名"),
        ("folder", "folder", "目录"),
        ("fraction", "present value", "当前值"),
        ("fraction_floor", "smallest usable value", "可用的最小值"),
        ("fraction_lower", "computed value", "算出的值"),
        ("graph_seconds", "seconds", "秒数"),
        ("image", "image", "镜像"),
        ("kernel", "kernel", "内核名"),
        ("kv_fraction_min", "smallest usable value", "可用的最小值"),
        ("layers", "number of layers", "层数"),
        ("library", "library", "库文件"),
        ("max_total_num_tokens", "tokens in the KV cache", "KV 缓存的 token 数"),
        ("method", "quantisation", "量化方式"),
        ("minimum", "lowest version", "最低版本"),
        ("module", "module", "模块名"),
        ("package", "package", "软件包"),
        ("parser", "parser", "解析器"),
        ("path", "path", "路径"),
        ("pid", "process id", "进程号"),
        ("port", "port", "端口"),
        ("script", "script", "脚本"),
        ("seconds", "seconds", "秒数"),
        ("silent_seconds", "seconds", "秒数"),
        ("solver.fraction", "computed value", "算出的值"),
        ("solver.safe", "computed value", "算出的值"),
        ("solver.chunk", "computed value", "算出的值"),
        ("solver.chunk_fraction", "computed value", "算出的值"),
        ("starts_without_ready", "several", "多"),
        ("state_fraction_min", "smallest usable value", "可用的最小值"),
        ("symbol", "function", "函数名"),
        ("token", "token", "token"),
        ("token_usage", "share in use", "占用比例"),
        ("types", "number of entries", "条目数"),
        ("weights_gib", "size of the weights", "权重大小"),
        ("weights_seconds", "seconds", "秒数"),
    )
}


def spoken_name(name: str, lang: str) -> str:
    """A capture or fact in words, in ``en`` or ``zh``; of which flag a value is, the sentence around it says."""
    own = NAMES["fraction"] if name.startswith("args.") else UNNAMED
    return NAMES.get(name, own).in_language(lang)
