"""Where a repaired config.json ends up when it is mounted over the one of a model."""

from pathlib import Path

import docker

CONFIG = "snapshots/0123/config.json"


def test_a_file_is_mounted_over_a_snapshot_of_the_hub_cache(
    docker_client: docker.DockerClient, busybox_image: str, tmp_path: Path
) -> None:
    hub = tmp_path / "models--a--b"
    (hub / "blobs").mkdir(parents=True)
    (hub / "snapshots" / "0123").mkdir(parents=True)
    (hub / "blobs" / "abc").write_text("the model's own")
    (hub / CONFIG).symlink_to("../../blobs/abc")
    (hub / "snapshots" / "0123" / "weights").write_text("weights")
    copy = tmp_path / "config.json"
    copy.write_text("repaired")

    out = docker_client.containers.run(
        busybox_image,
        ["sh", "-c", f"cd /hub && cat {CONFIG} && echo && cat snapshots/0123/weights && echo && ls -l {CONFIG}"],
        remove=True,
        volumes=[f"{hub}:/hub:ro", f"{copy}:/hub/{CONFIG}:ro"],
    )

    config, weights, listed = out.decode().splitlines()
    assert "repaired" == config
    assert "weights" == weights
    # Docker follows the link and covers the blob: both paths read the repaired copy, and the host keeps its own.
    assert listed.endswith("config.json -> ../../blobs/abc")
    assert "the model's own" == (hub / CONFIG).read_text()
