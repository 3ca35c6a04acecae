"""The steps of a relaunch in words."""

from collections.abc import Mapping
from typing import Final

from sgdoctor.relaunch.model import Step
from sgdoctor.texts import Text

_STEPS: Final[Mapping[Step, Text]] = {
    Step.CREATE: Text("make the new container beside the old one", "在旧容器旁边创建新容器"),
    Step.COMPARE: Text("compare it with what was asked for", "核对新容器与要求是否一致"),
    Step.BACKUP: Text("copy the compose file", "备份 compose 文件"),
    Step.WRITE: Text("write the compose file", "写入 compose 文件"),
    Step.HOLD: Text("keep the old container from being restarted", "暂停旧容器的自动重启"),
    Step.STOP: Text("stop the old server", "停止旧服务"),
    Step.STEP_ASIDE: Text("rename the old container", "旧容器让出名称"),
    Step.TAKE_NAME: Text("give its name to the new one", "新容器接过名称"),
    Step.START: Text("start the new server", "启动新服务"),
    Step.READY: Text("wait until it serves", "等待服务就绪"),
    Step.SERVE: Text("serve", "提供服务"),
    Step.SETTLE: Text("put the restart policy back", "恢复重启策略"),
    Step.SAVE_LOG: Text("keep its log", "保存日志"),
    Step.REMOVE: Text("remove the new container", "删除新容器"),
    Step.GIVE_NAME_BACK: Text("give the old container its name back", "旧容器恢复原名"),
    Step.RESTORE_POLICY: Text("put its restart policy back", "恢复其重启策略"),
    Step.RESTORE: Text("put the compose file back", "恢复 compose 文件"),
    Step.RESTART_OLD: Text("start the old server again", "重新启动旧服务"),
}


def step_text(step: Step) -> Text:
    """What is done in a step, as a user knows it."""
    return _STEPS[step]
