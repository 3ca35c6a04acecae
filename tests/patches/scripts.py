"""Launch scripts as people have them: the parts that go around, put together in right and in wrong ways."""

CHECK_OFF = """\
import sys
import transformers.configuration_utils as cu

_orig_validate = cu.PretrainedConfig.validate_layer_type


def _patched_validate(self):
    if "qwen3_5_moe" in str(getattr(self, "model_type", "")):
        return
    return _orig_validate(self)


cu.PretrainedConfig.validate_layer_type = _patched_validate
"""

REGISTER_AGAIN = """\
from transformers import AutoConfig as _AC

_orig_register = _AC.register


def _patched_register(model_type, config, exist_ok=False):
    if "qwen3_asr" in str(model_type):
        exist_ok = True
    return _orig_register(model_type, config, exist_ok=exist_ok)


_AC.register = _patched_register
"""

SHORT_NAMES = """\
from transformers import AutoConfig as _AC
_r = _AC.register
def _p(mt, cf, eo=False):
    if "qwen3_asr" in str(mt): eo = True
    return _r(mt, cf, exist_ok=eo)
_AC.register = _p
"""

CALL = """\
from sglang.launch_server import run_server
from sglang.srt.server_args import prepare_server_args

run_server(prepare_server_args(sys.argv[1:]))
"""

GUARDED_CALL = """\
if __name__ == "__main__":
    from sglang.launch_server import run_server
    from sglang.srt.server_args import prepare_server_args

    run_server(prepare_server_args(sys.argv[1:]))
"""

RUNPY_AS_MAIN = """\
import runpy

if __name__ == "__main__":
    runpy.run_module("sglang.launch_server", run_name="__main__", alter_sys=True)
"""

RUNPY_PLAIN = """\
import runpy

if __name__ == "__main__":
    runpy.run_module("sglang.launch_server", run_name="__main__")
"""

RUNPY_UNGUARDED = """\
import runpy

runpy.run_module("sglang.launch_server", run_name="__main__")
"""

OTHER_PROGRAM = """\
import os

os.execvp(sys.executable, [sys.executable, "-m", "sglang.launch_server", *sys.argv[1:]])
"""

GONE_ENTRY = """\
from sglang.srt.server import launch_server_cli

if __name__ == "__main__":
    launch_server_cli()
"""
