"""Why there is no GPU data, in words: what is wrong and the way out."""

from typing import Final

from sgdoctor.gpu.machine import Machine
from sgdoctor.texts import Text

# nvml.h, nvmlReturn_t
UNINITIALIZED: Final = 1
NOT_SUPPORTED: Final = 3
NO_PERMISSION: Final = 4
DRIVER_NOT_LOADED: Final = 9
LIBRARY_NOT_FOUND: Final = 12
GPU_IS_LOST: Final = 15
RESET_REQUIRED: Final = 16
OPERATING_SYSTEM: Final = 17
VERSION_MISMATCH: Final = 18
UNKNOWN: Final = 999

NO_BINDING: Final = Text(
    "The Python package nvidia-ml-py is not installed.",
    "未安装 Python 包 nvidia-ml-py。",
)
NO_GPU: Final = Text("The NVIDIA driver is there and sees no GPU.", "NVIDIA 驱动已就绪，但没有发现 GPU。")
NO_SMI: Final = Text("nvidia-smi is not there.", "找不到 nvidia-smi。")
NO_SMI_INSIDE: Final = Text(
    "nvidia-smi is not in the container: it was started without a GPU, or without the driver capability 'utility'.",
    "容器中没有 nvidia-smi：启动容器时没有分配 GPU，或缺少驱动能力 'utility'。",
)
SLOW_SMI: Final = Text(
    "nvidia-smi did not answer in time; the driver may hang.", "nvidia-smi 未及时响应，驱动可能已卡住。"
)
GARBLED_SMI: Final = Text("nvidia-smi answered with something unknown.", "无法识别 nvidia-smi 的输出。")
MISMATCH: Final = Text(
    "The loaded NVIDIA driver and its library are of different versions: the driver was updated."
    " Reboot, or reload the kernel module.",
    "已加载的 NVIDIA 驱动与驱动库版本不一致：驱动更新过。请重启机器，或重新加载内核模块。",
)
PERMISSION: Final = Text(
    "No permission to ask the NVIDIA driver (see the rights of /dev/nvidia*).",
    "没有权限访问 NVIDIA 驱动（请检查 /dev/nvidia* 的权限）。",
)
BLOCKED: Final = Text(
    "The operating system does not let the NVIDIA driver be reached: the device files /dev/nvidia* are missing here or"
    " closed (in a container: it was started without a GPU, or lost it).",
    "操作系统不允许访问 NVIDIA 驱动：这里缺少设备文件 /dev/nvidia* 或其不可用"
    "（在容器中：启动时没有分配 GPU，或已失去 GPU）。",
)
NOT_LOADED: Final = Text(
    "The NVIDIA driver is installed and not loaded, or was just unloaded (see dmesg; Secure Boot refuses unsigned"
    " modules).",
    "NVIDIA 驱动已安装但没有加载，或刚被卸载（请查看 dmesg；安全启动会拒绝未签名的模块）。",
)
LOST: Final = Text(
    "The driver has lost this GPU (it fell off the bus). Reboot; look at power, cable, riser and temperature.",
    "驱动已丢失这块 GPU（从总线上掉线）。请重启，并检查供电、线缆、转接卡和温度。",
)
RESET: Final = Text(
    "This GPU needs a reset before it can be used again (a reboot does it).",
    "这块 GPU 需要重置后才能继续使用（重启即可）。",
)
NO_MEMORY_FIGURES: Final = Text(
    "This GPU does not report its memory (it may share that of the system).",
    "这块 GPU 不报告显存用量（可能与系统共用内存）。",
)
DEVICES_TAKEN: Final = Text(
    "The driver answers 'unknown error'. In a container this comes after `systemctl daemon-reload` on the host:"
    " create the container anew.",
    "驱动返回“未知错误”。在容器中，这通常发生在主机执行 `systemctl daemon-reload` 之后：请重新创建容器。",
)
FAILED: Final = Text("Reading the GPUs failed", "读取 GPU 信息失败")


def no_driver(machine: Machine) -> Text:
    """Why the driver's library is not there."""
    if machine.wsl:
        return Text(
            "No NVIDIA driver is visible in WSL 2. It comes with the driver of Windows; install none inside WSL.",
            "WSL 2 中看不到 NVIDIA 驱动。它随 Windows 的驱动提供，请不要在 WSL 内另装驱动。",
        )
    if machine.contained:
        return Text(
            "sgdoctor runs in a container without a GPU. Start it with --gpus all to see them.",
            "sgdoctor 运行在没有 GPU 的容器中。请用 --gpus all 启动容器。",
        )
    if machine.cards:
        return Text(
            "There is an NVIDIA card and no NVIDIA driver (nouveau is not enough).",
            "机器上有 NVIDIA 显卡，但没有安装 NVIDIA 驱动（nouveau 不够用）。",
        )
    return Text("This machine has no NVIDIA card.", "这台机器没有 NVIDIA 显卡。")


def remote_engine(host: str) -> Text:
    """Why the GPUs of this machine are not shown for a container that runs on another one."""
    return Text(
        f"The container runs on {host}: the GPUs of this machine have nothing to do with it.",
        f"容器运行在 {host} 上：本机的 GPU 与它无关。",
    )


def of_nvml(code: int, machine: Machine) -> Text:
    """What an error of NVML means, by its number in ``nvml.h``."""
    if code == LIBRARY_NOT_FOUND:
        return no_driver(machine)
    if code == UNKNOWN and machine.contained:
        return DEVICES_TAKEN
    known = {
        NO_PERMISSION: PERMISSION,
        DRIVER_NOT_LOADED: NOT_LOADED,
        UNINITIALIZED: NOT_LOADED,
        OPERATING_SYSTEM: BLOCKED,
        VERSION_MISMATCH: MISMATCH,
        GPU_IS_LOST: LOST,
        RESET_REQUIRED: RESET,
        NOT_SUPPORTED: NO_MEMORY_FIGURES,
    }
    return known.get(code) or Text(f"The NVIDIA driver answers with error {code}.", f"NVIDIA 驱动返回错误 {code}。")


def of_exception(error: BaseException) -> Text:
    """An error that nobody foresaw, by its kind."""
    return Text(f"{FAILED.en} ({type(error).__name__}).", f"{FAILED.zh}（{type(error).__name__}）。")
