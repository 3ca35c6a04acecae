"""What a user can give up for memory, and what is lost with it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from sgdoctor.engines.sglang.memory.defaults import choose
from sgdoctor.engines.sglang.memory.fractions import smaller_chunk
from sgdoctor.engines.sglang.memory.predict import Start, predict, slots_needed, strategy_in_force
from sgdoctor.engines.sglang.versions import version_key
from sgdoctor.fixes.memory.situation import Situation
from sgdoctor.launch.change import Change
from sgdoctor.texts import Text

_ADA: Final = 89
"""From this capability on cards compute with e4m3."""
_FEW_GRAPHS: Final = 8


@dataclass(frozen=True, slots=True)
class Option:
    """One thing to give up.

    Attributes:
        id: stable name in kebab case.
        rank: the smaller, the less is lost.
        apply: the start with it given up.
        changes: of the launch.
        title: what is done.
        loss: what the user loses.
        safety: ``safe``, or ``unsafe`` where answers can get worse.
    """

    id: str
    rank: int
    apply: Callable[[Start], Start]
    changes: tuple[Change, ...]
    title: Text
    loss: Text
    safety: str = "safe"

    def together(self, other: "Option") -> "Option":
        """Both at once."""
        return Option(
            id=f"{self.id}+{other.id}",
            rank=self.rank + other.rank,
            apply=lambda start: other.apply(self.apply(start)),
            changes=tuple(dict.fromkeys((*self.changes, *other.changes))),
            title=Text(f"{self.title.en}; {other.title.en}", f"{self.title.zh}；{other.title.zh}"),
            loss=Text(f"{self.loss.en} {other.loss.en}", f"{self.loss.zh}{other.loss.zh}"),
            safety="unsafe" if "unsafe" in (self.safety, other.safety) else "safe",
        )


def options_for(situation: Situation) -> list[Option]:
    """What can be given up here, the smallest loss first."""
    found = [*_graphs(situation.start), *_states(situation), *_values(situation), *_work(situation)]
    return sorted(found, key=lambda option: option.rank)


def first_relief(situation: Situation, rule: str) -> list[Option]:
    """What is given up before the pools are made smaller, by the rule of what ran out of memory; may be nothing."""
    if rule == "SGL414":
        return sorted(_graphs(situation.start), key=lambda option: option.rank)
    if rule == "SGL415":
        return [option for option in _work(situation) if option.id == "smaller-chunk"]
    return []


def last_resort(situation: Situation) -> list[Option]:
    """What is given up only where the server does not start otherwise; the loss is greater than that of two others."""
    start = situation.start
    if not choose(start.settings, start.shape, start.card.size_mib, start.version).decode_sizes:
        return []
    return [
        Option(
            "no-graphs",
            70,
            _set(decode_graph="disabled", prefill_graph="disabled"),
            (_flag("--disable-cuda-graph"),),
            Text("Record no CUDA graphs at all", "完全不捕获 CUDA 图"),
            Text(
                "Every answer is clearly slower: without graphs the GPU waits for the CPU at each token.",
                "所有回答都会明显变慢：没有 CUDA 图时，GPU 生成每个 token 都要等 CPU。",
            ),
        )
    ]


def _set(**settings: Any) -> Callable[[Start], Start]:
    return lambda start: start.under(replace(start.settings, **settings))


def _flag(name: str, value: str | None = None) -> Change:
    return Change("flag.set", name, value)


def _since(start: Start, *version: int) -> bool:
    return start.version is None or version_key(start.version) >= version


def _graphs(start: Start) -> Iterator[Option]:
    chosen = choose(start.settings, start.shape, start.card.size_mib, start.version)
    # A size beyond the requests that run at once is not captured in the first place.
    largest = max(predict(start).decode_graphs, default=0)
    # Renamed in 0.5.14 (srt/server_args.py).
    flag = "--cuda-graph-max-bs-decode" if _since(start, 0, 5, 14) else "--cuda-graph-max-bs"
    for size, rank in ((_FEW_GRAPHS, 10), (1, 16)):
        if largest > size:
            yield Option(
                f"decode-graphs-{size}",
                rank,
                _set(decode_max_bs=size, decode_sizes=()),
                (_flag(flag, str(size)),),
                Text(f"Record decode graphs for up to {size} requests only", f"只为至多 {size} 个请求捕获解码图"),
                Text(
                    f"More than {size} requests at once are decoded without a graph, more slowly.",
                    f"同时超过 {size} 个请求时不使用图，解码变慢。",
                ),
            )
    if chosen.prefill_sizes:
        named = _since(start, 0, 5, 14)
        change = _flag("--cuda-graph-backend-prefill", "disabled") if named else _flag("--disable-piecewise-cuda-graph")
        yield Option(
            "no-prefill-graph",
            14,
            _set(prefill_graph="disabled"),
            (change,),
            Text("Record no prefill graphs", "不捕获 prefill 图"),
            Text("Short prompts start a little later.", "短输入的首字稍慢。"),
        )


def _states(situation: Situation) -> Iterator[Option]:
    """Of the state cache of a hybrid model."""
    start = situation.start
    needed = slots_needed(start.shape, start.settings, start.version)
    if not start.shape.hybrid or needed is None:
        return
    if start.settings.radix_off:
        yield from _fewer_requests(start)
    else:
        yield from _fewer_slots(start, needed)
    if start.settings.ssm_dtype is None and start.shape.state is not None and start.shape.state.ssm_bytes > 2:
        yield Option(
            "half-size-state",
            60,
            _set(ssm_dtype="bfloat16"),
            (_flag("--mamba-ssm-dtype", "bfloat16"),),
            Text("Store the recurrent state in half the size", "把循环状态减半存储"),
            Text("Answers can get worse on long texts; compare them first.", "长文本的回答质量可能下降，请先对比。"),
            "unsafe",
        )


def _fewer_requests(start: Start) -> Iterator[Option]:
    """Without a prefix cache each request takes one slot."""
    if (start.settings.requests or 0) > 1:
        yield Option(
            "one-request",
            20,
            _set(requests=1),
            (_flag("--max-running-requests", "1"),),
            Text("One request at a time", "同一时间一个请求"),
            Text("Further requests wait.", "其余请求排队。"),
        )


def _fewer_slots(start: Start, needed: int) -> Iterator[Option]:
    """Beside a prefix cache: fewer slots for a request, or for all of them."""
    settings = start.settings
    strategy = strategy_in_force(start.shape, settings, start.version)
    flag = "--mamba-radix-cache-strategy" if _since(start, 0, 5, 14) else "--mamba-scheduler-strategy"
    if settings.algorithm is not None:
        return
    if strategy == "extra_buffer" and not settings.overlap_off and _since(start, 0, 5, 13):
        yield Option(
            "lazy-state-buffer",
            12,
            _set(strategy="extra_buffer_lazy"),
            (_flag(flag, "extra_buffer_lazy"),),
            Text("Let a request take 4 state slots instead of 5", "让每个请求占 4 个状态槽而不是 5 个"),
            Text("A newer way of buffering, less tried.", "这种缓冲方式较新，使用经验较少。"),
        )
    if settings.state_slots is None:
        yield Option(
            "one-request-of-state",
            18,
            lambda start: start.under(
                replace(start.settings, state_slots=slots_needed(start.shape, start.settings, start.version))
            ),
            (_flag("--max-mamba-cache-size", str(needed)),),
            Text("Keep state slots for one request, the rest for the KV cache", "状态槽只够一个请求，其余给 KV 缓存"),
            Text("One request at a time.", "同一时间只有一个请求。"),
        )
    if strategy in ("extra_buffer", "extra_buffer_lazy") and settings.page == 1:
        yield Option(
            "no-state-buffer",
            30,
            _set(strategy="no_buffer", overlap_off=True),
            (_flag(flag, "no_buffer"), _flag("--disable-overlap-schedule")),
            Text("Let a request take 3 state slots", "让每个请求占 3 个状态槽"),
            Text("Somewhat slower decoding.", "解码稍慢。"),
        )
    yield Option(
        "no-prefix-cache",
        34,
        _set(radix_off=True, requests=1, state_slots=None),
        (
            _flag("--disable-radix-cache"),
            _flag("--max-running-requests", "1"),
            *_unset(settings.state_slots, "--max-mamba-cache-size"),
        ),
        Text("No prefix cache, one request at a time", "不用前缀缓存，同一时间一个请求"),
        Text(
            "Long shared prompts are computed again each time. One request at a time.",
            "较长的公共前缀每次都要重算；同一时间只有一个请求。",
        ),
    )


def _unset(given: object, name: str) -> tuple[Change, ...]:
    return () if given is None else (Change("flag.unset", name),)


def _values(situation: Situation) -> Iterator[Option]:
    """Of the KV cache."""
    start = situation.start
    if start.settings.kv_dtype not in (None, "auto") or start.shape.kv_bytes < 2:
        return
    capability = situation.capability
    if start.shape.attention is not None and start.shape.attention.latent and (capability or 0) < _ADA:
        return
    # The triton kernels cannot convert e4m3 below 89; e5m2 works on every card.
    dtype = "fp8_e4m3" if capability is not None and capability >= _ADA else "fp8_e5m2"
    older = capability is None or capability < _ADA
    yield Option(
        "half-size-kv",
        50,
        _set(kv_dtype=dtype),
        (_flag("--kv-cache-dtype", dtype),),
        Text("Store the KV cache in half the size", "把 KV 缓存减半存储"),
        Text(
            "Answers can get a little worse."
            + (" Cards before the RTX 40 series convert the values in software, which costs speed." if older else ""),
            "回答质量可能略降。" + ("RTX 40 系之前的显卡要用软件转换数值，速度会变慢。" if older else ""),
        ),
        "unsafe",
    )


def _work(situation: Situation) -> Iterator[Option]:
    """Of working memory and of speculative decoding."""
    start = situation.start
    half = smaller_chunk(start)
    if half is not None:
        yield Option(
            "smaller-chunk",
            24,
            _set(chunk=half),
            (_flag("--chunked-prefill-size", str(half)),),
            Text(f"Read prompts in pieces of {half:,} tokens", f"按 {half:,} 个 token 一块读取输入"),
            Text("Long prompts are read a little more slowly.", "长输入的读取稍慢。"),
        )
    if start.settings.algorithm is not None:
        draft_gib = situation.draft_gib
        yield Option(
            "no-speculation",
            28,
            lambda start: replace(
                start,
                settings=replace(start.settings, algorithm=None, draft_tokens=None),
                weights_gib=start.weights_gib - draft_gib,
            ),
            tuple(
                Change("flag.unset", f"--speculative-{name}")
                for name in ("algorithm", "draft-model-path", "num-steps", "eagle-topk", "num-draft-tokens")
            ),
            Text("No speculative decoding", "不用推测解码"),
            Text("Slower answers for a single user.", "单用户生成速度变慢。"),
        )
