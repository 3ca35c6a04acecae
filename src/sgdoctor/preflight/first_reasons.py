"""Why a flag stands in a first compose file, and with this value."""

from typing import Final

from sgdoctor.preflight.memory import Forecast, forecast
from sgdoctor.preflight.model import Situation
from sgdoctor.texts import Text

_REASONS: Final = {
    "--model-path": Text("The model as the container sees it.", "容器中看到的模型路径。"),
    "--served-model-name": Text("What clients call the model.", "客户端使用的模型名称。"),
    "--host": Text("Reachable from outside of the container.", "允许从容器外访问。"),
    "--port": Text("The port inside of the container.", "容器内的端口。"),
    "--tp-size": Text("One part of every layer on each card.", "每一层按显卡数切分。"),
    "--trust-remote-code": Text(
        "The model brings code of its own, which runs; look at it first.", "模型自带代码并会被执行；请先查看。"
    ),
    "--tool-call-parser": Text(
        "By the chat template: without it tool calls come back as text.", "依据对话模板；不设置时工具调用以文本返回。"
    ),
    "--reasoning-parser": Text(
        "By the chat template: thoughts come apart from the answer.", "依据对话模板；把思考过程与回答分开。"
    ),
    "--dtype": Text(
        "Model and state cache have to agree, or the first prompt fails.",
        "模型与状态缓存的类型必须一致，否则首个请求会失败。",
    ),
    "--max-running-requests": Text("Requests at once; further ones wait.", "同时处理的请求数；其余排队。"),
    "--max-mamba-cache-size": Text("State slots; the rest is for the KV cache.", "状态槽数量；其余显存给 KV 缓存。"),
    "--disable-radix-cache": Text("No prefix cache: it would take state slots.", "不用前缀缓存，以节省状态槽。"),
    "--kv-cache-dtype": Text("Half the size; answers can get a little worse.", "占用减半；回答质量可能略降。"),
    "--quantization": Text("What the checkpoint is.", "与权重文件一致。"),
    "--attention-backend": Text("What runs on this card.", "适用于这张显卡。"),
}


def reason_of(flag: str, situation: Situation) -> Text | None:
    """One line about a flag; None where there is nothing to say."""
    found = forecast(situation)
    if isinstance(found, Forecast):
        if flag == "--mem-fraction-static":
            return _fraction(found)
        if flag == "--context-length":
            return _context(found)
    return _REASONS.get(flag)


def _fraction(found: Forecast) -> Text | None:
    now, interval = found.solution.now, found.solution.interval
    if now is None:
        return None
    left = f"{max(now.left_gib.expected, 0.0):.1f} GiB" if now.left_gib is not None else "?"
    en, zh = f"Weights and caches; about {left} stay free.", f"权重与缓存所占比例；约剩余 {left}。"
    if interval is not None and not interval.empty:
        low, high = f"{interval.low:.2f}", f"{interval.high:.2f}"
        en, zh = f"{en} {low} to {high} work on this card.", f"{zh}此卡可用 {low} 到 {high}。"
    return Text(en, zh)


def _context(found: Forecast) -> Text | None:
    now = found.solution.now
    if now is None or now.kv_tokens is None:
        return None
    return Text(
        f"Tokens of one request; the KV cache holds {now.kv_tokens} for all of them.",
        f"单个请求的 token 上限；KV 缓存共可容纳 {now.kv_tokens} 个。",
    )
