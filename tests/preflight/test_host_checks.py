"""Checks of the host, each in its healthy state and in every trouble that it knows."""

from dataclasses import replace
from pathlib import Path

import pytest

from sgdoctor.gpu import reasons
from sgdoctor.preflight.deep import CARDS, ERROR, RULE, VERSIONS
from sgdoctor.preflight.model import CardFacts, DockerState, HostFacts, ImageFacts, Situation, Status
from sgdoctor.preflight.models.folder import read_folder
from sgdoctor.preflight.registry import all_checks
from sgdoctor.texts import Text
from tests.preflight.model_folders import Folder, plain, write
from tests.preflight.samples import CARD, HOST, IMAGE, INFO, docker_run, findings, situation, statuses

SILENT = Text("Docker is silent", "Docker 没有响应")
NO_DOCKER = replace(HOST, docker=None, docker_reason=SILENT)
ELSEWHERE = HostFacts(
    remote=True,
    docker={**INFO, "Name": "gpu-box", "MemTotal": 64 << 30},
    docker_state=DockerState.ANSWERS,
    endpoint="tcp://gpu-box:2375",
    cards_reason=reasons.remote_engine("gpu-box"),
    memory_total_mib=65536.0,
)
HOST_CHECKS = [check for check in all_checks() if check.area.value == "host"]


def test_a_healthy_machine_passes_every_check() -> None:
    told = {check.id: [one.status for one in check.findings(situation())] for check in HOST_CHECKS}

    assert {name: found for name, found in told.items() if set(found) - {Status.PASS}} == {}
    assert {"docker-reachable", "nvidia-driver", "cards-present", "gpu-memory-free", "disk-space"} <= {
        name for name, found in told.items() if found
    }


@pytest.mark.parametrize("check", HOST_CHECKS, ids=lambda check: check.id)
@pytest.mark.parametrize(
    "host",
    [HostFacts(), NO_DOCKER, ELSEWHERE, replace(HOST, simulated=True), replace(HOST, cards=())],
    ids=["nothing", "no docker", "elsewhere", "simulated", "no cards"],
)
def test_every_check_answers_for_every_kind_of_machine(check: object, host: HostFacts) -> None:
    for about in (situation(host=host), Situation(host), situation(host=host, image=None)):
        for finding in check.findings(about):  # type: ignore[attr-defined]
            assert finding.title.en
            assert finding.title.zh
            assert finding.phase is None or finding.status is not Status.PASS


# ---------------------------------------------------------------- Docker


@pytest.mark.parametrize(
    ("state", "status", "rule"),
    [
        (DockerState.DENIED, "fail", "SGL055"),
        (DockerState.SILENT, "fail", "SGL054"),
        (DockerState.ABSENT, "skipped", None),
    ],
)
def test_docker_out_of_reach(state: DockerState, status: str, rule: str | None) -> None:
    (found,) = findings("docker-reachable", situation(host=replace(NO_DOCKER, docker_state=state)))

    assert (status, rule) == (found.status.value, found.prevents)


def test_docker_of_another_machine_is_told() -> None:
    (found,) = findings("docker-reachable", situation(host=ELSEWHERE))

    assert ("pass", True) == (found.status.value, found.remote)
    assert "gpu-box" in found.title.en
    assert "this machine" in (found.detail or SILENT).en


def test_what_belongs_to_another_machine_is_skipped() -> None:
    about = situation(host=ELSEWHERE)

    assert {"nvidia-driver": ["skipped"], "disk-space": ["skipped"], "ram-for-loading": ["skipped"]} == {
        name: statuses(name, about) for name in ("nvidia-driver", "disk-space", "ram-for-loading")
    }
    assert all(one.remote for name in ("nvidia-driver", "disk-space") for one in findings(name, about))


# ---------------------------------------------------------------- driver and cards


@pytest.mark.parametrize(
    ("reason", "rule"), [(reasons.MISMATCH, "SGL004"), (reasons.NOT_LOADED, "SGL006"), (reasons.PERMISSION, "SGL006")]
)
def test_a_driver_that_does_not_work(reason: Text, rule: str) -> None:
    (found,) = findings("nvidia-driver", situation(host=replace(HOST, cards=(), cards_reason=reason)))

    assert ("fail", rule, reason) == (found.status.value, found.prevents, found.title)


def test_a_machine_without_a_card_is_told_to_name_one() -> None:
    host = replace(HOST, cards=(), pci_cards=0, driver=None, cards_reason=reasons.NO_GPU)
    (found,) = findings("nvidia-driver", situation(host=host))

    assert "skipped" == found.status.value
    assert "--gpu" in found.title.en


def test_wsl_without_a_driver() -> None:
    host = replace(HOST, cards=(), pci_cards=0, driver=None, wsl=True)
    (found,) = findings("nvidia-driver", situation(host=host))

    assert ("fail", "SGL052") == (found.status.value, found.prevents)


def test_a_card_that_is_too_old() -> None:
    old = CardFacts(0, "Tesla P40", 61, 24576.0, 24000.0)
    (found,) = findings("cards-present", situation(host=replace(HOST, cards=(old,))))

    assert ("fail", "SGL544") == (found.status.value, found.prevents)


@pytest.mark.parametrize(
    ("cuda", "requirement", "status", "rule"),
    [
        ("12.8", "", "pass", None),
        ("12.4", "", "pass", None),
        ("12.9", "", "warn", "SGL012"),
        ("12.9", "cuda>=12.9 brand=tesla,driver>=535,driver<536", "fail", "SGL005"),
        ("12.9", "cuda>=12.9 brand=geforcertx,driver>=570,driver<571", "warn", "SGL012"),
        ("13.0", "", "fail", "SGL012"),
    ],
)
def test_cuda_of_the_image(cuda: str, requirement: str, status: str, rule: str | None) -> None:
    env = [f"NVIDIA_REQUIRE_CUDA={requirement}"] if requirement else []
    image = replace(IMAGE, cuda=cuda, config={"Config": {"Env": env}})
    (found,) = findings("cuda-of-image", situation(image=image))

    assert (status, rule) == (found.status.value, found.prevents)


def test_a_requirement_may_be_switched_off() -> None:
    image = replace(IMAGE, cuda="12.9", config={"Config": {"Env": ["NVIDIA_REQUIRE_CUDA=cuda>=12.9"]}})
    about = situation(docker_run("--gpus all -e NVIDIA_DISABLE_REQUIRE=1"), image=image)

    assert ["warn"] == statuses("cuda-of-image", about)


@pytest.mark.parametrize(
    ("options", "host", "status", "rule"),
    [
        ("--gpus all", HOST, "pass", None),
        ("--gpus all", replace(HOST, docker={**INFO, "Runtimes": {"runc": {}}}, toolkit=()), "fail", "SGL001"),
        ("--runtime nvidia", HOST, "pass", None),
        ("--runtime nvidia", replace(HOST, docker={**INFO, "Runtimes": {"runc": {}}}), "fail", "SGL002"),
        ("--device nvidia.com/gpu=0", HOST, "fail", "SGL019"),
        ("--device nvidia.com/gpu=0", replace(HOST, cdi_devices=("nvidia.com/gpu=0",)), "pass", None),
        ("--gpus all", replace(ELSEWHERE, docker={**INFO, "Runtimes": {"runc": {}}}), "skipped", None),
        ("--runtime nvidia", replace(ELSEWHERE, docker={**INFO, "Runtimes": {"runc": {}}}), "fail", "SGL002"),
    ],
)
def test_the_toolkit_for_each_way_to_ask_for_a_card(
    options: str, host: HostFacts, status: str, rule: str | None
) -> None:
    (found,) = findings("container-toolkit", situation(docker_run(options), host))

    assert (status, rule) == (found.status.value, found.prevents)


def test_cards_that_a_reload_of_systemd_takes_away() -> None:
    (found,) = findings("cgroup-keeps-cards", situation(host=replace(HOST, char_links=False)))
    cgroupfs = replace(HOST, char_links=False, docker={**INFO, "CgroupDriver": "cgroupfs"})

    assert ("warn", "SGL010") == (found.status.value, found.prevents)
    assert ["pass"] == statuses("cgroup-keeps-cards", situation(host=cgroupfs))
    assert ["pass"] == statuses("cgroup-keeps-cards", situation())


def test_who_holds_the_memory_of_a_card() -> None:
    holders = (("container vllm", 15360.0), ("Xorg", 410.0))
    busy = replace(CARD, free_mib=8486.0, holders=holders)
    (found,) = findings("gpu-memory-free", situation(host=replace(HOST, cards=(busy,))))

    assert ("warn", "SGL411") == (found.status.value, found.prevents)
    assert "container vllm 15.0 GiB, Xorg 0.4 GiB" == found.evidence
    assert ["docker stop vllm"] == [change.value for change in found.changes]


def test_what_the_container_itself_holds_is_given_back() -> None:
    own = replace(CARD, free_mib=2000.0, holders=(("container sgl", 22256.0),))
    (found,) = findings("gpu-memory-free", situation(host=replace(HOST, cards=(own,))))

    assert "pass" == found.status.value
    assert "once the container has ended" in found.title.en


def test_only_the_card_that_the_launch_gets_counts() -> None:
    busy, idle = replace(CARD, free_mib=1000.0), replace(CARD, number=1, uuid="GPU-2")
    about = situation(docker_run("--gpus device=1"), replace(HOST, cards=(busy, idle)))

    assert ["pass"] == statuses("gpu-memory-free", about)


@pytest.mark.parametrize(
    ("changes", "xids", "status"),
    [
        ({}, (), "pass"),
        ({"persistence": False}, (), "pass"),
        ({"ecc_errors": 3}, (), "warn"),
        ({}, ("Xid (PCI:0000:01:00): 79, pid=1, GPU has fallen off the bus.",), "warn"),
        ({}, ("Xid (PCI:0000:01:00): 31, pid=1, name=python3, MMU Fault",), "pass"),
    ],
)
def test_the_health_of_a_card(changes: dict[str, object], xids: tuple[str, ...], status: str) -> None:
    host = replace(HOST, cards=(replace(CARD, **changes),), xids=xids)  # type: ignore[arg-type]

    assert [status] == statuses("cards-healthy", situation(host=host))


# ---------------------------------------------------------------- memory, disks, image


@pytest.mark.parametrize(
    ("available", "swap", "flags", "status"),
    [
        (60000.0, 0.0, "", "pass"),
        (4000.0, 0.0, "", "warn"),
        (2000.0, 0.0, "", "fail"),
        (2000.0, 16384.0, "", "pass"),
        (20000.0, 0.0, "--cpu-offload-gb 40", "fail"),
        (60000.0, 0.0, "--cpu-offload-gb 40", "pass"),
    ],
)
def test_ram_for_loading(available: float, swap: float, flags: str, status: str) -> None:
    host = replace(HOST, memory_available_mib=available, swap_free_mib=swap)

    assert [status] == statuses("ram-for-loading", situation(docker_run(flags=flags), host))


def test_ram_for_weights_of_unknown_size_is_not_called_enough() -> None:
    (unseen,) = findings("ram-for-loading", situation())
    (no_launch,) = findings("ram-for-loading", situation(launch=None))

    assert "not known" in unseen.title.en
    assert "not known" not in no_launch.title.en


def test_ram_for_weights_that_are_here(tmp_path: Path) -> None:
    write(Folder({}, plain("layer", 2, 2)), tmp_path)

    (seen,) = findings("ram-for-loading", situation(model=read_folder("/m", tmp_path)))

    assert "not known" not in seen.title.en


@pytest.mark.parametrize(
    ("free", "present", "status", "rule"),
    [
        (200.0, False, "pass", None),
        (40.0, False, "warn", "SGL034"),
        (10.0, False, "fail", "SGL034"),
        (40.0, True, "pass", None),
        (2.0, True, "warn", "SGL034"),
        (0.1, True, "fail", "SGL034"),
    ],
)
def test_disk_of_docker(free: float, present: bool, status: str, rule: str | None) -> None:
    host = replace(HOST, disk_free_gib={"/var/lib/docker": free})
    (found,) = findings("disk-space", situation(host=host, image=replace(IMAGE, present=present)))

    assert (status, rule) == (found.status.value, found.prevents)


def test_disk_of_a_cache() -> None:
    host = replace(HOST, disk_free_gib={"/var/lib/docker": 100.0, "/srv/hf": 3.0})
    docker, cache = findings("disk-space", situation(host=host))

    assert ("pass", "warn", "SGL035") == (docker.status.value, cache.status.value, cache.prevents)


def test_an_image_that_is_not_here_or_for_another_processor() -> None:
    missing = replace(IMAGE, present=False)
    other = replace(IMAGE, config={"Architecture": "arm64"})

    assert ["warn"] == statuses("image-present", situation(image=missing))
    assert ["SGL033"] == [one.prevents for one in findings("image-present", situation(image=other))]
    assert ["skipped"] == statuses("image-present", situation(image=ImageFacts("x")))


def test_limits_of_wsl() -> None:
    two = replace(HOST, wsl=True, cards=(CARD, replace(CARD, number=1)))
    slow = situation(docker_run("--gpus device=0 -v /mnt/c/models:/models"), two)

    assert ["warn"] == statuses("wsl-limits", situation(host=two))
    assert ["warn"] == statuses("wsl-limits", slow)
    assert ["pass"] == statuses("wsl-limits", situation(host=replace(HOST, wsl=True)))
    assert [] == statuses("wsl-limits", situation())


def test_shared_memory_of_the_host() -> None:
    ours = docker_run("--gpus all --ipc host")

    assert ["pass"] == statuses("host-shared-memory", situation(ours))
    assert ["warn"] == statuses("host-shared-memory", situation(ours, replace(HOST, shm_mib=64.0)))
    assert [] == statuses("host-shared-memory", situation())


# ---------------------------------------------------------------- a throw-away container


def test_a_container_that_sees_its_card() -> None:
    answers = {CARDS: "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)", VERSIONS: "sglang 0.5.15\ntorch 2.11.0"}
    (found,) = findings("container-gets-card", situation(answers=answers))

    assert ("pass", "sglang 0.5.15, torch 2.11.0") == (found.status.value, found.evidence)
    assert "it sees GPU 0: NVIDIA GeForce RTX 3090" == found.title.en


def test_a_container_that_sees_none() -> None:
    (found,) = findings("container-gets-card", situation(answers={CARDS: "sh: nvidia-smi: not found"}))

    assert ("fail", "SGL013", "sh: nvidia-smi: not found") == (found.status.value, found.prevents, found.evidence)


def test_a_container_that_does_not_start() -> None:
    answers = {CARDS: "", ERROR: 'could not select device driver ""', RULE: "SGL001"}
    (found,) = findings("container-gets-card", situation(answers=answers))

    assert ("fail", "SGL001", "docker") == (found.status.value, found.prevents, found.phase)
