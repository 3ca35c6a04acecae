"""A good first compose file for a model, a card and a use: computed, checked as any launch, each flag explained."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from sgdoctor.engines.sglang.flags.schemas import versions
from sgdoctor.engines.sglang.memory.predict import Start, predict
from sgdoctor.engines.sglang.memory.settings import settings_of_flags
from sgdoctor.errors import UserError
from sgdoctor.fixes.memory.solution import Outcome
from sgdoctor.fixes.model import WrittenFile
from sgdoctor.launch.compose.document import ComposeDocument, open_compose
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.first_reasons import reason_of
from sgdoctor.preflight.launches.start_time import start_time
from sgdoctor.preflight.memory import Forecast, forecast
from sgdoctor.preflight.model import CardFacts, Situation
from sgdoctor.preflight.models.folder import ModelFolder
from sgdoctor.preflight.models.parsers import advised_reasoning, tool_parsers
from sgdoctor.preflight.models.templates import templates_of
from sgdoctor.preflight.planning import plan_of
from sgdoctor.preflight.run import checked
from sgdoctor.preflight.situation import Wanted, situation_for

_INSIDE: Final = "/model"
_SERVICE: Final = "sglang"
_FRACTION: Final = "--mem-fraction-static"
_CONTEXT: Final = "--context-length"
_REQUESTS: Final = "--max-running-requests"
_PAGE: Final = 1024
_MOST_SECONDS: Final = 900.0
_LEAST_SECONDS: Final = 180.0
_NO_FILE: Final = "compose.yaml"


@dataclass(frozen=True, slots=True)
class Use:
    """What a server is for.

    Attributes:
        requests: at once; None where the engine is to decide.
        context: tokens that are wanted, if the memory allows it.
    """

    requests: int | None
    context: int


USES: Final[Mapping[str, Use]] = {
    "single": Use(1, 32768),
    "agents": Use(4, 65536),
    "many": Use(None, 16384),
}


@dataclass(frozen=True, slots=True)
class FirstCompose:
    """The file, and what is known of it.

    Attributes:
        text: of the file.
        situation: of the launch in it.
        files: that have to stand beside it.
    """

    text: str
    situation: Situation
    files: tuple[WrittenFile, ...] = ()


def first_compose(model: Path, use: str, wanted: Wanted, lang: str) -> FirstCompose:
    """A compose file for a model folder.

    Args:
        model: folder.
        use: a name in ``USES``.
        wanted: the cards and the version, where they are not those that are here.
        lang: of the comments, ``en`` or ``zh``.

    Raises:
        UserError: the folder is not there, no card is known, or the model fits none of its ways of starting.
    """
    version = wanted.version or versions()[-1]
    wanted = Wanted(wanted.gpu, model, version, wanted.seconds)
    host = situation_for(None, model, wanted)
    cards, folder = host.host.cards, host.model
    if not cards or folder is None:
        reason = host.host.cards_reason
        en, zh = (reason.en, reason.zh) if reason is not None else ("no card is known", "未知显卡")
        raise UserError(f"{en} Name the card: --gpu 3090", f"{zh}请指定显卡：--gpu 3090")
    flags = dict(_first_flags(folder, cards, USES[use]))
    sheet = _Sheet(folder, cards, version, lang)
    situation = _cured(sheet, flags, wanted)
    flags, env = _settled(situation, USES[use]), dict(situation.launch.env if situation.launch else {})
    draft = situation_for(_opened(sheet.text(flags, env, None)), model.parent, wanted)
    situation = replace(draft, document=_opened(sheet.text(flags, env, draft)))
    assert situation.document is not None
    # What is more than a flag or a variable, such as a corrected file of the model, is put into the finished text.
    plan = plan_of(situation, checked(situation))
    if plan is None or plan.text is None:
        return FirstCompose(situation.document.text, situation)
    return FirstCompose(plan.text, situation, plan.files)


def _first_flags(model: ModelFolder, cards: Sequence[CardFacts], use: Use) -> Iterator[tuple[str, str | None]]:
    yield "--model-path", _INSIDE
    yield "--served-model-name", model.here.resolve().name
    yield "--host", "0.0.0.0"  # noqa: S104 - inside the container; it is published on the loopback address only
    yield "--port", "30000"
    if len(cards) > 1:
        yield "--tp-size", str(len(cards))
    if "auto_map" in (model.config or {}):
        yield "--trust-remote-code", None
    template = "\n".join(one.text for one in templates_of(model))
    if tools := tool_parsers(template):
        yield "--tool-call-parser", tools[0]
    if thoughts := advised_reasoning(template, str(model.settings.get("model_type") or model.model_type)):
        yield "--reasoning-parser", thoughts
    longest = model.settings.get("max_position_embeddings")
    context = min(use.context, longest) if isinstance(longest, int) and longest > 0 else use.context
    yield _CONTEXT, str(context)
    if use.requests is not None:
        yield _REQUESTS, str(use.requests)


def _cured(sheet: "_Sheet", flags: Mapping[str, str | None], wanted: Wanted) -> Situation:
    """The situation of the first draft with everything done that the checks plan."""
    document = _opened(sheet.text(flags, {}, None))
    assert wanted.model is not None
    situation = situation_for(document, wanted.model.parent, wanted)
    plan = plan_of(situation, checked(situation))
    after = plan.after if plan is not None else document.launch
    return situation_for(_opened(sheet.text(_flags_of(situation, after.argv), after.env, None)), Path(), wanted)


def _flags_of(situation: Situation, argv: Sequence[str]) -> dict[str, str | None]:
    assert situation.launch is not None
    return asked_by(replace(situation.launch, argv=tuple(argv)), situation.flags).values()


def _settled(situation: Situation, use: Use) -> dict[str, str | None]:
    """The flags with numbers that the memory really allows.

    Raises:
        UserError: the model does not fit the card.
    """
    assert situation.launch is not None
    flags = _flags_of(situation, situation.launch.argv)
    found = forecast(situation)
    if not isinstance(found, Forecast):
        return flags
    solution = found.solution
    best = solution.prediction or solution.now
    if solution.outcome is Outcome.IMPOSSIBLE or best is None:
        why = solution.why
        en, zh = (why.en, why.zh) if why is not None else ("this model does not fit the card", "此模型无法装入该显卡")
        raise UserError(f"no compose file: {en}", f"未生成 compose 文件：{zh}")
    flags[_FRACTION] = f"{solution.fraction or best.fraction:.2f}"
    larger = next((cut for cut in solution.cuts if {change.name for change in cut.changes} == {_FRACTION}), None)
    if larger is not None:  # the context that is wanted costs nothing but memory that would stay free
        flags[_FRACTION] = larger.changes[0].value
    return _within(flags, found.start, use)


def _within(flags: dict[str, str | None], start: Start, use: Use) -> dict[str, str | None]:
    """The flags with a context and a number of requests that the caches hold at the fraction that was chosen."""
    then = predict(start.under(settings_of_flags(flags)))
    asked = int(flags.get(_CONTEXT) or 0)
    if then.kv_tokens is not None and then.kv_tokens < asked:
        flags[_CONTEXT] = str(max(then.kv_tokens // _PAGE * _PAGE, _PAGE))
    if use.requests is not None and then.max_running_requests:
        flags[_REQUESTS] = str(min(use.requests, then.max_running_requests))
    return flags


def _opened(text: str) -> ComposeDocument:
    return open_compose([(_NO_FILE, text)], _SERVICE, {})


class _Sheet:
    """Writes the file."""

    def __init__(self, model: ModelFolder, cards: Sequence[CardFacts], version: str, lang: str) -> None:
        self._model = model
        self._cards = cards
        self._version = version
        self._lang = lang

    def text(self, flags: Mapping[str, str | None], env: Mapping[str, str | None], known: Situation | None) -> str:
        """The file.

        Args:
            flags: value by flag; None for a switch.
            env: variables.
            known: what is known of the launch; None for a draft.
        """
        return "\n".join(self._lines(flags, env, known)) + "\n"

    def _lines(
        self, flags: Mapping[str, str | None], env: Mapping[str, str | None], known: Situation | None
    ) -> Iterator[str]:
        card = self._cards[0].name
        head = self._said("head").format(model=self._model.here.resolve().name, count=len(self._cards), card=card)
        yield f"# {''.join(letter for letter in head if letter.isprintable())}"
        yield "services:"
        yield f"  {_SERVICE}:"
        yield f"    image: lmsysorg/sglang:v{self._version}"
        yield f"    # {self._said('restart')}"
        yield '    restart: "no"'
        yield f"    # {self._said('ports')}"
        yield "    ports:"
        yield '      - "127.0.0.1:30000:30000"'
        yield "    volumes:"
        yield f"      - {_quoted(f'{self._model.here.resolve()}:{_INSIDE}:ro')}"
        yield f"      # {self._said('cache')}"
        yield "      - sglang-cache:/root/.cache"
        if len(self._cards) > 1:
            yield f"    # {self._said('shm')}"
            yield "    shm_size: 16g"
        if env:
            yield "    environment:"
            yield from (f"      {name}: {_quoted(value or '')}" for name, value in env.items())
        yield from self._devices()
        yield "    command:"
        yield from (f"      - {word}" for word in ("python3", "-m", "sglang.launch_server"))
        for flag, value in flags.items():
            if known is not None and (reason := reason_of(flag, known)) is not None:
                yield f"      # {reason.in_language(self._lang)}"
            yield f"      - {_quoted(flag if value is None else f'{flag}={value}')}"
        yield from self._health(known)
        yield "volumes:"
        yield "  sglang-cache: {}"

    def _devices(self) -> Iterator[str]:
        yield "    deploy:"
        yield "      resources:"
        yield "        reservations:"
        yield "          devices:"
        yield "            - driver: nvidia"
        numbers = ", ".join(f'"{card.number}"' for card in self._cards)
        yield f"              device_ids: [{numbers}]"
        yield "              capabilities: [gpu]"

    def _health(self, known: Situation | None) -> Iterator[str]:
        span = start_time(known) if known is not None else None
        seconds = min(max(span.most if span is not None else _MOST_SECONDS, _LEAST_SECONDS), _MOST_SECONDS)
        yield f"    # {self._said('health')}"
        yield "    healthcheck:"
        call = "import urllib.request as u; u.urlopen('http://127.0.0.1:30000/health', timeout=20)"
        yield f'      test: ["CMD", "python3", "-c", {json.dumps(call)}]'
        yield "      interval: 30s"
        yield "      timeout: 30s"
        yield f"      start_period: {round(seconds)}s"

    def _said(self, key: str) -> str:
        return _SAID[key][self._lang == "zh"]


_SAID: Final = {
    "head": (
        "{model} on {count} x {card}, written by sgdoctor preflight --write-compose",
        "{count} x {card} 上的 {model}，由 sgdoctor preflight --write-compose 生成",
    ),
    "restart": (
        "Once it has served: unless-stopped. Before that a start that cannot work would be repeated for ever.",
        "成功服务之后再改为 unless-stopped；否则无法成功的启动会无限重复。",
    ),
    "ports": (
        "Only from this machine. For others leave 127.0.0.1: out and add --api-key.",
        "仅本机可访问。要对外开放，请去掉 127.0.0.1: 并加上 --api-key。",
    ),
    "cache": ("Compiled kernels: later starts are faster.", "保存编译好的内核，以后启动更快。"),
    "shm": ("NCCL needs shared memory between the cards.", "多卡之间的 NCCL 需要共享内存。"),
    "health": (
        "The start takes long; until then a failing check does not count.",
        "启动耗时较长，在此之前检查失败不计。",
    ),
}


def _quoted(text: str) -> str:
    """A YAML scalar that Compose leaves alone: a dollar sign would begin a variable."""
    escaped = text.replace("$", "$$")
    plain = all(character.isalnum() or character in "-_./=," for character in escaped)
    if plain and (escaped[:1].isalpha() or escaped.startswith("--")):
        return escaped
    return json.dumps(escaped, ensure_ascii=False)
