"""Whether this version of SGLang can run a model of this kind."""

from collections.abc import Iterable, Iterator
from typing import ClassVar, Final

from sgdoctor.engines.sglang.models import architecture, model_type, newest_known
from sgdoctor.engines.sglang.versions import version_key
from sgdoctor.launch.change import Change
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.folder import ModelFolder
from sgdoctor.preflight.versions import transformers_version
from sgdoctor.texts import Text

_UNSUPPORTED: Final = "SGL210"
_UNKNOWN_TYPE: Final = "SGL209"
_NEEDS_CODE: Final = "SGL215"
_IMAGE: Final = "lmsysorg/sglang:v"
_REMOTE: Final = "--trust-remote-code"


class ModelArchitecture:
    """Looks the model class up among those of the version, and the model type among those of transformers."""

    id: ClassVar[str] = "model-architecture"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Architecture", "模型架构")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """Whether SGLang has the model class itself, would fall back to transformers, or would refuse it."""
        model = situation.model
        if model is None or not model.architectures:
            return
        own_type = _type_finding(situation, model)
        if own_type is not None:
            yield own_type
            return
        yield from _architecture_findings(situation, model)


def _type_finding(situation: Situation, model: ModelFolder) -> Finding | None:
    """What is wrong where nobody can read the configuration."""
    transformers = transformers_version(situation)
    kind = model.model_type
    known = model_type(kind, situation.version, transformers)
    if not kind or known.here is not False:
        return None
    by_code = bool((model.config or {}).get("auto_map"))
    if by_code and asked_by(situation.launch, situation.flags).has(_REMOTE):
        return None
    evidence = f"model_type {kind}, transformers {transformers}"
    if by_code:
        return Finding(
            Status.FAIL,
            Text("the model brings code of its own, which has to be allowed", "模型自带代码，需要允许执行"),
            evidence,
            prevents=_NEEDS_CODE,
            changes=(Change("flag.set", _REMOTE),),
            phase="config",
        )
    newer = architecture(model.architectures[0], None).since
    title = Text(f"{kind} is not known to transformers {transformers}", f"transformers {transformers} 不认识 {kind}")
    detail = None
    if known.since is not None and known.until is None:
        detail = Text(f"It is known from {known.since} on.", f"从 {known.since} 起支持。")
    return Finding(
        Status.FAIL, title, evidence, None, _UNKNOWN_TYPE, _upgrade(newer, situation.version), detail, "config"
    )


def _architecture_findings(situation: Situation, model: ModelFolder) -> Iterator[Finding]:
    version = situation.version
    supports = {name: architecture(name, version) for name in model.architectures}
    name, support = next(((one, found) for one, found in supports.items() if found.here), next(iter(supports.items())))
    if support.here:
        yield Finding(Status.PASS, Text(f"SGLang {version} has {name}", f"SGLang {version} 支持 {name}"))
        return
    if support.here is None:
        since = support.since
        yield Finding(
            Status.SKIPPED,
            Text("which SGLang will run is not known", "不知道将使用哪个版本的 SGLang")
            if version is None
            else Text(f"SGLang {version} is not among the known versions", f"SGLang {version} 不在已知版本之列"),
            name,
            detail=Text(f"{name} is in {since} and later.", f"{since} 及以后版本支持 {name}。") if since else None,
        )
        return
    asked = asked_by(situation.launch, situation.flags)
    # Only with `--model-impl auto` transformers' own code takes over: srt/model_loader/utils.py.
    fails = asked.value("--model-impl") == "sglang" or asked.has("--quantization")
    detail = Text(
        "It would run by the code of transformers, if that allows it: slower, and not for every model.",
        "将改用 transformers 自带的实现（如果可行）：速度较慢，且并非所有模型都能用。",
    )
    if support.since is not None:
        newer = f"{support.since} has it." if support.until is None else f"{support.since} to {support.until} have it."
        detail = Text(f"{newer} {detail.en}", f"{support.since} 起支持。{detail.zh}")
    else:
        detail = Text(
            f"No version up to {newest_known()} has it. {detail.en}", f"{newest_known()} 为止都没有。{detail.zh}"
        )
    yield Finding(
        Status.FAIL if fails else Status.WARN,
        Text(f"SGLang {version} has no {name} of its own", f"SGLang {version} 没有 {name} 的实现"),
        name,
        prevents=_UNSUPPORTED,
        changes=_upgrade(support.since, version),
        detail=detail,
        phase="weights" if fails else None,
    )


def _upgrade(since: str | None, version: str | None) -> tuple[Change, ...]:
    """The first image that has it, where it is newer than the one in use."""
    if since is None or version is None or version_key(since) <= version_key(version):
        return ()
    return (Change("image.tag", "", f"{_IMAGE}{since}"),)
