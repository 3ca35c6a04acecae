"""Proxy variables that send the engine's calls to itself elsewhere."""

import re
from collections.abc import Iterator, Mapping
from typing import ClassVar, Final

from sgdoctor.launch.change import Change
from sgdoctor.preflight.asked import asked_by
from sgdoctor.preflight.launches.gpus import image_env
from sgdoctor.preflight.model import Area, Finding, Situation, Status
from sgdoctor.texts import Text

_PROXIES: Final = ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY")
_EXCEPTIONS: Final = ("no_proxy", "NO_PROXY")
_SCHEME: Final = re.compile(r"(?:https?|socks5h?|socks4a?)://", re.IGNORECASE)
_NAMED: Final = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_OWN: Final = "127.0.0.1,localhost,0.0.0.0"
_EVERYWHERE: Final = "0.0.0.0"  # noqa: S104 - compared


class LaunchProxy:
    """The engine's warm-up reaches the engine itself."""

    id: ClassVar = "launch-proxy"
    area: ClassVar = Area.LAUNCH
    title: ClassVar = Text("Proxies", "代理")

    def findings(self, situation: Situation) -> Iterator[Finding]:
        """Nothing without a proxy. Values are not shown: passwords stand in them."""
        launch = situation.launch
        if launch is None or not launch.argv or launch.engine != "sglang":
            return
        env = {**(image_env(situation.image) or {}), **{name: value or "" for name, value in launch.env.items()}}
        given = [name for name in _PROXIES if env.get(name)]
        exceptions = _listed(env)
        odd = [name for name in given if _NAMED.match(env[name]) and not _SCHEME.match(env[name])]
        if odd:
            yield _malformed(odd[0])
        elif any(entry.startswith("[") for entry in exceptions):
            # httpx reads `[::1]` as a pattern of a URL without a port (httpx/_utils.py get_environment_proxies).
            yield _malformed("no_proxy")
        if not given:
            return
        asked = asked_by(launch, situation.flags)
        address = asked.value("--host") or "127.0.0.1"
        if asked.has("--skip-server-warmup") or "*" in exceptions or _covers(exceptions, address):
            yield Finding(
                Status.PASS,
                Text("the engine's own address is excepted", "已排除引擎自身地址"),
                evidence=", ".join(given),
            )
            return
        wanted = ",".join(dict.fromkeys([*exceptions, *_OWN.split(",")]))
        local = address == _EVERYWHERE and _covers(exceptions, "127.0.0.1")
        yield Finding(
            Status.WARN if local else Status.FAIL,
            Text(
                f"{given[0]} is set, and no_proxy does not hold {address}: the warm-up goes to the proxy",
                f"设置了 {given[0]}，而 no_proxy 不含 {address}：预热请求会发给代理",
            ),
            evidence=", ".join([*given, *(name for name in _EXCEPTIONS if env.get(name))]),
            where=Text("the environment", "环境变量"),
            prevents="SGL801",
            changes=tuple(Change("env.set", name, wanted) for name in _EXCEPTIONS),
            detail=Text(
                "After loading, the engine calls its own address; an answer of the proxy ends the start.",
                "加载完成后引擎会访问自己的地址；如果应答来自代理，启动就会失败。",
            ),
            phase=None if local else "warmup",
        )


def _listed(env: Mapping[str, str]) -> list[str]:
    # requests takes the variable in small letters first (requests/utils.py should_bypass_proxies).
    value = next((env[name] for name in _EXCEPTIONS if env.get(name)), "")
    return [entry.strip() for entry in value.split(",") if entry.strip()]


def _covers(exceptions: list[str], address: str) -> bool:
    for entry in exceptions:
        network = re.fullmatch(r"(\d+)\.[\d.]+/8", entry)
        if entry == address or (network is not None and address.startswith(f"{network[1]}.")):
            return True
    return False


def _malformed(name: str) -> Finding:
    return Finding(
        Status.WARN,
        Text(f"some HTTP clients of the engine cannot read {name}", f"引擎的部分 HTTP 客户端无法解析 {name}"),
        where=Text("the environment", "环境变量"),
        prevents="SGL802",
        detail=Text(
            "They take http, https and socks5 addresses, and no IPv6 entry in brackets among the exceptions.",
            "它们只接受 http、https 和 socks5 地址，例外列表里不能有带方括号的 IPv6。",
        ),
    )
