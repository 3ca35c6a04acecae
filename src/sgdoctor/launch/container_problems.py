"""What people get wrong in containers, whatever form the launch was written in."""

from collections.abc import Callable, Iterator
from typing import Final

from sgdoctor.launch.change import Change
from sgdoctor.launch.engine_words import is_shell
from sgdoctor.launch.model import Gpus, Launch, Origin, Problem
from sgdoctor.texts import Text

_SCRIPTS: Final = (".py", ".sh", ".bash")


def ipc_of_host(launch: Launch) -> str:
    """How the form of a launch writes that the container shares the host's ``/dev/shm``."""
    return "ipc: host" if launch.origin is Origin.COMPOSE else "--ipc host"


def container_problems(launch: Launch, is_folder: Callable[[str], bool] | None = None) -> tuple[Problem, ...]:
    """The problems of a launch in a container; none for other launches.

    Args:
        launch: of any origin.
        is_folder: whether a path is a folder on the host; None where the host's files are out of reach.
    """
    if launch.image is None:
        return ()
    return tuple(
        problem
        for found in (
            _newline_arguments(launch),
            _flags_alone(launch),
            _hidden_gpu(launch),
            _two_voices(launch),
            _no_gpu_counted(launch),
            _shm_of_host(launch),
            _restart_that_never_comes(launch),
            _mounted_folder(launch, is_folder),
        )
        for problem in found
    )


def given_gpus(launch: Launch) -> int | None:
    """How many GPUs the container gets; None where that depends on the host."""
    gpus = launch.gpus or Gpus()
    if gpus.device_ids:
        return len(gpus.device_ids)
    return gpus.count if gpus.count is not None and gpus.count > 0 else None


def _newline_arguments(launch: Launch) -> Iterator[Problem]:
    places = [index for index, word in enumerate(launch.command, 1) if word and not word.strip()]
    if places:
        are = "are" if len(places) > 1 else "is a"
        yield Problem(
            "newline-argument",
            "fatal",
            Text(
                f"{len(places)} of the command's words {are} bare line break{'s' if len(places) > 1 else ''}",
                f"命令中有 {len(places)} 个参数只是换行符",
            ),
            Text(f"word {places[0]} of the command", f"命令的第 {places[0]} 个词"),
            detail=Text(
                "Compose keeps the line breaks behind the backslashes of a block that begins with |, and the engine "
                "refuses them as arguments. Take the backslashes away, or begin the block with >.",
                "Compose 会保留以 | 开头的块中反斜杠后的换行，引擎会把它们当作参数而拒绝。请去掉反斜杠，或改用 >。",
            ),
        )


def _flags_alone(launch: Launch) -> Iterator[Problem]:
    words = launch.command[launch.entrypoint :]
    if launch.argv or not words or not words[0].startswith("--"):
        return
    # Of a container the whole command is known; else the entrypoint takes the flags: the one given, or another image's.
    if launch.origin is not Origin.CONTAINER and (launch.entrypoint or "sglang" not in (launch.image or "")):
        return
    yield Problem(
        "flags-without-engine",
        "fatal",
        Text(
            f"the command begins with the flag {words[0]}; nothing starts the engine",
            f"命令以参数 {words[0]} 开头，没有启动引擎的程序",
        ),
        Text(f"word {launch.entrypoint + 1} of the command", f"命令的第 {launch.entrypoint + 1} 个词"),
        (Change("docker.command", value="python3 -m sglang.launch_server"),),
        "SGL031",
    )


def _hidden_gpu(launch: Launch) -> Iterator[Problem]:
    given = given_gpus(launch)
    visible = launch.env.get("CUDA_VISIBLE_DEVICES")
    if given is None or not visible:
        return
    # CUDA stops at the first index that does not exist (CUDA C Programming Guide, "CUDA environment variables").
    beyond = [one for one in visible.replace(" ", "").split(",") if one.isdecimal() and int(one) >= given]
    if beyond:
        last = given - 1
        yield Problem(
            "gpu-numbered-twice",
            "fatal",
            Text(
                f"CUDA_VISIBLE_DEVICES={visible} names GPU {beyond[0]}, but the container has only 0"
                + (f" to {last}" if last else ""),
                f"CUDA_VISIBLE_DEVICES={visible} 指向 GPU {beyond[0]}，但容器里只有 0"
                + (f" 到 {last}" if last else ""),
            ),
            Text("the environment", "环境变量"),
            (Change("env.unset", "CUDA_VISIBLE_DEVICES"),),
            "SGL014",
            Text(
                "The GPUs that a container is given are numbered from 0 inside it, whatever they are on the host.",
                "容器分到的 GPU 在容器内从 0 开始重新编号，与主机上的编号无关。",
            ),
        )


def _two_voices(launch: Launch) -> Iterator[Problem]:
    gpus = launch.gpus or Gpus()
    visible = launch.env.get("NVIDIA_VISIBLE_DEVICES")
    if visible is None or gpus.from_env or not (gpus.device_ids or gpus.count):
        return
    yield Problem(
        "gpus-asked-for-twice",
        "degraded",
        Text(
            f"both --gpus and NVIDIA_VISIBLE_DEVICES={visible} say which GPUs the container gets",
            f"--gpus 和 NVIDIA_VISIBLE_DEVICES={visible} 同时指定了容器的 GPU",
        ),
        Text("the environment", "环境变量"),
        (Change("env.unset", "NVIDIA_VISIBLE_DEVICES"),),
        detail=Text(
            "The container's environment then holds the variable twice; which one counts depends on the toolkit.",
            "这样环境里会有两个同名变量，以哪个为准取决于 NVIDIA 工具包的版本。",
        ),
    )


def _no_gpu_counted(launch: Launch) -> Iterator[Problem]:
    if launch.gpus is not None and launch.gpus.count == 0:
        yield Problem(
            "gpu-count-zero",
            "degraded",
            Text("--gpus 0 asks for nothing; the image decides", "--gpus 0 等于没有指定，由镜像决定"),
            Text("--gpus", "--gpus"),
            (Change("docker.gpus", value="device=0"),),
            detail=Text(
                "0 is a number of GPUs here, not the first one: that is device=0.",
                "这里的 0 是 GPU 的数量，不是第一块 GPU；第一块是 device=0。",
            ),
        )


def _shm_of_host(launch: Launch) -> Iterator[Problem]:
    if launch.shm_bytes is not None and launch.ipc == "host":
        yield Problem(
            "shm-size-without-effect",
            "notice",
            Text(
                f"the size of /dev/shm has no effect beside {ipc_of_host(launch)}",
                f"使用 {ipc_of_host(launch)} 时 shm 大小不起作用",
            ),
            detail=Text(
                "The container uses the host's /dev/shm, with the host's size.",
                "容器使用主机的 /dev/shm，大小由主机决定。",
            ),
        )


def _restart_that_never_comes(launch: Launch) -> Iterator[Problem]:
    first = launch.command[0] if launch.command else ""
    if not (launch.restart or "").startswith("on-failure") or launch.init or not launch.argv or is_shell(first):
        return
    yield Problem(
        "restart-after-exit-0",
        "degraded",
        Text(
            f"restart: {launch.restart} does not restart an engine that is the container's first process",
            f"restart: {launch.restart} 不会重启作为容器首个进程的引擎",
        ),
        Text("the restart policy", "重启策略"),
        (Change("docker.restart", value="unless-stopped"),),
        "SGL045",
        Text(
            "A failed start ends by SIGKILL of itself, which process 1 ignores; it then exits with 0, which is no "
            "failure to Docker.",
            "启动失败时引擎向自己发送 SIGKILL，而 1 号进程会忽略它，随后以 0 退出，Docker 不认为这是失败。",
        ),
    )


def _mounted_folder(launch: Launch, is_folder: Callable[[str], bool] | None) -> Iterator[Problem]:
    for mount in launch.mounts:
        script = mount.kind == "bind" and mount.target.endswith(_SCRIPTS)
        if script and is_folder is not None and mount.source and is_folder(mount.source):
            yield Problem(
                "folder-mounted-as-script",
                "fatal",
                Text(
                    f"{mount.source} is a folder, but the container takes it for the script {mount.target}",
                    f"{mount.source} 是文件夹，但容器把它当作脚本 {mount.target}",
                ),
                Text(f"the mount of {mount.target}", f"{mount.target} 的挂载"),
                rule="SGL029",
                detail=Text(
                    "Docker makes an empty folder of a missing source of -v. Remove the folder, put the script there "
                    "and make the container anew.",
                    "-v 的源文件不存在时 Docker 会创建一个空文件夹。请删除该文件夹，放入脚本，再重新创建容器。",
                ),
            )
