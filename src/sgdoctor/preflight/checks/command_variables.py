"""Environment variables that the version of the engine does not need any more."""

from collections.abc import Iterator
from typing import ClassVar, Final

from sgdoctor.engines.sglang.variables import Outdated, outdated_variables
from sgdoctor.launch.change import Change
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_ENVIRONMENT: Final = Text("the environment", "环境变量")


class CommandVariables:
    """No variable of the environment is a work-around whose time is over."""

    id: ClassVar = "command-variables"
    area: ClassVar = Area.COMMAND
    title: ClassVar = Text("Variables", "环境变量")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Each of them; nothing where the version is not known or the launch sets no variable."""
        launch = situation.launch
        if launch is None or launch.engine != "sglang" or not launch.env or situation.version is None:
            return
        found = [_finding(one, situation.version) for one in outdated_variables(launch.env, situation.version)]
        yield from found or [Finding(Status.PASS, Text("none is out of date", "没有过时的变量"))]


def _finding(one: Outdated, version: str) -> Finding:
    name = one.name
    if one.becomes:
        title = Text(
            f"{name} is called {one.becomes} since SGLang {one.since}",
            f"{name} 从 SGLang {one.since} 起改名为 {one.becomes}",
        )
    elif one.flag:
        flag = " ".join(one.flag)
        title = Text(
            f"{name} does nothing since SGLang {one.since}: the flag {flag} took its place",
            f"{name} 从 SGLang {one.since} 起不起作用，由参数 {flag} 取代",
        )
    else:
        title = Text(
            f"{name} is not needed since SGLang {one.since}: remove it",
            f"{name} 从 SGLang {one.since} 起不再需要：请删除",
        )
    return Finding(
        Status.WARN,
        title,
        evidence=name if one.value is None else f"{name}={one.value}",
        where=_ENVIRONMENT,
        changes=_changes(one),
        detail=Text(
            f"{version} runs here and ignores it." if one.ignored else f"{version} runs here and still takes it.",
            f"当前为 {version}，会忽略它。" if one.ignored else f"当前为 {version}，旧名称仍可用。",
        ),
    )


def _changes(one: Outdated) -> tuple[Change, ...]:
    gone = Change("env.unset", one.name)
    if one.becomes:
        return (gone, Change("env.set", one.becomes, one.value)) if one.value is not None else ()
    return (gone, Change("flag.set", one.flag[0], one.flag[1])) if one.flag else (gone,)
