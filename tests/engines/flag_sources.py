"""Tiny packages that define options in the three ways of SGLang, written for these tests; files by name."""

ACTIONS = """
import argparse


class LoRAPathAction(argparse.Action):
    pass


class DeprecatedStoreTrueAction(argparse.Action):
    def __init__(self, option_strings, dest, new_flag=None, nargs=0, const=True, default=False, **kwargs):
        pass


class DeprecatedAliasStoreAction(argparse.Action):
    def __init__(self, option_strings, dest, new_flag=None, **kwargs):
        pass
"""

ARGPARSE = {
    "sglang/version.py": '__version__ = "0.5.9"\n',
    "sglang/srt/server_args.py": """
import argparse
import dataclasses
import json
import sys
from typing import List, Optional

from sglang.srt.parsers import Parsers
from sglang.srt.utils import ALL_MODULES, MODULES, human_readable_int
from . import formats

DTYPES = ["auto", "float16"]
if sys.platform == "win32":
    DTYPES.append("float32")
BACKENDS = DTYPES[1:] if False else ["a", *DTYPES]


@dataclasses.dataclass
class ServerArgs:
    model_path: str
    port: int = 30000
    dtype: str = "auto"
    queue: int = sys.maxsize
    sizes: List[int] = dataclasses.field(default_factory=lambda: [1, 2])
    kind: str = DTYPES[0]

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        names = list(Parsers.table.keys())
        parser.add_argument("--model-path", "--model", type=str, required=True, help="Where it is.")
        parser.add_argument("--port", type=int, default=ServerArgs.port)
        parser.add_argument("--dtype", default=ServerArgs.dtype, choices=DTYPES)
        parser.add_argument("--queue", type=int, default=ServerArgs.queue)
        parser.add_argument("--sizes", type=int, nargs="+", default=ServerArgs.sizes)
        parser.add_argument("--kind", default=ServerArgs.kind, choices=formats.KINDS)
        parser.add_argument("--parser", choices=["auto"] + names)
        parser.add_argument("--modules", nargs="*", choices=MODULES + [ALL_MODULES])
        parser.add_argument("--options", type=json.loads, default="{}")
        parser.add_argument("--length", type=human_readable_int)
        parser.add_argument("--quiet", action="store_true", help="Say less.")
        parser.add_argument("--strict", action=argparse.BooleanOptionalAction, default=None)
        parser.add_argument("--old", action="store_true", help="NOTE: --old is deprecated. Use '--new=fast' instead.")
        parser.add_argument("--new", help="Replaces the deprecated --old.")
        parser.add_argument("--unreadable", choices=compute())
        for phase in ["prefill", "decode"]:
            parser.add_argument(f"--max-{phase}", type=int)
        if sys.platform == "linux":
            parser.add_argument("--only-here", type=float, default=-0.5)
""",
    "sglang/srt/formats.py": "KINDS = tuple(sorted({'b', 'a'}))\n",
    "sglang/srt/parsers.py": """
from typing import Dict, Type


class Parsers:
    table: Dict[str, Type] = {"qwen": QwenParser, "glm": GlmParser}
""",
    "sglang/srt/utils/__init__.py": "from sglang.srt.utils.common import *\n",
    "sglang/srt/utils/common.py": """
MODULES = ["q", "k"]
ALL_MODULES = "all"


def human_readable_int(value):
    return int(value)
""",
}

ANNOTATED = {
    "sglang/srt/arg_groups/argparse_actions.py": ACTIONS,
    "sglang/srt/server_args.py": """
from __future__ import annotations

import argparse
import dataclasses
import json
from enum import IntEnum
from typing import Dict, List, Literal, Optional, Union

from sglang.srt.arg_groups.arg_utils import A, Arg, add_cli_args_from_dataclass
from sglang.srt.arg_groups.argparse_actions import (
    DeprecatedAliasStoreAction,
    DeprecatedStoreTrueAction,
    LoRAPathAction,
)

Backend = Literal["full", "breakable"]


class Mode(IntEnum):
    NONE = 0
    ALL = 1


class Plain:
    FULL = "full"
    OFF = "disabled"
    ALL = (FULL, OFF)


@dataclasses.dataclass
class ServerArgs:
    model_path: A[str, Arg(help="Where it is.", aliases=["--model"])]
    dtype: A[str, Arg(help="Type.", choices=["auto", "float16"])] = "auto"
    port: A[int, "The port."] = 30000
    tp_size: A[int, Arg(help="Ranks.", cli_name="--tensor-parallel-size", aliases=["--tp-size"])] = 1
    fraction: A[Optional[float], "Share of memory."] = None
    quiet: A[bool, "Say less."] = False
    sizes: A[Optional[List[int]], Arg(help="Sizes.")] = None
    backend: A[Optional[Backend], Arg(help="How.")] = None
    level: A[Literal[0, 1], Arg(help="How much.")] = 0
    phase: A[str | None, Arg(help="Which.", choices=Plain.ALL)] = None
    options: A[Optional[Dict[str, str]], Arg(help="JSON.", type_parser=json.loads)] = None
    paths: A[Union[str, List[str]], Arg(help="Paths.", action=LoRAPathAction, action_kwargs=dict(nargs="*"))] = None
    injected: A[bool, Arg(no_cli=True)] = False
    local: int = 3

    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        add_cli_args_from_dataclass(parser, ServerArgs)
        parser.add_argument("--mode", default=ServerArgs.dtype, choices=[m.name.lower() for m in Mode])
        parser.add_argument("--tensor", dest="tp_size", type=int, action=DeprecatedAliasStoreAction,
                            new_flag="--tensor-parallel-size", default=argparse.SUPPRESS)
        parser.add_argument("--silent", dest="quiet", action=DeprecatedStoreTrueAction, new_flag="--quiet")
""",
}

NAMESPACES = {
    "sglang/srt/arg_groups/argparse_actions.py": ACTIONS,
    "sglang/srt/arg_groups/choices.py": 'DTYPES = ["auto", "float16"]\n',
    "sglang/srt/arg_groups/fields/__init__.py": "",
    "sglang/srt/arg_groups/fields/model.py": """
import msgspec

from sglang.srt.arg_groups.arg_utils import A, Arg
from sglang.srt.arg_groups.choices import DTYPES


class Model(msgspec.Struct):
    _NS_PATH = "model"
    model_path: A[str, Arg(help="Where it is.", aliases=["--model"])]
    dtype: A[str, Arg(help=("Type, " "in two parts."), choices=DTYPES, resolvable=True)] = "auto"
    rank: A[int, Derived("set later")] = 0
""",
    "sglang/srt/arg_groups/fields/memory.py": """
import msgspec

from sglang.srt.arg_groups.arg_utils import A, Arg


class Memory(msgspec.Struct):
    _NS_PATH = "memory"
    page_size: A[int | None, "Tokens of a page."] = None
    sizes: A[list[int], Arg(help="Sizes.")] = msgspec.field(default_factory=list)
    _given: A[bool, Arg(no_cli=True)] = False
""",
    "sglang/srt/server_args.py": """
import argparse
import sys

from sglang.srt.arg_groups.argparse_actions import DeprecatedStoreTrueAction


def _parsers():
    module = sys.modules.get("sglang.srt.parsers")
    if module is not None:
        return list(module.Parsers.table)
    from sglang.srt.parser_names import NAMES

    return list(NAMES)


class ServerArgs:
    @staticmethod
    def add_cli_args(parser: argparse.ArgumentParser):
        parsers = _parsers()
        parser.add_argument("--parser", choices=["auto"] + parsers, default=_declared_default("dtype"))
        parser.add_argument("--no-graph", action=DeprecatedStoreTrueAction, new_flag="--graph={a,b}")
""",
    "sglang/srt/parser_names.py": 'NAMES = ("qwen", "glm")\n',
}
