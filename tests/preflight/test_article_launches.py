"""The launches of three articles about 24 GB cards: their traps are found before a start, their corrections pass."""

from pathlib import Path

import pytest

from sgdoctor.launch.change import Change
from sgdoctor.preflight.model import Checked, Situation, Status
from sgdoctor.preflight.planning import plan_of
from sgdoctor.preflight.predicted import predicted
from sgdoctor.preflight.registry import all_checks
from sgdoctor.preflight.run import checked
from tests.preflight.launching import compose, found, host, image, shell, troubles

FIXTURES = Path(__file__).parents[2] / "fixtures" / "launches"
IMAGE = image("NVIDIA_VISIBLE_DEVICES=all", "PATH=/usr/bin")
NO_EFFECT = ("warn", None)
OPEN = ("warn", None)
STOCK = Change("docker.command", value="python3 -m sglang.launch_server")


def text_of(name: str) -> str:
    return (FIXTURES / name).read_text(encoding="utf-8")


def script() -> str:
    """The launch script, as the here-document of the article writes it."""
    lines = text_of("scripts/article-35b.sh").splitlines()
    start = next(index for index, line in enumerate(lines) if "<<" in line)
    end = lines.index("EOF", start + 1)
    return "\n".join(lines[start + 1 : end]) + "\n"


def results(situation: Situation) -> list[Checked]:
    return checked(situation, [check for check in all_checks() if check.area in ("launch", "command")], strict=True)


def test_the_compose_file_mounts_no_script(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    situation = compose(text_of("compose/article-35b.yaml"), tmp_path, image=IMAGE)

    assert troubles(situation) == [OPEN, ("fail", "SGL144"), NO_EFFECT]
    plan = plan_of(situation, results(situation))
    assert plan is not None
    assert [("services.sgl-selode.volumes", "- ./launch_selode.py:/launch_selode.py:ro")] == [
        (left.change.name, left.change.value) for left in plan.left if left.change is not None
    ]


def test_a_command_that_mounts_no_script_is_told_the_option(tmp_path: Path) -> None:
    text = "docker run --gpus all lmsysorg/sglang:latest python3 /opt2/launch.py --model-path /m"
    [finding] = found(shell(text, tmp_path), "launch-script")

    assert (Change("file.edit", "docker run", '-v "$PWD/launch.py:/opt2/launch.py:ro"'),) == finding.changes


def test_the_script_where_the_article_saves_it_is_not_where_the_command_looks(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "launch_selode.py").write_text(script(), encoding="utf-8")
    situation = compose(text_of("compose/article-35b.yaml"), tmp_path, image=IMAGE)
    fails = [finding for finding in found(situation) if finding.status is Status.FAIL]

    assert [finding.prevents for finding in fails] == ["SGL144", "SGL140", "SGL141"]
    assert fails[0].changes == (STOCK,)
    assert fails[0].detail is not None
    assert str(tmp_path / "models" / "launch_selode.py") in fails[0].detail.en


def test_a_script_that_works_is_to_be_mounted(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "launch_selode.py").write_text("import sglang\n", encoding="utf-8")
    situation = compose(text_of("compose/article-35b.yaml"), tmp_path, image=IMAGE)
    [finding] = [one for one in found(situation, "launch-script") if one.status is Status.FAIL]

    assert finding.changes == (Change("docker.volume", value="./launch_selode.py:/launch_selode.py:ro"),)


def test_the_one_shot_command_writes_a_script_that_cannot_work(tmp_path: Path) -> None:
    text = text_of("scripts/article-35b.sh").replace("/opt/ai-workspace", str(tmp_path))
    (tmp_path / "models").mkdir()
    situation = shell(text, tmp_path.parent, image=IMAGE)

    assert troubles(situation) == [OPEN, NO_EFFECT, ("fail", "SGL140"), ("fail", "SGL141")]


def test_its_patch_breaks_a_newer_engine(tmp_path: Path) -> None:
    patch = (
        "from transformers import AutoConfig as _AC\n"
        "_register = _AC.register\n"
        "def _again(mt, cf, eo=False):\n"
        "    return _register(mt, cf, exist_ok=eo)\n"
        "_AC.register = _again\n"
    )
    text = text_of("scripts/article-35b.sh").replace("/opt/ai-workspace", str(tmp_path))
    text = text.replace("from sglang.srt", f"{patch}from sglang.srt")
    situation = shell(text, tmp_path, image=IMAGE, version="0.5.20")

    assert ("fail", "SGL142") in troubles(situation, "command-script")


def test_a_missing_script_becomes_a_folder(tmp_path: Path) -> None:
    text = text_of("scripts/article-35b.sh").replace("/opt/ai-workspace", str(tmp_path))
    only_run = text[text.index("docker run") :]
    missing = shell(only_run, tmp_path, image=IMAGE)
    (tmp_path / "launch_selode.py").mkdir()
    after_docker = shell(only_run, tmp_path, image=IMAGE)

    assert troubles(missing, "launch-script") == [("fail", "SGL145")]
    assert troubles(after_docker, "launch-script") == [("fail", "SGL145")]
    assert troubles(after_docker, "launch-mounts", "launch-written") == []


def test_the_number_of_the_compose_file_is_wrong_in_docker_run(tmp_path: Path) -> None:
    text = text_of("scripts/article-35b.sh").replace("--name", "-e CUDA_VISIBLE_DEVICES=1 --name", 1)
    both = shell(text, tmp_path, image=IMAGE)
    alone = compose(text_of("compose/article-35b.yaml"), tmp_path, image=IMAGE)

    assert troubles(both, "launch-gpus") == [("fail", "SGL014")]
    assert troubles(alone, "launch-gpus") == []
    assert "GPU 1 (NVIDIA GeForce RTX 3090)" in found(alone, "launch-gpus")[0].title.en


def test_the_compose_file_needs_an_image_that_asks_for_gpus(tmp_path: Path) -> None:
    situation = compose(text_of("compose/article-35b.yaml"), tmp_path, image=image("PATH=/usr/bin"))

    assert troubles(situation, "launch-gpus") == [("fail", "SGL013")]


def test_flags_that_do_nothing(tmp_path: Path) -> None:
    situation = shell(text_of("commands/article-35b-engine.txt"), tmp_path)
    idle = [finding.changes[0].name for finding in found(situation, "command-flags")]

    assert idle == ["--enable-dynamic-chunking", "--mamba-backend", "--disable-custom-all-reduce"]


@pytest.mark.parametrize("name", ["article-27b-first", "article-27b-dtype", "article-27b-final"])
def test_the_other_launches_are_only_open(name: str, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    text = text_of(f"commands/{name}.txt").replace("/opt/ai-workspace", str(tmp_path))

    assert troubles(shell(text, tmp_path, image=IMAGE)) == [OPEN]


def test_a_command_from_a_web_page(tmp_path: Path) -> None:
    situation = shell(text_of("commands/article-27b-pasted-from-a-page.txt"), tmp_path, image=IMAGE)

    assert troubles(situation) == [("fail", "SGL107"), ("fail", "SGL136")]


@pytest.mark.parametrize("form", ["compose", "docker run"])
def test_corrected_launches_pass(form: str, tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    name = "compose/article-35b.yaml" if form == "compose" else "scripts/article-35b.sh"
    text = text_of(name).replace("/opt/ai-workspace", str(tmp_path))
    text = text.replace("python3 /launch_selode.py", "python3 -m sglang.launch_server").replace(
        "15433:30000", "127.0.0.1:15433:30000"
    )
    text = "".join(line for line in text.splitlines(keepends=True) if "--disable-custom-all-reduce" not in line)
    if form == "docker run":
        kept = [line for line in text.splitlines(keepends=True) if "launch_selode.py:" not in line]
        text = "".join(kept)
        text = text[text.index("docker run") :]
    situation = compose(text, tmp_path, image=IMAGE) if form == "compose" else shell(text, tmp_path, image=IMAGE)

    assert troubles(situation) == []


def test_what_would_happen(tmp_path: Path) -> None:
    (tmp_path / "models").mkdir()
    (tmp_path / "models" / "launch_selode.py").write_text(script(), encoding="utf-8")
    text = text_of("compose/article-35b.yaml")
    busy = host(
        containers=({"Names": ["/other"], "State": "running", "Ports": [{"PublicPort": 15433, "Type": "tcp"}]},)
    )
    free = compose(text, tmp_path, image=IMAGE)
    taken = compose(text, tmp_path, busy, image=IMAGE)
    course = predicted(free, results(free))
    blocked = predicted(taken, results(taken))

    assert [(one.rule, one.phase) for one in (course.first, *course.then) if one] == [
        ("SGL144", "args"),
        ("SGL140", "args"),
        ("SGL141", "distributed"),
    ]
    assert course.repeated
    assert blocked.first is not None
    assert (blocked.first.rule, blocked.first.seconds, blocked.repeated) == ("SGL020", (0.0, 1.0), False)
