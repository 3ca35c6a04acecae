"""Mistakes in launch scripts, by kind."""

from textwrap import dedent

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sgdoctor.patches.launch_scripts import intended_patches, recognise_script
from sgdoctor.patches.model import PatchKind
from tests.patches.scripts import (
    CALL,
    CHECK_OFF,
    GONE_ENTRY,
    GUARDED_CALL,
    OTHER_PROGRAM,
    REGISTER_AGAIN,
    RUNPY_AS_MAIN,
    RUNPY_PLAIN,
    RUNPY_UNGUARDED,
    SHORT_NAMES,
)


def found(text: str, **versions: str) -> list[tuple[str, str, str]]:
    """Line, id and severity of each problem."""
    problems = recognise_script(dedent(text), **versions)
    for problem in problems:
        assert problem.where is not None
        assert problem.detail is not None
        assert all(text.zh and text.zh != text.en for text in (problem.title, problem.where, problem.detail))
    return [(problem.where.en, problem.id, problem.severity) for problem in problems if problem.where is not None]


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(CHECK_OFF + REGISTER_AGAIN + GUARDED_CALL, id="both patches before a guarded call"),
        pytest.param(CHECK_OFF + RUNPY_PLAIN, id="runpy that leaves the main module"),
        pytest.param("import sys\n" + GUARDED_CALL, id="no patch at all"),
        pytest.param(RUNPY_AS_MAIN, id="runpy without patches"),
        pytest.param("import sys\n" + OTHER_PROGRAM, id="another program without patches"),
        pytest.param("print('sglang and transformers')\n", id="another script"),
        pytest.param("docker run lmsysorg/sglang:latest python3 -m sglang.launch_server --model-path /m\n", id="shell"),
        pytest.param("services:\n  sgl:\n    image: lmsysorg/sglang\n", id="YAML"),
        pytest.param("", id="nothing"),
        pytest.param(
            """
            import sys
            def main():
                from sglang.launch_server import run_server
                run_server(sys.argv)
            if "__main__" == __name__ and len(sys.argv) > 1:
                sys.exit(main())
            """,
            id="guard the other way round",
        ),
        pytest.param(
            """
            try:
                from sglang.srt.server import launch_server
            except ImportError:
                from sglang.srt.entrypoints.http_server import launch_server
            if __name__ == "__main__":
                launch_server(None)
            """,
            id="a way out for other versions",
        ),
        pytest.param(
            """
            import transformers.configuration_utils as cu
            if hasattr(cu.PretrainedConfig, "validate_layer_types"):
                cu.PretrainedConfig.validate_layer_types = lambda self: None
            try:
                cu.PretrainedConfig.validate_layers = lambda self: None
            except AttributeError:
                pass
            """,
            id="patches that ask first",
        ),
        pytest.param(
            """
            from transformers import AutoConfig
            old = AutoConfig.register
            AutoConfig.register = lambda *given, **named: old(*given, **{**named, "exist_ok": True})
            setattr(AutoConfig, "register", staticmethod(lambda model_type, config, *, exist_ok=False: None))
            """,
            id="other ways to take the keyword",
        ),
        pytest.param(
            """
            import functools
            from transformers import AutoConfig
            AutoConfig.register = functools.partial(AutoConfig.register, exist_ok=True)
            """,
            id="a patch that is no function of the script",
        ),
        pytest.param(
            """
            def patched(self): ...
            from transformers.configuration_utils import PreTrainedConfig
            setattr(PreTrainedConfig, "validate_layer_type", patched)
            """,
            id="setattr",
        ),
        pytest.param("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import sglang.srt.server\n", id="types"),
    ],
)
def test_a_script_without_a_mistake(script: str) -> None:
    assert found(script, sglang="0.5.15") == []


@pytest.mark.parametrize(
    ("script", "problems"),
    [
        pytest.param(
            """
            import sys
            from sglang.srt.server import launch_server_cli
            launch_server_cli()
            """,
            [("line 3", "no-such-entry", "fatal"), ("line 4", "no-main-guard", "fatal")],
            id="entry gone, no guard",
        ),
        pytest.param(
            """
            from sglang.launch_server import launch_server_cli as go
            def main():
                go()
            main()
            """,
            [("line 2", "no-such-entry", "fatal"), ("line 4", "no-main-guard", "fatal")],
            id="through a function",
        ),
        pytest.param(
            """
            import importlib, asyncio
            server = importlib.import_module("sglang.srt.server")
            """,
            [("line 3", "no-such-entry", "fatal")],
            id="imported by name",
        ),
        pytest.param(
            "import sglang as sgl\nengine = sgl.Engine(model_path='/m')\n",
            [("line 2", "no-main-guard", "fatal")],
            id="engine without guard",
        ),
        pytest.param(
            "import sys\nwith open('x') as f:\n    pass\n" + CALL,
            [("line 7", "no-main-guard", "fatal")],
            id="server without guard",
        ),
        pytest.param(RUNPY_UNGUARDED, [("line 3", "no-main-guard", "fatal")], id="runpy without guard"),
        pytest.param(
            "import sys\n" + SHORT_NAMES, [("line 7", "keyword-missing", "notice")], id="keyword called otherwise"
        ),
        pytest.param(
            """
            from transformers.models.auto.configuration_auto import CONFIG_MAPPING
            CONFIG_MAPPING.register = lambda key, value: None
            """,
            [("line 3", "keyword-missing", "notice")],
            id="keyword missing from a lambda",
        ),
        pytest.param(
            CHECK_OFF + RUNPY_AS_MAIN, [("line 17", "children-unpatched", "error")], id="runpy as the main module"
        ),
        pytest.param(
            CHECK_OFF + "import runpy\nrunpy.run_path('/x/sglang/launch_server.py', run_name='__main__')\n",
            [("line 15", "children-unpatched", "error")],
            id="runpy of a path",
        ),
        pytest.param(
            CHECK_OFF + OTHER_PROGRAM, [("line 16", "patches-left-behind", "error")], id="replaced by the stock command"
        ),
        pytest.param(
            CHECK_OFF + "import subprocess\nsubprocess.run('python3 -m sglang.launch_server', shell=True)\n",
            [("line 15", "patches-left-behind", "error")],
            id="stock command as a child",
        ),
        pytest.param(
            """
            from transformers import Qwen3Config
            def patched_validate(layer_types, num_hidden_layers):
                if hasattr(Qwen3Config, 'model_type') and 'qwen3_5_moe' in str(Qwen3Config):
                    return
                pass
            """,
            [("line 3", "patch-without-effect", "error")],
            id="a function that replaces nothing",
        ),
        pytest.param(
            """
            from transformers.configuration_utils import layer_type_validation
            layer_type_validation = lambda *given, **named: None
            """,
            [("line 3", "patch-without-effect", "error")],
            id="a name of the script",
        ),
        pytest.param(
            """
            import transformers.configuration_utils as cu
            old = cu.PreTrainedConfig.validate_layer_types
            cu.PreTrainedConfig.validate_layer_types = lambda self: None
            cu.validate_layer_type = lambda self: None
            """,
            [("line 3", "patch-target-missing", "error"), ("line 5", "patch-target-missing", "error")],
            id="a check that no release has",
        ),
        pytest.param(
            """
            from transformers import Qwen3_5MoeConfig, PretrainedConfig
            PretrainedConfig.validate_layer_type = lambda self: None
            """,
            [("line 3", "patch-too-late", "error")],
            id="after the config class",
        ),
        pytest.param(
            """
            from transformers import Qwen3_5MoeTextConfig
            Qwen3_5MoeTextConfig.validate_layer_type = lambda self: None
            """,
            [("line 3", "patch-too-late", "error")],
            id="on one class",
        ),
        pytest.param(
            """
            from sglang.srt.server_args import prepare_server_args
            from transformers import AutoConfig
            AutoConfig.register = lambda model_type, config, exist_ok=False: None
            """,
            [("line 4", "patch-too-late", "error")],
            id="after the registration",
        ),
        pytest.param(
            "import transformers\nimport sglang.srt.server\ndef f():\nreturn 1\n",
            [("line 2", "no-such-entry", "fatal"), ("line 4", "script-syntax", "fatal")],
            id="indentation lost",
        ),
        pytest.param(
            "from transformers import AutoConfig\nx = “qwen3_asr”\n",
            [("line 2", "script-syntax", "fatal")],
            id="typographic quotes",
        ),
    ],
)
def test_a_mistake_is_named_with_its_line(script: str, problems: list[tuple[str, str, str]]) -> None:
    assert problems == found(script, sglang="0.5.15")


@pytest.mark.parametrize(
    ("script", "versions", "problems"),
    [
        (GONE_ENTRY, {"sglang": "0.4.4"}, [("line 1", "no-such-entry", "fatal")]),
        ("from sglang.srt.server import launch_server\n", {"sglang": "0.4.4.post3"}, []),
        ("from sglang.srt.server import launch_server\n", {}, [("line 1", "no-such-entry", "fatal")]),
        ("from sglang.launch_server import run_server\n", {}, []),
        ("from sglang.launch_server import run_server\n", {"sglang": "0.5.9"}, []),
        (
            "from sglang.launch_server import run_server\n",
            {"sglang": "0.5.4.post3"},
            [("line 1", "no-such-entry", "fatal")],
        ),
        ("from sglang.launch_server import launch_server\n", {}, [("line 1", "no-such-entry", "fatal")]),
        (SHORT_NAMES, {"sglang": "0.5.20"}, [("line 6", "keyword-missing", "fatal")]),
        (SHORT_NAMES.replace("eo", "exist_ok"), {"sglang": "0.5.20"}, [("line 6", "patch-not-needed", "notice")]),
        (SHORT_NAMES.replace("eo", "exist_ok"), {"sglang": "0.5.19"}, []),
        (SHORT_NAMES, {}, [("line 6", "keyword-missing", "error")]),
        (CHECK_OFF, {"sglang": "0.5.10.post1"}, [("line 4", "patch-target-missing", "fatal")]),
        (CHECK_OFF, {"sglang": "0.5.10.post1", "transformers": "5.8.1"}, []),
        (CHECK_OFF, {"transformers": "4.57.6"}, [("line 4", "patch-target-missing", "fatal")]),
        (CHECK_OFF, {}, []),
    ],
)
def test_what_depends_on_the_version(
    script: str, versions: dict[str, str], problems: list[tuple[str, str, str]]
) -> None:
    assert problems == found(script, **versions)


def test_scripts_inside_of_shell_commands_have_their_lines_there() -> None:
    text = (
        "cd /opt\n"
        "cat > launch.py << 'EOF'\n"
        + SHORT_NAMES
        + "from sglang.srt.server import launch_server_cli; launch_server_cli()\n"
        "EOF\n"
        "cat > notes.txt << END\nfrom sglang.srt.server import x\nEND\n"
        "python3 - <<-PY\n\timport sglang.srt.server\n\tPY\n"
        "docker run lmsysorg/sglang:latest python3 /launch.py\n"
    )

    assert [
        ("line 8", "keyword-missing", "notice"),
        ("line 9", "no-such-entry", "fatal"),
        ("line 9", "no-main-guard", "fatal"),
        ("line 15", "no-such-entry", "fatal"),
    ] == found(text, sglang="0.5.15")


@pytest.mark.parametrize(
    ("script", "kinds"),
    [
        (CHECK_OFF + REGISTER_AGAIN + GUARDED_CALL, (PatchKind.LAYER_TYPES, PatchKind.MODEL_TYPE)),
        (SHORT_NAMES, (PatchKind.MODEL_TYPE,)),
        (
            "from transformers import Qwen3Config\ndef patched(layer_types, num_hidden_layers): ...\n",
            (PatchKind.LAYER_TYPES,),
        ),
        ("import sys\n" + GUARDED_CALL, ()),
        ("docker run lmsysorg/sglang\n", ()),
    ],
)
def test_what_a_script_was_meant_for(script: str, kinds: tuple[PatchKind, ...]) -> None:
    assert kinds == intended_patches(script)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("import sglang\n" + "(" * 5000, id="deep"),
        pytest.param("import sglang\n\0", id="null byte"),
        pytest.param("import sglang\nx = '\\d'\n", id="escape that warns"),
        pytest.param("import sglang\nx = " + "-" * 50_000 + "1\n", id="too deep for the parser"),
        pytest.param("import sglang\nx = " + "x." * 2_000 + "x\n", id="deep tree"),
        pytest.param("sglang " * 200_000, id="long"),
    ],
)
def test_a_hostile_text_is_no_launch_script(text: str) -> None:
    assert {problem.id for problem in recognise_script(text)} <= {"script-syntax"}


LINES = st.sampled_from(
    (CHECK_OFF + REGISTER_AGAIN + SHORT_NAMES + CALL + GUARDED_CALL + RUNPY_AS_MAIN + OTHER_PROGRAM).splitlines()
)


@given(st.lists(LINES | st.text(max_size=20), max_size=25))
def test_any_text_is_read_to_its_end(lines: list[str]) -> None:
    text = "\n".join(lines)

    for problem in recognise_script(text):
        assert problem.where is not None
        assert 1 <= int(problem.where.en.removeprefix("line ")) <= text.count("\n") + 1
