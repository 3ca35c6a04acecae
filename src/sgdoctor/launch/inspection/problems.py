"""What is wrong with a container that only its inspection shows."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.inspection.reading import is_podman, mapping
from sgdoctor.launch.model import Gpus, Launch, Problem
from sgdoctor.texts import Text

_OTHER_MAKERS: Final = ("/dev/kfd", "/dev/dri", "/dev/davinci", "/dev/accel")


def request_problems(data: Mapping[str, Any], launch: Launch) -> Iterator[Problem]:
    """No GPU in the container, or one without its driver.

    Args:
        data: inspection of the container.
        launch: what was read from it.
    """
    host = mapping(data.get("HostConfig"))
    devices = [str(mapping(one).get("PathOnHost")) for one in host.get("Devices") or ()]
    inside = [str(mapping(one).get("PathInContainer")) for one in host.get("Devices") or ()]
    if (launch.gpus or Gpus()) != Gpus() or host.get("Privileged") or is_podman(data):
        return
    if any(device.startswith("/dev/nvidia") for device in (*devices, *inside)):
        yield Problem(
            "raw-gpu-devices",
            "degraded",
            Text(
                "the GPU is passed in as a device file; its driver's libraries do not come with it",
                "GPU 以设备文件的方式传入，驱动库不会随之进入容器",
            ),
            Text("--device", "--device"),
            (Change("docker.gpus", value="all"),),
        )
    elif launch.argv and not any(device.startswith(_OTHER_MAKERS) for device in devices) and not _on_processor(launch):
        yield Problem(
            "no-gpu-asked-for",
            "fatal",
            Text(
                "no GPU is asked for: there is neither --gpus nor the nvidia runtime",
                "没有申请 GPU：既没有 --gpus，也没有 nvidia 运行时",
            ),
            None,
            (Change("docker.gpus", value="all"),),
            "SGL013",
        )


def _on_processor(launch: Launch) -> bool:
    words = " ".join(launch.argv).replace("=", " ")
    return "--device cpu" in words
