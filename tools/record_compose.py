"""Records what Compose makes of all files of fixtures/launches/compose: `python tools/record_compose.py COMPOSE`."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

REPO = Path(__file__).resolve().parent.parent
CORPUS = REPO / "fixtures" / "launches" / "compose"
RECORDED = CORPUS / "recorded.json"
# Folder and variables that the recordings are made in.
FOLDER = "/opt/ai-workspace"
SHELL = {"HOME": "/root", "HF_TOKEN": "hf_example", "SHELL_SIDE": "from-the-shell"}


def cases() -> list[Path]:
    """Files, and folders where several files belong together."""
    found = [path for path in CORPUS.iterdir() if path.suffix == ".yaml" or (path.is_dir() and path.name != "refused")]
    return sorted(found) + sorted((CORPUS / "refused").glob("*.yaml"))


def recorded(compose: str, case: Path, folder: Path) -> object:
    """The services as Compose reads them, or its complaint."""
    if case.is_dir():
        shutil.copytree(case, folder, dirs_exist_ok=True)
        options: list[str] = []
    else:
        shutil.copy(case, folder)
        options = ["-f", case.name]
    done = subprocess.run(  # noqa: S603 - the program that the caller named
        [compose, *options, "-p", "recorded", "config", "--format", "json"],
        cwd=folder,
        env={"PATH": os.environ["PATH"], **SHELL},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        complaints = [line for line in done.stderr.splitlines() if line.strip() and "level=warning" not in line]
        return {"refused": " ".join(complaints).replace(str(folder), FOLDER)}
    return {
        "services": json.loads(
            done.stdout.replace(str(folder.parent), str(Path(FOLDER).parent)).replace(folder.name, "ai-workspace")
        )["services"]
    }


def main() -> None:
    """Writes the recordings."""
    compose = sys.argv[1]
    version = subprocess.run([compose, "version", "--short"], capture_output=True, text=True, check=True).stdout.strip()  # noqa: S603
    results: dict[str, object] = {"compose": version}
    for case in cases():
        with tempfile.TemporaryDirectory() as outer:
            folder = Path(outer) / "sgdoctor-recorded-folder"
            folder.mkdir()
            results[case.relative_to(CORPUS).as_posix()] = recorded(compose, case, folder)
    RECORDED.write_text(json.dumps(results, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
