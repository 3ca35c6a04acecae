"""What is said about the answers of a server."""

from typing import Final

from sgdoctor.texts import Text

HEALTH: Final = Text("it says that it is healthy", "健康检查")
MODELS: Final = Text("it names its model", "模型列表")
CHAT: Final = Text("it answers a question", "回答问题")

CANCELLED: Final = Text("It was not asked to the end.", "询问中途停止。")
NOT_ASKED: Final = Text("not asked after what came before", "前面的检查未通过，未询问")
NO_KEY: Final = Text(
    "It wants an API key, and its launch does not tell which.", "服务要求 API 密钥，而启动配置中没有写明。"
)
WRONG_KEY: Final = Text("It refuses the API key of its own launch.", "服务拒绝了它自己启动配置中的 API 密钥。")
NO_MODELS: Final = Text("Its list of models is empty or cannot be read.", "模型列表为空或无法读取。")
NO_CHAT: Final = Text(
    "Its model gives no answers in words; that it works is not checked.", "该模型不以文字作答；未检查其是否正常工作。"
)
NO_TEMPLATE: Final = Text(
    "Its model has no chat template; its answers are not checked.", "模型没有对话模板；未检查其回答。"
)
HEALTHY: Final = Text("healthy", "健康")
EMPTY: Final = Text("It answered a question with nothing.", "服务对问题的回答为空。")
NO_FORM: Final = Text("Its answer to a question is not one of the OpenAI API.", "它的回答不符合 OpenAI API 的格式。")


def silent(path: str, seconds: float) -> Text:
    """No end in time."""
    return Text(f"{path}: no whole answer within {seconds:.0f} s.", f"{path}：{seconds:.0f} 秒内没有得到完整的回答。")


def broken(path: str, said: str) -> Text:
    """The connection."""
    return Text(f"{path}: no answer ({said}).", f"{path}：没有回答（{said}）。")


def refused(path: str, status: int, said: str) -> Text:
    """A status of HTTP that is none of success."""
    more_en, more_zh = (f": {said}", f"：{said}") if said else ("", "")
    return Text(f"{path}: answered with {status}{more_en}", f"{path}：返回 {status}{more_zh}")


def models(names: str) -> Text:
    """What it serves."""
    return Text(names, names)


def other_name(wanted: str, names: str) -> Text:
    """It serves something else."""
    return Text(
        f"It serves {names}, not {wanted} as its launch says.", f"它提供的模型是 {names}，而不是启动配置中的 {wanted}。"
    )


def ended_badly(finish: str) -> Text:
    """The engine gave up in the middle."""
    return Text(f"Its answer to a question ended with `{finish}`.", f"回答以 `{finish}` 结束。")


def repeats(unit: str) -> Text:
    """The same again and again."""
    return Text(
        f"It answered a question with `{unit}` over and over: the model computes nonsense.",
        f"它的回答只是不断重复 `{unit}`：模型的计算结果无意义。",
    )


def unreadable() -> Text:
    """Bytes that are no characters."""
    return Text(
        "Its answer to a question is mostly broken characters: the model computes nonsense.",
        "它的回答大部分是损坏的字符：模型的计算结果无意义。",
    )


def answered(text: str) -> Text:
    """What it said."""
    return Text(text, text)
