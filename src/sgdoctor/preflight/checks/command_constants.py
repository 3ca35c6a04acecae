"""Values that are accepted and bring trouble, of flags and of variables."""

from collections.abc import Iterator
from typing import ClassVar, Final, NamedTuple

from sgdoctor.fixes.memory.limits import best_fraction
from sgdoctor.fixes.memory.solution import Outcome
from sgdoctor.fixes.memory_steps import working_fractions
from sgdoctor.launch.change import Change
from sgdoctor.launch.model import Launch
from sgdoctor.preflight.asked import Asked, asked_by
from sgdoctor.preflight.launches.flags import seconds_asked
from sgdoctor.preflight.memory import Forecast, forecast
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_HIGH: Final = 0.95
_SMALL_MIB: Final = 49 * 1024
_FIRST_REQUEST: Final = 60.0
_WATCHDOG: Final = 300
_WARMUP: Final = "SGLANG_WARMUP_TIMEOUT"
_HEALTH: Final = "SGLANG_HEALTH_CHECK_TIMEOUT"
_LONGER: Final = "SGLANG_ALLOW_OVERWRITE_LONGER_CONTEXT_LEN"
_ON: Final = ("1", "true", "yes", "y", "on")
_ENVIRONMENT: Final = Text("the environment", "环境变量")


class _Advice(NamedTuple):
    """What to do about a value, and why."""

    change: Change | None
    detail: Text


_BY_SIZE: Final = _Advice(
    Change("flag.lower", "--mem-fraction-static"),
    Text(
        "On cards of this size 0.90 to 0.94 is the usual limit; whatever else uses the card comes on top.",
        "这种大小的显卡通常以 0.90 到 0.94 为限；其他程序占用的显存还要另算。",
    ),
)


class CommandConstants:
    """No value is known to end badly."""

    id: ClassVar = "command-constants"
    area: ClassVar = Area.COMMAND
    title: ClassVar = Text("Values", "取值")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Every such value."""
        launch = situation.launch
        if launch is None or not launch.argv or launch.engine != "sglang":
            return
        asked = asked_by(launch, situation.flags)
        found = [
            *_fraction(situation, asked),
            *_watchdog(asked),
            *_seconds(launch, _WARMUP, "SGL711"),
            *_seconds(launch, _HEALTH, "SGL703", least=20.0),
            *_context(launch, asked),
            *_blocking(launch),
            *_toolkit(launch),
        ]
        yield from found or [Finding(Status.PASS, Text("none that is known for trouble", "没有已知会出问题的取值"))]


def _fraction(situation: Situation, asked: Asked) -> Iterator[Finding]:
    fraction = seconds_asked(asked, "--mem-fraction-static")
    cards = situation.host.cards
    small = not cards or min(card.total_mib for card in cards) <= _SMALL_MIB
    if fraction is None or not _HIGH <= fraction < 1 or not small:
        return
    advice = _computed(situation, fraction)
    if advice is None:
        return
    yield Finding(
        Status.WARN,
        Text(
            f"--mem-fraction-static {fraction:g} leaves little for graphs and prompts",
            f"--mem-fraction-static {fraction:g} 留给 CUDA 图和输入的显存很少",
        ),
        where=asked.where("--mem-fraction-static"),
        prevents="SGL414",
        changes=(advice.change,) if advice.change is not None else (),
        detail=advice.detail,
    )


def _computed(situation: Situation, fraction: float) -> _Advice | None:
    """What the card and the model say of a high fraction; None where it does no harm, or the memory tells itself."""
    found = forecast(situation)
    if not isinstance(found, Forecast) or found.solution.outcome is Outcome.UNKNOWN:
        return _BY_SIZE
    solution, interval = found.solution, found.solution.interval
    if solution.outcome is not Outcome.FITS or interval is None or fraction <= interval.safe:
        return None
    best = best_fraction(found.start, interval, None)
    if best is None or best >= fraction:
        return None
    detail = working_fractions(interval, best)
    # The way of somebody who wants the context rather than what is left for other things.
    if interval.context_low is not None and best < interval.context_low <= fraction:
        less = Text(" With that the whole context does not fit.", "但那样放不下完整的上下文。")
        return _Advice(None, Text(detail.en + less.en, detail.zh + less.zh))
    return _Advice(Change("flag.set", "--mem-fraction-static", f"{best:.2f}"), detail)


def _watchdog(asked: Asked) -> Iterator[Finding]:
    seconds = seconds_asked(asked, "--watchdog-timeout")
    if seconds is None or not 0 < seconds < _FIRST_REQUEST:
        return
    # It only watches running batches, and the first one compiles kernels (srt/utils/watchdog.py).
    sure = seconds < 1
    yield Finding(
        Status.FAIL if sure else Status.WARN,
        Text(
            f"--watchdog-timeout {seconds:g} is shorter than a first request that compiles kernels",
            f"--watchdog-timeout {seconds:g} 比需要编译内核的首个请求还短",
        ),
        where=asked.where("--watchdog-timeout"),
        prevents="SGL701",
        changes=(Change("flag.set", "--watchdog-timeout", str(_WATCHDOG)),),
        phase="warmup" if sure else None,
    )


def _seconds(launch: Launch, variable: str, rule: str, least: float = _FIRST_REQUEST) -> Iterator[Finding]:
    try:
        seconds = float(launch.env.get(variable) or "nan")
    except ValueError:
        return
    # -1 and 0 mean no limit, or the usual one.
    if 0 < seconds < least:
        yield Finding(
            Status.WARN,
            Text(
                f"{variable}={seconds:g} is short for a first request or a long prompt",
                f"{variable}={seconds:g} 对首个请求或长输入来说太短",
            ),
            where=_ENVIRONMENT,
            prevents=rule,
            changes=(Change("env.unset", variable),),
        )


def _context(launch: Launch, asked: Asked) -> Iterator[Finding]:
    if (launch.env.get(_LONGER) or "").lower() not in _ON or not asked.has("--context-length"):
        return
    yield Finding(
        Status.WARN,
        Text(
            f"{_LONGER} lets --context-length be longer than the model is made for",
            f"{_LONGER} 允许 --context-length 超过模型支持的长度",
        ),
        evidence=f"--context-length {asked.value('--context-length')}",
        where=_ENVIRONMENT,
        prevents="SGL212",
        detail=Text(
            "Beyond the model's own length answers break down unless its config stretches them (YaRN).",
            "超过模型自身长度后，除非配置里有 YaRN 之类的扩展，否则回答会失常。",
        ),
    )


def _blocking(launch: Launch) -> Iterator[Finding]:
    if launch.env.get("CUDA_LAUNCH_BLOCKING") == "1":
        yield Finding(
            Status.WARN,
            Text(
                "CUDA_LAUNCH_BLOCKING=1 is for hunting errors: every kernel waits for the one before it",
                "CUDA_LAUNCH_BLOCKING=1 只用于排错：每个内核都要等前一个完成",
            ),
            where=_ENVIRONMENT,
            changes=(Change("env.unset", "CUDA_LAUNCH_BLOCKING"),),
        )


def _toolkit(launch: Launch) -> Iterator[Finding]:
    for name in ("CUDA_HOME", "CUDA_PATH"):
        value = launch.env.get(name) or ""
        if ":" in value:
            yield Finding(
                Status.WARN,
                Text(f"{name} is one folder, not a list with colons", f"{name} 是单个目录，不能是用冒号分隔的列表"),
                evidence=f"{name}={value}",
                where=_ENVIRONMENT,
                prevents="SGL521",
                changes=(Change("env.set", name, value.strip(":").split(":")[0]),),
                detail=Text(
                    "Kernels that are compiled at the start look for nvcc there.", "启动时编译内核会在其中找 nvcc。"
                ),
            )
