"""Every launch of the corpus: its plan is written in its own form, or it is refused for a reason that was known before."""

import os
from pathlib import Path

import pytest

from sgdoctor.engines.sglang.flags.check import check_flags
from sgdoctor.errors import UserError
from sgdoctor.fixes.plan import Knowledge, Wishes, plan_for
from sgdoctor.launch.change import Change
from sgdoctor.launch.compose.document import open_compose
from sgdoctor.launch.docker_run import read_shell
from sgdoctor.launch.flag_edits import given_flags
from sgdoctor.launch.inspection import open_inspection
from sgdoctor.launch.model import Document, EditState
from tests.conftest import REPO
from tests.fixes.samples import flags_of

CORPUS = REPO / "fixtures" / "launches"
WANTED = {"--mem-fraction-static": "0.91", "--dtype": "bfloat16", "--mamba-ssm-dtype": "bfloat16"}


def files() -> list[Path]:
    return sorted(
        path
        for pattern in ("commands/*.txt", "scripts/*.sh", "compose/*.yaml", "inspections/*.json")
        for path in CORPUS.glob(pattern)
    )


def opened(path: Path) -> Document:
    if path.suffix == ".yaml":
        return open_compose([path], None, os.environ)
    text = path.read_bytes().decode()
    return open_inspection(text) if path.suffix == ".json" else read_shell(text, path.name)


@pytest.mark.parametrize("path", files(), ids=lambda path: f"{path.parent.name}/{path.stem}")
def test_a_plan_for_every_launch(path: Path) -> None:
    flags = flags_of()
    try:
        document = opened(path)
    except UserError:  # no launch, several, or none that can be read
        return
    known = Knowledge(
        flags, lambda launch: check_flags(launch.argv, launch.flags_at, flags), problems=document.problems
    )
    wishes = Wishes(changes=tuple(Change("flag.set", name, value) for name, value in WANTED.items()))
    plan = plan_for(document, known, wishes)
    said = {flags.canonical(one.flag): one.values for one in given_flags(plan.after.argv, plan.after.flags_at, flags)}

    if plan.refused is not None:
        assert EditState.NO is document.editable.state
    elif not plan.after.argv:
        # Flags behind the image: what they are for is not known from here.
        assert all(f"{name} {value}" in (plan.text or "") for name, value in WANTED.items())
    else:
        assert {name: (value,) for name, value in WANTED.items()} == {name: said[name] for name in WANTED}
        assert plan.diff or all(value in document.text for value in WANTED.values())
