"""Writes the answer that both READMEs show, so that it is always what the program prints.

Run it to rewrite README.md and README.zh.md.
"""

import subprocess
import sys
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
LOG = "fixtures/logs/real/article27-mfs-0.80.log"
READMES = {"README.md": "en", "README.zh.md": "zh"}
COMMAND = "$ docker logs sgl-qwen27b 2>&1 | sgdoctor diagnose -\n"
WIDTH = "88"


def shown(lang: str) -> str:
    """The card for the log, in one language."""
    done = subprocess.run(  # noqa: S603
        [sys.executable, "-m", "sgdoctor", "diagnose", "--lang", lang, "-"],
        cwd=REPO,
        input=(REPO / LOG).read_text(encoding="utf-8"),
        env={"COLUMNS": WIDTH, "NO_COLOR": "1", "LANG": "C.UTF-8", "PATH": ""},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    return done.stdout.strip("\n") + "\n"


def updated(name: str) -> str:
    """The text of a README with the answer of today in its first block."""
    text = (REPO / name).read_text(encoding="utf-8")
    before, _, rest = text.partition(COMMAND)
    return before + COMMAND + shown(READMES[name]) + "```" + rest.partition("\n```")[2]


if __name__ == "__main__":
    for readme in READMES:
        (REPO / readme).write_text(updated(readme), encoding="utf-8")
