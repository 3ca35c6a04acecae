"""Writes the plan that docs/fix.md and docs/fix.zh.md show, so that it is always what the program prints."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
PAGES = {"docs/fix.md": "en", "docs/fix.zh.md": "zh"}
BEGIN, END = "<!-- begin: fix -->\n", "<!-- end: fix -->"
LOG = REPO / "fixtures" / "logs" / "real" / "article27-mfs-0.80.log"
WIDTH = "100"
SCRIPT = """\
docker run -d --gpus device=0 --name sgl-qwen27b -p 11434:30000 -v /opt/models:/models:ro \\
  lmsysorg/sglang:v0.5.15 \\
  python3 -m sglang.launch_server \\
    --model-path /models/Qwen3.6-27B-AWQ-INT4 \\
    --dtype bfloat16 \\
    --context-length 65536 \\
    --mem-fraction-static 0.80 \\
    --host 0.0.0.0 --port 30000
"""


def shown(lang: str) -> str:
    """The plan for a script and its log, in one language."""
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "run.sh").write_text(SCRIPT, encoding="utf-8")
        shutil.copy(LOG, Path(folder) / "server.log")
        done = subprocess.run(  # noqa: S603
            [sys.executable, "-m", "sgdoctor", "fix", "run.sh", "--from", "server.log", "--lang", lang],
            cwd=folder,
            env={"COLUMNS": WIDTH, "NO_COLOR": "1", "LANG": "C.UTF-8", "PATH": "", "HOME": folder},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
    return done.stdout.strip("\n")


def updated(page: str) -> str:
    """The text of a page with the plan of today."""
    before, _, rest = (REPO / page).read_text(encoding="utf-8").partition(BEGIN)
    block = f"```\n$ sgdoctor fix run.sh --from server.log\n{shown(PAGES[page])}\n```\n"
    return before + BEGIN + block + END + rest.partition(END)[2]


if __name__ == "__main__":
    for name in PAGES:
        (REPO / name).write_text(updated(name), encoding="utf-8")
