"""What is said of launch scripts is what happens when they are run.

The engine is a stand-in that starts its scheduler as SGLang does, by `spawn`; Python, multiprocessing, runpy and
transformers are the real ones.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from sgdoctor.patches.launch_scripts import BASE_CHECKS, MODULE_CHECKS, recognise_script
from tests.patches.releases import environment
from tests.patches.scripts import (
    CALL,
    CHECK_OFF,
    GONE_ENTRY,
    GUARDED_CALL,
    OTHER_PROGRAM,
    RUNPY_AS_MAIN,
    RUNPY_PLAIN,
    RUNPY_UNGUARDED,
    SHORT_NAMES,
)

pytestmark = pytest.mark.slow

ENGINE: Final = {
    "sglang/__init__.py": "",
    "sglang/srt/__init__.py": "",
    "sglang/srt/server_args.py": "def prepare_server_args(argv):\n    return argv\n",
    "sglang/srt/scheduler.py": """\
from transformers.configuration_utils import PreTrainedConfig


def patched():
    return PreTrainedConfig.validate_layer_type.__name__ == "_patched_validate"


def run(answers):
    answers.put(patched())
""",
    "sglang/launch_server.py": """\
import multiprocessing
import sys

from sglang.srt import scheduler
from sglang.srt.server_args import prepare_server_args


def run_server(server_args):
    multiprocessing.set_start_method("spawn", force=True)
    answers = multiprocessing.SimpleQueue()
    child = multiprocessing.Process(target=scheduler.run, args=(answers,))
    child.start()
    child.join()
    print("patched here:", scheduler.patched(), "in the child:", None if answers.empty() else answers.get())


if __name__ == "__main__":
    run_server(prepare_server_args(sys.argv[1:]))
""",
}


@pytest.fixture(scope="module")
def engine(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("engine")
    for name, text in ENGINE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize(
    ("script", "problems", "out", "error"),
    [
        pytest.param(CHECK_OFF + GUARDED_CALL, set(), "patched here: True in the child: True", "", id="right"),
        pytest.param(CHECK_OFF + RUNPY_PLAIN, set(), "patched here: True in the child: True", "", id="runpy"),
        pytest.param(
            CHECK_OFF + RUNPY_AS_MAIN,
            {"children-unpatched"},
            "patched here: True in the child: False",
            "",
            id="runpy as the main module",
        ),
        pytest.param(
            CHECK_OFF + OTHER_PROGRAM,
            {"patches-left-behind"},
            "patched here: False in the child: False",
            "",
            id="another program",
        ),
        pytest.param(
            CHECK_OFF + CALL,
            {"no-main-guard"},
            "patched here: True in the child: None",
            "An attempt has been made to start a new process before the",
            id="no guard",
        ),
        pytest.param(
            CHECK_OFF + RUNPY_UNGUARDED,
            {"no-main-guard"},
            "patched here: True in the child: None",
            "An attempt has been made to start a new process before the",
            id="runpy without guard",
        ),
        pytest.param(
            CHECK_OFF + GONE_ENTRY,
            {"no-such-entry"},
            "",
            "ModuleNotFoundError: No module named 'sglang.srt.server'",
            id="entry that is gone",
        ),
        pytest.param(
            SHORT_NAMES + "_AC.register('qwen3_asr', _AC, exist_ok=True)\n",
            {"keyword-missing"},
            "",
            "TypeError: _p() got an unexpected keyword argument 'exist_ok'",
            id="keyword",
        ),
    ],
)
def test_a_script_does_what_is_said_of_it(
    transformers_5_12_1: Path, engine: Path, tmp_path: Path, script: str, problems: set[str], out: str, error: str
) -> None:
    path = tmp_path / "launch.py"
    path.write_text(script)

    recognised = {problem.id for problem in recognise_script(script, sglang="0.5.15")}
    ran = subprocess.run(
        [sys.executable, str(path)],
        env=environment(engine, transformers_5_12_1),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert problems == recognised
    assert out == ran.stdout.strip()
    assert error in ran.stderr


def test_the_checks_that_are_known_are_those_of_the_releases(transformers: Path) -> None:
    program = """
import json, sys
import transformers.configuration_utils as cu
checks = [name for name in dir(cu.PreTrainedConfig) if name.startswith("validate")]
print(json.dumps([checks, [name for name in dir(cu) if "validat" in name]]))
"""

    ran = subprocess.run(
        [sys.executable, "-c", program], env=environment(transformers), capture_output=True, text=True, check=True
    )

    checks, functions = json.loads(ran.stdout)
    assert sorted(BASE_CHECKS) == checks
    assert sorted(MODULE_CHECKS) == functions
