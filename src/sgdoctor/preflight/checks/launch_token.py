"""A token of the hub for models that ask for one."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.compose.document import ComposeDocument
from sgdoctor.launch.host_paths import host_path
from sgdoctor.launch.model import Launch
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.elsewhere import unseen
from sgdoctor.preflight.launches.gpus import image_env
from sgdoctor.preflight.launches.places import State, state_of
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.preflight.models.locate import Place, locate
from sgdoctor.texts import Text

_TOKENS: Final = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HUGGINGFACE_HUB_TOKEN")
# Families whose pages ask every user to accept a licence.
_GATED: Final = re.compile(
    r"meta-llama/|google/(?:gemma-(?:2b|7b|[23]-)|gemma-3n|codegemma|paligemma|recurrentgemma|shieldgemma|medgemma)"
    r"|(?:CohereLabs|CohereForAI)/(?:c4ai|aya)|mistralai/(?:Codestral|Mistral-Large)|black-forest-labs/FLUX\.1-dev",
    re.IGNORECASE,
)


class LaunchToken:
    """The hub lets the engine download its model."""

    id: ClassVar = "launch-token"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Token of the hub", "模型站 token")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Only for a model that is still to be downloaded; whether there is a token, never which."""
        launch = situation.launch
        if launch is None or not launch.argv:
            return
        env: dict[str, str | None] = {**(image_env(situation.image) or {}), **launch.env}
        located = locate(launch, asked_by(launch, situation.flags), situation.beside, env)
        if located.place is not Place.HUB or env.get("SGLANG_USE_MODELSCOPE"):
            return
        where = Text("the environment", "环境变量")
        source = _source(situation, launch, env, located.cache or "")
        empty = next((name for name in _TOKENS if env.get(name) == ""), None)
        if source:
            yield Finding(Status.PASS, Text("there is one", "已提供"), evidence=source)
        elif empty is not None:
            yield Finding(
                Status.WARN,
                Text(f"{empty} is empty", f"{empty} 是空的"),
                where=where,
                prevents="SGL310",
                detail=Text(
                    "The variable that it is filled from is not set where the launch is run.",
                    "运行启动命令的环境里没有设置它所引用的变量。",
                ),
            )
        elif _GATED.match(located.asked):
            why = unseen(situation.host, launch)
            if why is not None and _token_file(situation, launch, env, located.cache or "") is not None:
                # `hf auth login` puts it beside the cache, which the engine gets, and nobody looked there.
                yield Finding(Status.SKIPPED, why, evidence=located.asked, remote=situation.host.remote)
                return
            yield Finding(
                Status.FAIL,
                Text(
                    f"{located.asked} asks for a token, and the engine gets none",
                    f"{located.asked} 需要 token，而引擎没有得到",
                ),
                prevents="SGL310",
                changes=(_by_hand(situation, launch),),
                detail=Text(
                    "Accept the licence on the page of the model first. The token of the host does not get into a "
                    "container by itself.",
                    "请先在模型页面接受许可协议。宿主机上的 token 不会自动进入容器。",
                ),
                phase="config",
            )


def _by_hand(situation: Situation, launch: Launch) -> Change:
    """The line with the token, which only its owner can fill in."""
    if isinstance(situation.document, ComposeDocument):
        return Change("file.edit", f"services.{situation.document.service}.environment", "HF_TOKEN: YOUR_TOKEN")
    if launch.image is not None:
        return Change("file.edit", "docker run", "-e HF_TOKEN=YOUR_TOKEN")
    return Change("host.command", value="export HF_TOKEN=YOUR_TOKEN")


def _source(situation: Situation, launch: Launch, env: dict[str, str | None], cache: str) -> str:
    """What gives a token: a variable, also one of the caller's, or a file beside the cache; empty for none."""
    for name in _TOKENS:
        if name in env and env[name] != "":
            return name
    here = _token_file(situation, launch, env, cache)
    return _token_path(env, cache) if here is not None and state_of(situation, here) is State.FILE else ""


def _token_path(env: dict[str, str | None], cache: str) -> str:
    return env.get("HF_TOKEN_PATH") or f"{cache.removesuffix('/hub')}/token"


def _token_file(situation: Situation, launch: Launch, env: dict[str, str | None], cache: str) -> Path | None:
    """Where the file with the token would be on the host; None where none of its folders gets to the engine."""
    return host_path(launch, _token_path(env, cache), situation.beside)
