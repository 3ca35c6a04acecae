"""From a target to the answer of ``sgdoctor fix``: diagnosis, flags of the version, problems, memory, plan."""

import argparse
import os
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from sgdoctor.cli.diagnose import EXIT_FAILED, EXIT_FINE, EXIT_UNDETERMINED, EXIT_WARNINGS
from sgdoctor.cli.fix_model import ModelFolder, card_of, launch_script, model_folder, script_text
from sgdoctor.cli.fix_notes import doubt_of, not_computed
from sgdoctor.diagnosis.model import State, Verdict
from sgdoctor.diagnosis.pipeline import diagnose
from sgdoctor.engines.sglang.flags.model import Schema
from sgdoctor.engines.sglang.flags.schemas import schema
from sgdoctor.engines.sglang.logged_launch import logged_launch
from sgdoctor.engines.sglang.versions import version_of_image
from sgdoctor.errors import UserError
from sgdoctor.fixes.changed import as_meant
from sgdoctor.fixes.config_file import with_config
from sgdoctor.fixes.flag_tables import assumed, flag_problems, likeliest, refuse_missing, refuse_unread
from sgdoctor.fixes.model import Answer, Basis
from sgdoctor.fixes.patch_steps import NO_PATCHES, Patches, patches_for
from sgdoctor.fixes.plan import Knowledge, Wishes, plan_for
from sgdoctor.fixes.solving import Known, solver_for
from sgdoctor.fixes.values import asked
from sgdoctor.launch.change import Change
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.model import Document, Editable, Edited, EditState, FlagTable, Launch, Origin, Problem
from sgdoctor.patches.launch_scripts import intended_patches, recognise_script
from sgdoctor.patches.model import PatchSite
from sgdoctor.patches.plan import STARTUP_PATH, startup_file
from sgdoctor.texts import Text

if TYPE_CHECKING:
    from sgdoctor.rules.base import RuleBase
    from sgdoctor.targets import Target

_VERSION: Final = re.compile(r"v?(\d+\.\d+(?:\.\d+)?(?:\.?(?:post|rc|dev)\d+)*)")
_BAD: Final = frozenset({"fatal", "error"})
_NO_GPU: Final = "no-gpu-asked-for"
_PATCH_FOLDER: Final = "sgdoctor-patches"
_LARGEST_STARTUP: Final = 1 << 20
"""Bytes; a generated file has a hundredth of it."""


def answer_for(
    target: "Target",
    base: "RuleBase",
    arguments: argparse.Namespace,
    more: Sequence[Change] = (),
    *,
    only: bool = False,
    tidy: bool = False,
    verdict: Verdict | None = None,
    unseen: Document | None = None,
    bare: Path | None = None,
) -> Answer:
    """Everything there is to say about a target.

    Args:
        target: which; its log is open.
        base: the rules.
        arguments: of the command line: ``choose``, ``set``, ``unset``, ``env``, ``version``.
        more: changes that are asked for beside those of ``arguments``.
        only: whether nothing but what was asked for and chosen is to be changed.
        tidy: whether flags that do nothing are taken out; nobody would start a server anew for that alone.
        verdict: on the start that counts, where that is not the newest one of the log.
        unseen: stands for a launch that nothing shows, not even the log.
        bare: folder for the files that a process needs where a container has mounts; None for the usual one.

    Raises:
        UserError: something that was asked for cannot be.
    """
    if verdict is None and target.log is not None:
        verdict = diagnose(target.log, base, redact=False)[-1]
    facts = {name: fact.value for name, fact in verdict.facts.items()} if verdict is not None else {}
    document = target.document
    version = _version(arguments.version, facts, document.launch.image if document else None)
    table = schema(version) if version else likeliest(document, facts)
    if document is None:
        document = _logged(facts, version, target.name) or unseen or Unseen(target.name)
    beside = target.file.path.absolute().parent if target.file is not None else Path.cwd()
    document = with_config(document, table, beside)
    launch = as_meant(document, document.problems, table)
    doubt = None
    if getattr(arguments, "log", None) is not None and target.log is not None and target.document is not None:
        doubt = doubt_of(launch, facts, table, target.log.name)
    asked_for = asked(arguments.set, arguments.unset, arguments.env, table)
    refuse_unread(asked_for, table)
    refuse_missing(asked_for, launch, table)
    if bare is None and launch.image is None:
        bare = beside / _PATCH_FOLDER
    places = _Places(model_folder(launch, table, beside), beside, bare, _serves_as(launch, table))
    file = shown_path(target.file.path) if target.file is not None else ""
    found = _knowledge(launch, document.problems, table, verdict, places, chosen=arguments.choose)
    known = found._replace(file=file)
    plan = plan_for(document, known, Wishes(tuple(arguments.choose), (*asked_for, *more), only, tidy))
    if doubt is not None:
        plan = replace(plan, warnings=(doubt, *plan.warnings))
    return Answer(
        note=assumed(version, table) if document.launch.origin is not Origin.LOG else None,
        target=target.name,
        document=document,
        plan=plan,
        flags=table,
        problems=tuple(known.problems),
        verdict=verdict,
        log=target.log.name if target.log is not None else "",
        version=version,
        unmeasured=not_computed(plan, verdict, target, folder=places.model is not None),
    )


def _knowledge(
    launch: Launch,
    written: Sequence[Problem],
    table: Schema,
    verdict: Verdict | None,
    places: "_Places",
    *,
    chosen: Sequence[str],
) -> Knowledge:
    """What is known beside the document: problems, the model, the card, and what takes the place of patches.

    Args:
        launch: as it is meant.
        written: what is wrong with its text.
        table: the flags of the version.
        verdict: on the start that counts; None without a log.
        places: where the launch has its files.
        chosen: ids of steps that the user prefers.
    """
    facts = {name: fact.value for name, fact in verdict.facts.items()} if verdict is not None else {}
    script, patches = _patches(verdict, launch, places, chosen)
    # What only a log shows was started with these flags.
    flags = flag_problems(launch, table, facts) if launch.origin is not Origin.LOG else ()
    return Knowledge(
        flags=table,
        check=lambda changed: flag_problems(changed, table, facts),
        verdict=verdict,
        problems=(*(problem for problem in written if not _is_refuted(problem, facts)), *flags, *script),
        solve=solver_for(verdict, table, _known(launch, facts, places.model)),
        patches=patches,
    )


def _known(launch: Launch, facts: Mapping[str, Any], folder: ModelFolder | None) -> Known:
    """What the files of the model say; and the card of this machine, where no log tells of another one."""
    known = folder.known() if folder is not None else Known()
    if folder is None or "mem_before_weights_gib" in facts:
        return known
    card = card_of(launch)
    return known if card is None else replace(known, card_mib=card.total_mib, capability=card.sm)


class _Places(NamedTuple):
    """Where a launch has its files.

    Attributes:
        model: its folder; None out of reach.
        beside: folder that relative paths start from.
        bare: folder for the files of a process; None of containers.
        serves_as: name of the model for clients, where it is the path of the model; else None.
    """

    model: ModelFolder | None
    beside: Path
    bare: Path | None
    serves_as: str | None


def _serves_as(launch: Launch, flags: FlagTable) -> str | None:
    given = {flags.canonical(one.flag): one.values for one in given_flags(launch.argv, launch.flags_at, flags)}
    # Without a name of its own a server is called as the path of its model (sglang/srt/server_args.py, 0.5.15).
    return None if "--served-model-name" in given else next(iter(given.get("--model-path", ())[-1:]), None)


def _patches(
    verdict: Verdict | None, launch: Launch, places: _Places, chosen: Sequence[str]
) -> tuple[tuple[Problem, ...], Patches]:
    """What is wrong with the script that starts the engine, and what takes its place and that of other patches."""
    folder, beside = places.model, places.beside
    facts = {name: fact.value for name, fact in verdict.facts.items()} if verdict is not None else {}
    versions = {"sglang": facts.get("version_max"), "transformers": facts.get("transformers_version")}
    found = launch_script(launch, beside)
    text = script_text(found[1]) if found is not None else ""
    problems = tuple(_in_script(problem, found[0]) for problem in recognise_script(text, **versions)) if found else ()
    if not launch.argv or launch.origin is Origin.LOG:
        return problems, NO_PATCHES
    # Docker takes only absolute paths for a bind mount; Compose starts from the folder of its file.
    relative = launch.origin is Origin.COMPOSE
    site = PatchSite(
        folder=f"./{_PATCH_FOLDER}" if relative else str(beside / _PATCH_FOLDER),
        config=folder.config if folder is not None else None,
        config_path=f"{folder.inside}/config.json" if folder is not None else None,
        pythonpath=launch.env.get("PYTHONPATH"),
        sglang=versions["sglang"],
        transformers=versions["transformers"],
    )
    if places.bare is not None:
        site = replace(
            site,
            folder=str(places.bare),
            config_path=f"{folder.here.absolute()}/config.json" if folder is not None else None,
            pythonpath=launch.env.get("PYTHONPATH", os.environ.get("PYTHONPATH")),
            bare=True,
            serves_as=places.serves_as,
        )
    site = replace(site, startup=_startup_files(launch, site, beside))
    broken = any(problem.severity in _BAD for problem in problems)
    intended = intended_patches(text) if text else ()
    try:
        return problems, patches_for(verdict, site, intended, script_is_broken=broken, chosen=chosen)
    except UserError:  # the config.json is none: the diagnosis says so
        return problems, NO_PATCHES


def _startup_files(launch: Launch, site: PatchSite, beside: Path) -> tuple[bytes, ...]:
    """What stands where the start-up file goes, and where the launch has one."""
    paths = [beside / site.folder / startup_file(site)]
    paths += [beside / mount.source for mount in launch.mounts if mount.target == STARTUP_PATH and mount.source]
    found = []
    for path in dict.fromkeys(paths):
        with suppress(OSError), path.open("rb") as file:
            found.append(file.read(_LARGEST_STARTUP))
    return tuple(found)


def _in_script(problem: Problem, script: str) -> Problem:
    """The problem with the name of the script in front of its line."""
    where = problem.where or Text("", "")
    return replace(problem, where=Text(f"{script} {where.en}".strip(), f"{script} {where.zh}".strip()))


def exit_code(answer: Answer) -> int:
    """3 for a failure that was seen or is written, 5 for one without a cause, 4 for warnings, 0 for nothing to do."""
    state = answer.verdict.state if answer.verdict is not None else None
    if state is State.FAILED or any(problem.severity in _BAD for problem in answer.problems):
        return EXIT_FAILED
    if state is State.UNDETERMINED:
        return EXIT_UNDETERMINED
    plan = answer.plan
    warned = state in (State.DEGRADED, State.STALLED) or any(
        problem.severity == "degraded" for problem in answer.problems
    )
    foreseen = any(step.basis is not Basis.ASKED for step in plan.steps)
    return EXIT_WARNINGS if warned or foreseen or plan.warnings or plan.left else EXIT_FINE


# ---------------------------------------------------------------- version and flags


def _version(given: str | None, facts: Mapping[str, Any], image: str | None) -> str:
    """The version of the engine: what the user says, what the log says, what the image is called; else empty.

    Raises:
        UserError: what the user says is no version.
    """
    if given is not None:
        return version_named(given)
    for name in ("version", "version_max"):
        if isinstance(facts.get(name), str):
            return str(facts[name])
    return version_of_image(image)


def version_named(given: str) -> str:
    """The version that ``--version`` names.

    Raises:
        UserError: it is no version.
    """
    found = _VERSION.fullmatch(given.strip())
    if found is None:
        raise UserError(
            f"--version {given!r}: no version; write it as in 0.5.15",
            f"--version {given!r}：不是版本号；写法如 0.5.15",
        )
    return found[1]


def shown_path(path: Path) -> str:
    """A path as ``patch -p1`` takes it: from here, or from the folder of the file."""
    here = Path.cwd()
    absolute = path.absolute()
    return str(absolute.relative_to(here)) if absolute.is_relative_to(here) else path.name


def _is_refuted(problem: Problem, facts: Mapping[str, Any]) -> bool:
    """Whether the log shows the contrary: an engine that measured a GPU had one, by the default runtime of Docker."""
    return problem.id == _NO_GPU and facts.get("mem_before_weights_gib") is not None


# ---------------------------------------------------------------- what only the log shows


_NO_LAUNCH: Final = Launch(Origin.LOG, ())
_NOT_SEEN: Final = Editable(
    EditState.NO,
    Text(
        "this log does not say how the server was started; name its container, compose file or command, and give the "
        "log with --from",
        "这份日志没有写明服务是如何启动的；请指定其容器、compose 文件或命令，并用 --from 给出日志",
    ),
)


@dataclass(frozen=True, slots=True)
class Unseen:
    """A launch of which nothing says how the server was started.

    Attributes:
        editable: why nothing can be changed.
    """

    name: str
    text: str = ""
    launch: Launch = _NO_LAUNCH
    problems: tuple[Problem, ...] = ()
    editable: Editable = _NOT_SEEN

    def edited(self, changes: Sequence[Change], flags: FlagTable) -> Edited:  # noqa: ARG002
        """Never works."""
        assert self.editable.why is not None
        raise UserError(self.editable.why.en, self.editable.why.zh)


def _logged(facts: Mapping[str, Any], version: str, name: str) -> Document | None:
    arguments = {fact.removeprefix("args."): value for fact, value in facts.items() if fact.startswith("args.")}
    return logged_launch(arguments, version or None, name) if arguments else None
