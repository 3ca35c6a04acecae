"""All launches of the corpus: every check answers, and says what it says in both languages."""

from pathlib import Path

import pytest

from sgdoctor.errors import UserError
from sgdoctor.launch.compose.document import open_compose
from sgdoctor.launch.docker_run import read_shell
from sgdoctor.launch.inspection import open_inspection
from sgdoctor.launch.model import Document
from tests.preflight.launching import found, host, of_document, troubles

CORPUS = Path(__file__).parents[2] / "fixtures" / "launches"
FILES = [
    path
    for pattern in ("commands/*.txt", "scripts/*.sh", "compose/*.yaml", "inspections/*.json")
    for path in sorted(CORPUS.glob(pattern))
]
PODMAN = ("podman-api", "podman-cdi", "podman-env")


def document(path: Path) -> Document | None:
    """None for a text that holds no launch, or more than one."""
    text = path.read_bytes().decode()
    try:
        if path.suffix == ".yaml":
            return open_compose([path], None, {})
        return open_inspection(text) if path.suffix == ".json" else read_shell(text)
    except UserError:
        return None


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_every_check_answers(path: Path, tmp_path: Path) -> None:
    launch = document(path)
    if launch is None:
        pytest.skip("no launch, or more than one")
    findings = found(of_document(launch, tmp_path))

    assert findings
    assert all(all((*one.title, *(one.detail or ()), *(one.where or ()))) for one in findings)
    # A problem is told by one check, and once.
    titles = [one.title.en for one in findings if one.prevents]
    assert len(titles) == len(set(titles))


@pytest.mark.parametrize("name", PODMAN)
def test_hooks_of_podman_bring_gpus_in_unseen(name: str, tmp_path: Path) -> None:
    launch = document(CORPUS / "inspections" / f"{name}.json")
    assert launch is not None

    assert troubles(of_document(launch, tmp_path), "launch-gpus") == []


def test_the_container_itself_is_not_in_its_own_way(tmp_path: Path) -> None:
    launch = document(CORPUS / "inspections" / "article-27b.json")
    assert launch is not None
    ports = [{"PublicPort": 11434, "Type": "tcp"}]
    running = {"Id": "1", "Names": [f"/{launch.name}"], "State": "running", "Ports": ports}
    facts = host(containers=(running,), listening={11434: "docker-proxy"})

    assert troubles(of_document(launch, tmp_path, facts), "launch-name", "launch-port", "launch-gpus") == []
