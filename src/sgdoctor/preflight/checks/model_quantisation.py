"""Whether --quantization goes with what the checkpoint says."""

from collections.abc import Iterable
from typing import ClassVar, Final

from sgdoctor.engines.sglang.models import method as known_method
from sgdoctor.engines.sglang.quantisation import accepts, needs_checkpoint
from sgdoctor.launch.change import Change
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_FLAG: Final = "--quantization"
_CONTRADICTS: Final = "SGL323"
_UNKNOWN: Final = "SGL324"
_NOT_QUANTISED: Final = "SGL325"


class ModelQuantisation:
    """Holds ``--quantization`` against the configuration of the checkpoint."""

    id: ClassVar[str] = "model-quantisation"
    area: ClassVar[Area] = Area.MODEL
    title: ClassVar[Text] = Text("Quantisation", "量化方法")

    def findings(self, situation: Situation) -> Iterable[Finding]:
        """A contradiction, a method that nobody knows, or a method for weights that are not quantised."""
        model = situation.model
        if model is None or model.gguf:
            return
        asked = asked_by(situation.launch, situation.flags)
        flag, own = asked.value(_FLAG), model.quantisation
        flag = flag.lower() if flag else None
        if own is not None and flag is not None and not accepts(flag, own):
            yield Finding(
                Status.FAIL,
                Text(
                    f"the checkpoint is {own.method}, --quantization says {flag}",
                    f"模型是 {own.method} 量化，而 --quantization 写的是 {flag}",
                ),
                own.source,
                asked.where(_FLAG),
                _CONTRADICTS,
                (Change("flag.unset", _FLAG),),
                phase="config",
            )
            return
        if own is None:
            if flag is not None and needs_checkpoint(flag) and model.config is not None:
                yield Finding(
                    Status.FAIL,
                    Text(
                        f"--quantization {flag} needs a quantised checkpoint, and this one is not",
                        f"--quantization {flag} 需要已量化的模型，而此模型未量化",
                    ),
                    "config.json: no quantization_config",
                    asked.where(_FLAG),
                    _NOT_QUANTISED,
                    (Change("flag.unset", _FLAG),),
                    phase="config",
                )
            return
        known = known_method(own.method, situation.version)
        # A gap between versions that have it is one of the data; what all later versions dropped is gone.
        if known.here is False and (known.since is None or known.until is not None):
            yield Finding(
                Status.FAIL,
                Text(
                    f"SGLang {situation.version} has no quantisation method {own.method}",
                    f"SGLang {situation.version} 没有量化方法 {own.method}",
                ),
                own.source,
                prevents=_UNKNOWN,
                phase="config",
            )
            return
        yield Finding(Status.PASS, Text(f"the checkpoint is {own.label}", f"模型量化方式：{own.label}"), own.source)
