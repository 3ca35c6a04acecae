"""``sgdoctor preflight`` as a person or a script runs it: every target, format, exit code, and every way to write."""

import itertools
import json
import re
from pathlib import Path
from typing import Any

import pytest

from sgdoctor.cli.main import main
from tests.preflight.model_folders import write
from tests.preflight.models import MODELS, founding_27b
from tests.schemas import validate

SECRETS = ("hf_abcdefghijklmnop1234", "sk-0123456789abcdef")
FLAGS = "--model-path /models/m --reasoning-parser qwen3 --host 0.0.0.0 --port 30000"
GOOD = "--dtype bfloat16 --mem-fraction-static 0.92 --context-length 16384 --api-key sk-0123456789abcdef"
COMPOSE = """\
# the 27B
services:
  sgl:
    image: lmsysorg/sglang:v0.5.15   # July
    environment:
      HF_TOKEN: hf_abcdefghijklmnop1234
      CUDA_VISIBLE_DEVICES: "1"
    deploy:
      resources:
        reservations:
          devices: [{{driver: nvidia, device_ids: ["1"], capabilities: [gpu]}}]
    ports: ["127.0.0.1:11434:30000"]
    volumes:
      - ./m:/models/m:ro
    command: >
      python3 -m sglang.launch_server
      {flags}
      --api-key sk-0123456789abcdef
"""


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No Docker, and no file of the user."""
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/no.sock")
    for name in ("XDG_CACHE_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, str(tmp_path / name))


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def model(here: Path) -> Path:
    """The 27B of the articles, in the dtype that it was published in."""
    return write(founding_27b(torch_dtype="float16", dtype="float16"), here / "m")


def command(folder: Path, flags: str) -> str:
    return (
        "docker run --gpus device=0 --name sgl -p 127.0.0.1:11434:30000 "
        f"-v {folder}/m:/models/m:ro lmsysorg/sglang:v0.5.15 python3 -m sglang.launch_server {FLAGS} {flags}"
    )


def answer(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    """The exit code and the JSON, which follows the published schema and holds no secret."""
    code = main(["preflight", "--format", "json", *arguments])
    captured = capsys.readouterr()
    data: dict[str, Any] = json.loads(captured.out or "{}")
    if data:
        validate(data, "preflight")
        assert not any(secret in captured.out for secret in SECRETS)
    return code, data


def rules(data: dict[str, Any], status: str = "fail") -> set[str | None]:
    return {one["prevents"] for one in data["checks"] if one["status"] == status}


# ---------------------------------------------------------------- what would happen


def test_the_first_start_of_the_27b(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = answer(capsys, command(model.parent, "--context-length 65536"), "--gpu", "3090")

    assert (3, "fails", "docker-run", "0.5.15") == (
        code,
        data["verdict"]["state"],
        data["origin"],
        data["engine"]["version"],
    )
    # The card is too small for the default fraction; with another one the first prompt would fail.
    assert ["SGL401", "SGL201"] == [end["rule"] for end in data["course"]]
    assert ["state_cache", "warmup"] == [end["phase"] for end in data["course"]]
    assert 0 < data["course"][0]["seconds"][0] < data["course"][1]["seconds"][1]
    changes = {change["name"]: change["value"] for change in data["plan"]["changes"]}
    assert {"--dtype": "bfloat16", "--mem-fraction-static": "0.92"} == changes
    assert data["plan"]["predicted"]["kv_tokens"] > 0


def test_earlier_starts_here_say_how_long_it_takes(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    phases = {"weights": 100.0, "graph_capture": 200.0, "warmup": 5.0}
    start = {"model": "m", "quantisation": "", "image": "", "gpu": "NVIDIA GeForce RTX 3090", "start": "1"}
    (tmp_path / "XDG_STATE_HOME" / "sgdoctor").mkdir(parents=True)
    (tmp_path / "XDG_STATE_HOME" / "sgdoctor" / "starts.jsonl").write_text(
        json.dumps({**start, "phases": phases}) + "\n"
    )
    _, data = answer(capsys, command(model.parent, "--mem-fraction-static 0.92"), "--gpu", "3090")
    (end,) = data["course"]

    # 20 to 45 s up to the weights; so few starts count with a tenth more and less.
    assert ("SGL201", [290.0, 375.0]) == (end["rule"], end["seconds"])


def test_the_planned_launch_passes(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = answer(capsys, command(model.parent, GOOD), "--gpu", "3090")

    assert (0, "ready", []) == (code, data["verdict"]["state"], data["course"])
    assert [] == data["plan"]["changes"]
    assert set() == rules(data, "warn")


def test_warnings_alone(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = answer(capsys, command(model.parent, GOOD.replace("16384", "65536")), "--gpu", "3090")

    assert (4, "warnings", {"SGL441"}) == (code, data["verdict"]["state"], rules(data, "warn"))


def test_a_larger_card_is_another_answer(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, small = answer(capsys, command(model.parent, "--dtype bfloat16"), "--gpu", "24GiB:sm86")
    _, large = answer(capsys, command(model.parent, "--dtype bfloat16"), "--gpu", "A6000")

    assert ["SGL401"] == [end["rule"] for end in small["course"]]
    assert [] == large["course"]
    assert (True, 49140) == (large["host"]["simulated"], large["host"]["cards"][0]["total_mib"])


@pytest.mark.parametrize("container", [True, False])
def test_of_a_named_card_nothing_of_this_machine_is_told(
    container: bool, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = "sglang serve --model-path /far/m --chat-template /far/t.jinja --host 0.0.0.0"
    launch = f"docker run --gpus all --name s -p 80:30000 -v /far:/far lmsysorg/sglang:v0.5.15 {engine}"
    code, data = answer(capsys, launch if container else engine, "--gpu", "3090")

    told = {(one["id"], one["status"]) for one in data["checks"]}
    unseen = {"ram-for-loading", "disk-space", "nvidia-driver", "launch-port", "model-path", "model-template"}
    unseen |= {"docker-reachable", "image-present", "launch-mounts"} if container else set()
    assert unseen == {name for name, status in told if status == "skipped"} - {"memory-pools", "command-flags"}
    assert {"cards-present"} == {one["id"] for one in data["checks"] if one["area"] == "host"} - unseen
    assert 3 != code
    assert [] == data["course"]
    assert [] == data["plan"]["changes"]


@pytest.mark.parametrize(("key", "code"), [("", 4), ("--api-key sk-0123456789abcdef", 0)])
def test_without_a_model_nobody_says_that_it_starts(
    key: str, code: int, here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    engine = f"python3 -m sglang.launch_server --model-path /far/m --host 0.0.0.0 {key}"
    launch = f"docker run --gpus all -p 30000:30000 -v /far:/far lmsysorg/sglang:v0.5.15 {engine}"
    found, data = answer(capsys, launch, "--gpu", "2x3090")

    assert code == found
    assert data["verdict"]["summary"].startswith("nothing that was checked stops it")
    skipped = {one["id"] for one in data["checks"] if one["status"] == "skipped" and one["area"] in ("host", "launch")}
    assert f"Not checked: the model, the memory of the card, {len(skipped)} more." in data["verdict"]["summary"]


def test_with_a_model_the_memory_alone_may_be_missing(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, data = answer(capsys, command(model.parent, f"{GOOD} --cpu-offload-gb 4"), "--gpu", "3090")

    assert "fails" != data["verdict"]["state"]
    assert "Not checked: the memory of the card, " in data["verdict"]["summary"]


@pytest.mark.parametrize("form", ["text", "md"])
def test_what_a_named_card_hides_takes_one_line(form: str, here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launch = (
        "docker run --gpus all -p 127.0.0.1:30000:30000 -v /far:/far lmsysorg/sglang:v0.5.15 "
        "python3 -m sglang.launch_server --model-path /far/m --host 0.0.0.0"
    )
    main(["preflight", launch, "--gpu", "3090", "--format", form])
    out = " ".join(capsys.readouterr().out.split())
    _, data = answer(capsys, launch, "--gpu", "3090")

    names = "Disk space, Docker, NVIDIA driver, Image, RAM for loading the weights, Ports"
    assert 1 == out.lower().count("not looked at:" if form == "text" else "**not looked at**")
    assert f"{names} (the card is of another machine)" in out
    assert 6 == sum(one["title"].startswith("not looked at: the card") for one in data["checks"])


def test_the_line_that_mounts_a_script_can_be_copied(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name = "launch_of_a_long_name_that_takes_half_of_the_line.py"
    compose = COMPOSE.format(flags=FLAGS).replace("python3 -m sglang.launch_server", f"python3 /{name}")
    (here / "compose.yaml").write_text(compose, encoding="utf-8")
    code = main(["preflight", "compose.yaml", "--gpu", "3090"])

    assert 3 == code
    assert f"edit services.sgl.volumes: - ./{name}:/{name}:ro" in capsys.readouterr().out


def test_a_path_that_was_meant_otherwise_counts_for_every_card(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launch = (
        command(model.parent, GOOD).replace("/m:/models/m:ro", ":/models:ro").replace("/models/m ", "/models/sub/m ")
    )
    code, data = answer(capsys, launch, "--gpu", "3090")

    assert (3, {"SGL307"}) == (code, rules(data, "fail"))
    assert "/models/m" == data["plan"]["changes"][0]["value"]


def test_a_high_fraction_gets_the_number_of_the_solver(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    high = GOOD.replace("0.92", "0.95")
    _, data = answer(capsys, command(model.parent, high), "--gpu", "3090")
    _, long = answer(capsys, command(model.parent, high.replace("16384", "25000")), "--gpu", "3090")
    (found,), (of_long,) = (
        [one for one in every["checks"] if one["id"] == "command-constants"] for every in (data, long)
    )

    assert ("warn", [("flag.set", "0.92")]) == (found["status"], [(c["kind"], c["value"]) for c in found["changes"]])
    assert "0.92" == data["plan"]["changes"][0]["value"]
    assert [] == data["plan"]["left"]
    # The lower fraction would not hold this context: it is the choice of the user.
    assert ("warn", []) == (of_long["status"], of_long["changes"])
    assert "With that the whole context does not fit." in of_long["detail"]


def test_a_fraction_that_fails_is_told_once(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, data = answer(capsys, command(model.parent, GOOD.replace("0.92", "0.98")), "--gpu", "3090")
    told = {one["id"]: one["status"] for one in data["checks"] if one["status"] in ("warn", "fail")}

    assert {"memory-pools": "fail"} == {name: told[name] for name in told if name != "model-dtype"}
    assert "0.92" == data["plan"]["changes"][0]["value"]


def test_of_a_process_nothing_is_mounted(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    config = json.loads((model / "config.json").read_text())
    config["text_config"]["layer_types"] = config["text_config"]["layer_types"][:4]
    (model / "config.json").write_text(json.dumps(config))
    engine = f"python3 -m sglang.launch_server --model-path {model} --dtype bfloat16 --mem-fraction-static 0.92"
    launch = [*engine.split(), "--context-length", "16384"]
    code, data = answer(capsys, "--gpu", "3090", "--version", "0.5.15", "--write", "run.sh", "--", *launch)

    kinds = {change["kind"] for one in data["checks"] for change in one["changes"]}
    assert {"flag.set"} == kinds | {change["kind"] for change in data["plan"]["changes"]}
    assert [] == data["plan"]["left"]
    assert 3 == code
    # The written launch finds the corrected model.
    code, data = answer(capsys, "run.sh", "--gpu", "3090", "--version", "0.5.15")
    assert 0 == code
    assert {("model-layer-types", "pass")} <= {(one["id"], one["status"]) for one in data["checks"]}


def test_a_choice_among_the_ways(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launch = command(model.parent, "--dtype bfloat16 --context-length 65536")
    _, data = answer(capsys, launch, "--gpu", "3090", "--choose", "one-request-of-state")
    code, _ = answer(capsys, launch, "--gpu", "3090", "--choose", "no-such-way")

    assert "--max-mamba-cache-size" in {change["name"] for change in data["plan"]["changes"]}
    assert 2 == code


# ---------------------------------------------------------------- targets


def test_without_a_target_the_compose_file_here(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model.parent / "compose.yaml").write_text(COMPOSE.format(flags=FLAGS))
    code, data = answer(capsys, "--gpu", "2x3090")

    assert (3, "compose.yaml", "compose") == (code, data["target"], data["origin"])
    # The second card is number 0 in its container.
    assert "SGL014" == data["course"][0]["rule"]


def test_without_a_compose_file_the_host_alone(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (here / "compose.yaml").write_text("services: {web: {image: nginx}}\n")
    _, data = answer(capsys)

    assert (None, None, None, None) == (data["target"], data["origin"], data["launch"], data["plan"])
    assert {"host"} == {one["area"] for one in data["checks"]}


def test_nothing_but_a_command_is_needed(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, data = answer(capsys, "--", "python3", "-m", "sglang.launch_server", "--model-path", "Qwen/Qwen3-8B")

    assert code in (0, 3, 4)
    assert "skipped" in {one["status"] for one in data["checks"]}
    assert [] == [one for one in data["checks"] if not one["title"]]


@pytest.mark.parametrize(
    "arguments",
    [
        ("no-such-file.yaml",),
        ("--gpu", "banana"),
        ("--model", "no/such/folder", "python3 -m sglang.launch_server --model-path x"),
        ("--version", "new", "python3 -m sglang.launch_server --model-path x"),
        ("--write",),
        ("--deep",),
        ("--write-compose",),
        ("--format", "xml"),
    ],
)
def test_bad_usage(here: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]) -> None:
    code = main(["preflight", *arguments])
    captured = capsys.readouterr()

    assert (2, "", 1) == (code, captured.out, len(captured.err.splitlines()))


def test_a_log_is_sent_to_diagnose(here: Path, capsys: pytest.CaptureFixture[str], logs: Path) -> None:
    code = main(["preflight", str(logs / "real" / "article27-mfs-0.80.log")])

    assert 2 == code
    assert "sgdoctor diagnose" in capsys.readouterr().err


def test_an_internal_error_of_a_check_hides_nothing(
    model: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    from sgdoctor.preflight.checks.host_ram import MemoryForLoading

    monkeypatch.setattr(MemoryForLoading, "findings", lambda *_: 1 / 0)
    code, data = answer(capsys, command(model.parent, GOOD), "--gpu", "3090")
    (broken,) = [one for one in data["checks"] if one["id"] == "ram-for-loading"]

    assert (0, "skipped") == (code, broken["status"])
    assert "ZeroDivisionError" in broken["evidence"]


# ---------------------------------------------------------------- writing


def test_a_compose_file_is_put_right_and_then_passes(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model.parent / "compose.yaml"
    path.write_text(COMPOSE.format(flags=f"{FLAGS} --context-length 16384"))
    before = path.read_text()
    code, data = answer(capsys, "--gpu", "2x3090", "--write")
    again, after = answer(capsys, "--gpu", "2x3090")

    assert 3 == code
    assert ["compose.yaml", data["written"][1]] == data["written"]
    assert before == Path(data["written"][1]).read_text()
    assert (0, [], []) == (again, after["course"], after["plan"]["changes"])
    assert "# the 27B" in path.read_text()
    assert "CUDA_VISIBLE_DEVICES" not in path.read_text()


def test_a_file_of_the_model_that_is_corrected_is_written_beside(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    kinds = (["linear_attention"] * 3 + ["full_attention"]) * 4
    write(founding_27b(layer_types=kinds), here / "m")
    (here / "compose.yaml").write_text(COMPOSE.format(flags=f"{FLAGS} --context-length 16384"))
    _, data = answer(capsys, "--gpu", "2x3090", "--write")
    again, after = answer(capsys, "--gpu", "2x3090")

    assert "SGL204" in rules(data)
    assert (here / "sgdoctor-patches" / "config.json").is_file()
    assert (0, []) == (again, after["course"])


def test_the_diff_is_shown_on_request(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    launch = command(model.parent, "")
    main(["preflight", launch, "--gpu", "3090"])
    short = capsys.readouterr().out
    main(["preflight", launch, "--gpu", "3090", "--fix"])
    long = capsys.readouterr().out

    assert "+++ b/launch" not in short
    assert "--fix shows" in short
    assert "+++ b/launch" in long
    assert "--dtype bfloat16" in long


# ---------------------------------------------------------------- formats


@pytest.mark.parametrize("lang", ["en", "zh"])
def test_the_text_ends_with_the_verdict(model: Path, capsys: pytest.CaptureFixture[str], lang: str) -> None:
    code = main(["preflight", command(model.parent, GOOD), "--gpu", "3090", "--lang", lang])
    lines = capsys.readouterr().out.splitlines()
    areas = (
        ("Host", "Launch", "Command", "Model", "Memory")
        if lang == "en"
        else ("主机", "启动配置", "命令", "模型", "显存")
    )

    assert 0 == code
    assert list(areas) == [line.strip() for line in lines if line.strip() in areas]
    assert lines[-1].startswith("✔ ")
    assert not any(secret in "\n".join(lines) for secret in SECRETS)


def test_markdown(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["preflight", command(model.parent, ""), "--gpu", "3090", "--format", "md"])
    text = capsys.readouterr().out

    assert text.startswith("## sgdoctor preflight: it would not start")
    assert "### Host" in text
    assert "```diff" in text
    assert not any(secret in text for secret in SECRETS)


def test_sarif_points_at_the_lines_of_the_file(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = model.parent / "compose.yaml"
    path.write_text(COMPOSE.format(flags=FLAGS))
    code = main(["preflight", "compose.yaml:sgl", "--gpu", "2x3090", "--format", "sarif"])
    captured = capsys.readouterr()
    (run,) = json.loads(captured.out)["runs"]
    lines = path.read_text().splitlines()
    at = {result["properties"]["prevents"]: result["locations"][0]["physicalLocation"] for result in run["results"]}

    assert 3 == code
    assert {"compose.yaml"} == {place["artifactLocation"]["uri"] for place in at.values()}
    assert "CUDA_VISIBLE_DEVICES" in lines[at["SGL014"]["region"]["startLine"] - 1]
    assert {rule["id"] for rule in run["tool"]["driver"]["rules"]} == {result["ruleId"] for result in run["results"]}
    assert {"error", "warning"} >= {result["level"] for result in run["results"]}
    assert not any(secret in captured.out for secret in SECRETS)


def test_hostile_names_reach_no_terminal(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for form in ("text", "md", "json", "sarif"):
        launch = "python3 -m sglang.launch_server --model-path $'x\x1b]0;owned\x07[red]' --dtype $'\x1b[31m'"
        main(["preflight", launch, "--format", form])

        assert "\x1b" not in capsys.readouterr().out


# ---------------------------------------------------------------- a first compose file


@pytest.mark.parametrize("use", ["single", "agents", "many"])
@pytest.mark.parametrize("name", ["qwen3-8b", "qwen2.5-7b-awq", "qwen3-32b-awq", "llama-8b-w4a16"])
def test_a_first_compose_file_passes_its_own_checks(
    here: Path, capsys: pytest.CaptureFixture[str], name: str, use: str
) -> None:
    write(MODELS[name](), here / "models" / name)
    arguments = ("--gpu", "3090", "--version", "0.5.15")
    written = main(
        ["preflight", "--write-compose", "compose.yaml", "--model", f"models/{name}", "--use", use, *arguments]
    )
    capsys.readouterr()
    code, data = answer(capsys, *arguments)
    text = (here / "compose.yaml").read_text()
    flags = data["launch"]["flags"]

    assert (0, 0) == (written, code), [one for one in data["checks"] if one["status"] in ("fail", "warn")]
    assert flags["--model-path"] == "/model"
    assert ("--max-running-requests" in flags) is (use != "many")
    assert int(flags["--context-length"]) <= data["plan"]["predicted"]["kv_tokens"]
    # Every flag is explained in the line above it.
    lines = text.splitlines()
    unexplained = [
        line for before, line in itertools.pairwise(lines) if re.match(r" +- --", line) and "#" not in before
    ]
    assert [] == unexplained


def test_a_first_compose_file_of_two_cards_and_the_27b(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["preflight", "--write-compose", "--model", "m", "--gpu", "2x3090", "--version", "0.5.15", "--lang", "zh"])
    text = capsys.readouterr().out

    assert "--tp-size=2" in text
    assert "--dtype=bfloat16" in text
    assert 'device_ids: ["0", "1"]' in text
    assert "shm_size: 16g" in text
    assert "由 sgdoctor preflight" in text


def test_no_compose_file_for_what_cannot_fit(here: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(MODELS["qwen3-32b-awq"](), here / "m")
    code = main(["preflight", "--write-compose", "c.yaml", "--model", "m", "--gpu", "3060"])

    assert 2 == code
    assert "no compose file" in capsys.readouterr().err
    assert not (here / "c.yaml").exists()


def test_a_compose_file_is_never_overwritten(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (model.parent / "c.yaml").write_text("mine")
    code = main(["preflight", "--write-compose", "c.yaml", "--model", "m", "--gpu", "3090"])

    assert (2, "mine") == (code, (model.parent / "c.yaml").read_text())
