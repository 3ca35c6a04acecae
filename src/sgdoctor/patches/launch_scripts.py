"""What is wrong with a launch script that patches libraries and then starts SGLang, by what it does when it is run."""

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Final, NamedTuple

from sgdoctor.launch.model import Problem
from sgdoctor.patches import script_problems as problems
from sgdoctor.patches.model import PatchKind
from sgdoctor.patches.python_texts import PythonText, python_in_shell
from sgdoctor.patches.script_reading import (
    Action,
    Import,
    Patch,
    Rebinding,
    Script,
    Start,
    Use,
    read_script,
)
from sgdoctor.patches.versions import (
    CALLS_BY_KEYWORD,
    CHECKS_EVERY_CONFIG,
    REGISTERS_QWEN3_ASR,
    Range,
    pinned_transformers,
)
from sgdoctor.texts import Text

# A script of this size is a program of its own.
_LARGEST: Final = 512 * 1024

_BASE_CONFIG: Final = re.compile(r"transformers(?:\.configuration_utils)?\.Pre[Tt]rainedConfig\.(validate\w*)")
_BASE_CHECK: Final = re.compile(r"transformers(?:\.configuration_utils)?\.Pre[Tt]rainedConfig\.validate_layer_type")
_IN_MODULE: Final = re.compile(r"transformers\.configuration_utils\.((?:validate_)?layer_types?(?:_validation)?)")
_ONE_CONFIG: Final = re.compile(r"transformers(?:\.\w+)*\.(\w+Config)\.validate_layer_type")
_REGISTER: Final = re.compile(r"transformers(?:\.\w+)*\.(?:AutoConfig|CONFIG_MAPPING|_LazyConfigMapping)\.register")
_CHECKS: Final = frozenset({"validate_layer_type", "layer_type_validation"})

BASE_CHECKS: Final = frozenset(
    {
        "validate",
        "validate_architecture",
        "validate_layer_type",
        "validate_output_attentions",
        "validate_rope",
        "validate_token_ids",
    }
)
"""Checks on ``PreTrainedConfig``, the same ones in transformers 5.4.0, 5.8.1, 5.12.1 and 5.24.0."""

MODULE_CHECKS: Final = frozenset({"layer_type_validation"})
"""Checks of layers that are functions of ``transformers.configuration_utils`` in these releases."""

# Classes of transformers whose import brings no config of a model with it.
_NO_MODEL: Final = frozenset({"AutoConfig", "PretrainedConfig", "PreTrainedConfig"})

# What a script can import to start the server, and which releases have it (wheels 0.4.4.post3 to 0.5.23).
_ENTRIES: Final = {
    "sglang.srt.server": (Range("sglang", (0,), (0, 4, 5)), Text("gone since 0.4.6", "0.4.6 起已移除")),
    "sglang.launch_server.launch_server": (
        Range("sglang", (0,), (0, 5, 4)),
        Text("gone since 0.5.4", "0.5.4 起已移除"),
    ),
    "sglang.launch_server.run_server": (Range("sglang", (0, 5, 5)), Text("it came with 0.5.5", "0.5.5 才加入")),
}
# How bad a `register` without `exist_ok` is: where the engine names it, where it does not, where that is not known.
_BY_KEYWORD: Final = {True: "fatal", False: "notice", None: "error"}

_NO_RELEASE: Final = "launch_server_cli"


def recognise_script(text: str, *, sglang: str | None = None, transformers: str | None = None) -> tuple[Problem, ...]:
    """What is wrong with a launch script, in the order of its lines.

    Args:
        text: the script, or a shell text with here-documents that write one.
        sglang: version of SGLang that will run it; where it is not known, a current one is assumed, and what only some
            of the current ones have is left open.
        transformers: version of transformers; where it is not known, that which the SGLang release pins.

    Returns:
        Empty for a script in which nothing is wrong, and for a text that is no launch script.
    """
    versions = _Versions(sglang, transformers or pinned_transformers(sglang))
    found: list[_Found] = []
    for piece in _pieces(text):
        script = _read(piece)
        if isinstance(script, SyntaxError):
            found += _in_broken(piece, script, versions)
        else:
            for search in (_entries, _starts, _patches, _without_effect):
                found += search(script, versions)
    return tuple(problem for _, problem in sorted(found, key=lambda pair: pair[0]))


def intended_patches(text: str) -> tuple[PatchKind, ...]:
    """What a launch script was meant to put right, whether it does so or not."""
    kinds: set[PatchKind] = set()
    for piece in _pieces(text):
        script = _read(piece)
        if isinstance(script, SyntaxError):
            continue
        targets = [one.target for one in script.actions if isinstance(one, Patch)]
        targets += [one.origin for one in script.actions if isinstance(one, Rebinding)]
        if any(_REGISTER.fullmatch(target) for target in targets):
            kinds.add(PatchKind.MODEL_TYPE)
        checks = any(target.rpartition(".")[2] in _CHECKS for target in targets)
        if checks or any({"layer_types", "num_hidden_layers"} <= set(one.parameters) for one in script.unused):
            kinds.add(PatchKind.LAYER_TYPES)
    return tuple(sorted(kinds))


class _Versions(NamedTuple):
    sglang: str | None
    transformers: str | None


_Found = tuple[int, Problem]


def _pieces(text: str) -> list[PythonText]:
    if len(text) > _LARGEST or ("sglang" not in text and "transformers" not in text):
        return []
    return python_in_shell(text) or [PythonText(text, 0)]


def _read(piece: PythonText) -> Script | SyntaxError:
    """The script with the lines of the whole text, or why Python refuses it.

    An empty one where that cannot be said here: nested too deep, or written for a newer Python.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about escapes in strings of the script
        try:
            tree = ast.parse(piece.text)
            ast.increment_lineno(tree, piece.lines_before)
            return read_script(tree)
        except SyntaxError as error:
            # Python 3.12 takes f-strings that the one here may not.
            return Script() if "f-string" in error.msg else error
        except (ValueError, RecursionError, MemoryError):
            return Script()


def _in_broken(piece: PythonText, error: SyntaxError, versions: _Versions) -> Iterator[_Found]:
    """A script that Python refuses as a whole; its imports stand on lines of their own."""
    imports: list[Action] = []
    for lines_before, text in enumerate(piece.text.splitlines(), piece.lines_before):
        if text.strip().startswith(("import ", "from ")):
            script = _read(PythonText(text.strip(), lines_before))
            imports += script.actions if isinstance(script, Script) else ()
    # A text without an import of these libraries is something else than Python: a shell script, YAML.
    if any(isinstance(one, Import) and one.module.startswith(("sglang", "transformers")) for one in imports):
        line = (error.lineno or 1) + piece.lines_before
        yield line, problems.not_python(line, error.msg)
        yield from _entries(Script(imports), versions)


def _entries(script: Script, versions: _Versions) -> Iterator[_Found]:
    """Imports of what this SGLang does not have; one per line."""
    seen: set[int] = set()
    for one in script.actions:
        if not isinstance(one, Import) or one.caught or one.line in seen or not one.module.startswith("sglang"):
            continue
        whole = f"{one.module}.{one.name}" if one.name else one.module
        for entry in (one.module, whole):
            releases = _missing(entry, versions)
            if releases is not None:
                seen.add(one.line)
                yield one.line, problems.no_such_entry(one.line, entry, releases)
                break


def _missing(entry: str, versions: _Versions) -> Text | None:
    """Which releases have an entry that is not in this one; None where it is there or may be."""
    if entry.rpartition(".")[2] == _NO_RELEASE:
        return Text("no release has it", "任何发布版本都没有")
    having, releases = _ENTRIES.get(entry, (None, None))
    if having is None:
        return None
    holds = having.holds(versions.sglang)
    # Of an unknown version only what no current one has is said to be missing.
    return releases if holds is False or (holds is None and having.below is not None) else None


def _starts(script: Script, versions: _Versions) -> Iterator[_Found]:
    """Starts that spawned children repeat, and those that leave the patches behind."""
    del versions
    patched = False
    for one in script.actions:
        patched = patched or isinstance(one, Patch)
        if not isinstance(one, Start):
            continue
        if one.how == "call" and not one.guarded:
            yield one.line, problems.no_main_guard(one.line)
        elif one.how == "module" and patched:
            yield one.line, problems.children_unpatched(one.line, one.entry)
        elif one.how == "program" and patched:
            yield one.line, problems.patches_left_behind(one.line, one.entry)


def _patches(script: Script, versions: _Versions) -> Iterator[_Found]:
    """Patches of what is not there, of what is taken over already, with a function that does not fit."""
    configs: dict[str, int] = {}
    registered: Import | None = None
    told: set[str] = set()
    for one in script.actions:
        if isinstance(one, Import):
            if one.module.startswith("transformers") and _brings_config(one):
                configs.setdefault(one.name or one.module, one.line)
            if registered is None and one.module.startswith(("sglang.srt", "sglang.launch_server")):
                registered = one
        if isinstance(one, Patch | Use) and one.target not in told:
            problem = _target(one, versions)
            if problem is not None:
                told.add(one.target)
                yield one.line, problem
        if not isinstance(one, Patch):
            continue
        if _BASE_CHECK.fullmatch(one.target):
            for name, line in configs.items():
                yield one.line, problems.check_taken_before(one.line, name, line)
        elif _REGISTER.fullmatch(one.target):
            function = one.function
            if function is not None and not function.any_keyword and "exist_ok" not in function.parameters:
                severity = _BY_KEYWORD[CALLS_BY_KEYWORD.holds(versions.sglang)]
                yield one.line, problems.keyword_missing(one.line, _short(one.target), function.name, severity)
            elif CALLS_BY_KEYWORD.holds(versions.sglang):
                yield one.line, problems.not_needed(one.line, _short(one.target), "0.5.20")
            if registered is not None and REGISTERS_QWEN3_ASR.holds(versions.sglang) is not False:
                yield one.line, problems.registered_before(one.line, registered.module, registered.line)


def _target(one: Patch | Use, versions: _Versions) -> Problem | None:
    """What is wrong with the thing that is patched or read."""
    reads = isinstance(one, Use)
    on_base = _BASE_CONFIG.fullmatch(one.target)
    if on_base is None:
        in_module = _IN_MODULE.fullmatch(one.target)
        if in_module is not None and in_module[1] not in MODULE_CHECKS:
            return problems.no_such_check(one.line, one.target)
        of_one = _ONE_CONFIG.fullmatch(one.target)
        return problems.check_of_one_class(one.line, of_one[1]) if of_one is not None and not reads else None
    if one.caught:
        return None
    if on_base[1] not in BASE_CHECKS:
        return problems.no_such_check(one.line, _short(one.target))
    if CHECKS_EVERY_CONFIG.holds(versions.transformers) is False and versions.transformers is not None:
        return problems.check_too_new(one.line, _short(one.target), versions.transformers, reads=reads)
    return None


def _brings_config(one: Import) -> bool:
    """Whether an import from transformers defines config classes of models."""
    if one.module.startswith("transformers.models.") and not one.module.startswith("transformers.models.auto"):
        return True
    return one.name is not None and one.name.endswith("Config") and one.name not in _NO_MODEL


def _without_effect(script: Script, versions: _Versions) -> Iterator[_Found]:
    """Functions that were to be patches and replace nothing."""
    del versions
    for one in script.unused:
        if "patch" in one.name.lower() or one.name in _CHECKS:
            yield one.line, problems.never_applied(one.line, one.name)
    for action in script.actions:
        if isinstance(action, Rebinding) and action.origin.startswith("transformers."):
            yield action.line, problems.only_here(action.line, action.origin, action.function.name)


def _short(target: str) -> str:
    return ".".join(target.split(".")[-2:])
