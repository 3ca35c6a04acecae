"""The options of ``docker run``: which take a value, and how they stand in a command."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from sgdoctor.launch.engine_words import OPTIONS_VARIABLE
from sgdoctor.launch.flag_edits import is_flag


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PROGRAMS: Final = frozenset({"docker", "podman", "nvidia-docker", "nerdctl"})
_WRAPPERS: Final = frozenset({"sudo", "env", "exec", "time", "nohup", "command", "doas"})
# Global options with a value (docker/cli cli/flags/options.go; podman has `--connection` and `--url`).
_GLOBAL_WITH_VALUE: Final = frozenset(
    {
        *("-H", "--host", "-c", "--context", "-l", "--log-level", "--config", "--tlscacert", "--tlscert", "--tlskey"),
        *("--connection", "--url", "--root", "--runroot", "--namespace"),
    }
)
_SUDO_WITH_VALUE: Final = frozenset({"-u", "--user", "-g", "--group"})

# docker/cli cli/command/container/opts.go and run.go (28.3); further down those that only podman has (podman-run, 5.5).
_SHORT: Final = {
    "a": "attach", "c": "cpu-shares", "e": "env", "h": "hostname", "l": "label", "m": "memory", "p": "publish",
    "u": "user", "v": "volume", "w": "workdir",
    "d": "detach", "i": "interactive", "t": "tty", "P": "publish-all", "q": "quiet",
}  # fmt: skip
_SWITCHES: Final = _names(
    """
    detach disable-content-trust help init interactive no-healthcheck oom-kill-disable privileged publish-all quiet
    read-only rm sig-proxy tty use-api-socket

    env-host http-proxy no-hostname no-hosts passwd read-only-tmpfs replace rmi rootfs tls-verify unsetenv-all
    """
)
_WITH_VALUE: Final = _names(
    """
    add-host annotation attach blkio-weight blkio-weight-device cap-add cap-drop cgroup-parent cgroupns cidfile
    cpu-count cpu-percent cpu-period cpu-quota cpu-rt-period cpu-rt-runtime cpu-shares cpus cpuset-cpus cpuset-mems
    detach-keys device device-cgroup-rule device-read-bps device-read-iops device-write-bps device-write-iops dns
    dns-opt dns-option dns-search domainname entrypoint env env-file expose gpus group-add health-cmd health-interval
    health-retries health-start-interval health-start-period health-timeout hostname io-maxbandwidth io-maxiops ip ip6
    ipc isolation kernel-memory label label-file link link-local-ip log-driver log-opt mac-address memory
    memory-reservation memory-swap memory-swappiness mount name net net-alias network network-alias oom-score-adj pid
    pids-limit platform publish pull restart runtime security-opt shm-size stop-signal stop-timeout storage-opt sysctl
    tmpfs ulimit user userns uts volume volume-driver volumes-from workdir

    arch authfile cert-dir cgroup-conf cgroups chrootdirs conmon-pidfile creds decryption-key gidmap group-entry
    health-on-failure hooks-dir hostuser image-volume init-path os passwd-entry personality pidfile pod pod-id-file
    preserve-fds requires retry retry-delay rdt-class sdnotify seccomp-policy secret shm-size-systemd subgidname
    subuidname systemd timeout tz uidmap umask unsetenv variant
    """
)
_SYNONYMS: Final = {"net": "network", "net-alias": "network-alias", "dns-opt": "dns-option"}

OF_DOCKER_ONLY: Final = _names(
    """
    -d -it -itd -dit -ti -p -v -e --gpus --shm-size --ipc --runtime --restart --rm --network --net --ulimit --volume
    --publish --env --entrypoint --privileged --mount --detach --shm_size
    """
)
"""Options of ``docker run`` that no engine has: in a container's command they are misplaced."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option as it stands in a command.

    Attributes:
        name: its long name with dashes.
        value: as the shell passes it; None for a switch.
        start: index of its first word.
        end: index behind its last word.
        before: what stands in the last word before the value: ``--shm-size=``, ``-dp``, or nothing.
    """

    name: str
    value: str | None
    start: int
    end: int
    before: str = ""


@dataclass(frozen=True, slots=True)
class Options:
    """The options of one ``docker run``.

    Attributes:
        given: in their order.
        image: index of the image's word; None if there is none.
        unknown: options that there are not, each with the index of its word.
    """

    given: tuple[Option, ...]
    image: int | None
    unknown: tuple[tuple[str, int], ...] = ()

    def last(self, name: str) -> Option | None:
        """The one that counts; Docker takes the last of several."""
        return next((option for option in reversed(self.given) if option.name == name), None)

    def values(self, name: str) -> list[str]:
        """The values of an option that may be given several times."""
        return [option.value for option in self.given if option.name == name and option.value is not None]

    def has(self, name: str) -> bool:
        """Whether a switch is on."""
        option = self.last(name)
        return option is not None and option.value in (None, "true", "1")


def run_at(texts: Sequence[str]) -> int | None:
    """Index of the first word behind ``docker run`` in the words of a command; None if it is none."""
    at = 0
    while at < len(texts) and texts[at].rpartition("/")[2] not in _PROGRAMS:
        if at == 0 and texts[at] not in _WRAPPERS:
            return None
        if not texts[at].startswith("-") and "=" not in texts[at] and texts[at] not in _WRAPPERS:
            return None
        at += 2 if texts[at] in _SUDO_WITH_VALUE else 1
    at += 1
    while at < len(texts) and texts[at].startswith("-"):
        at += 2 if texts[at] in _GLOBAL_WITH_VALUE else 1
    if texts[at : at + 1] == ["container"]:
        at += 1
    # `docker create` takes the same options, and `docker start` does the rest.
    return at + 1 if at < len(texts) and texts[at] in ("run", "create") else None


def program_of(texts: Sequence[str]) -> str:
    """``docker``, ``podman``, ``nvidia-docker``: the program of a command that has ``run_at``."""
    return next(name for text in texts if (name := text.rpartition("/")[2]) in _PROGRAMS)


def read_options(texts: Sequence[str], start: int) -> Options:
    """The options from word ``start`` on, up to the image.

    An unknown option is taken to have a value if the next word is not an option; a variable such as ``$GPU_ARGS`` is
    passed over.
    """
    given: list[Option] = []
    unknown: list[tuple[str, int]] = []
    at = start
    while at < len(texts) and (is_flag(texts[at]) or OPTIONS_VARIABLE.fullmatch(texts[at])):
        word = texts[at]
        if word == "--":
            at += 1
            break
        if OPTIONS_VARIABLE.fullmatch(word):
            given.append(Option(word, None, at, at + 1))
            at += 1
            continue
        found = _long(texts, at, unknown) if word.startswith("--") else _cluster(texts, at, unknown)
        given += found
        at = found[-1].end
    return Options(tuple(given), at if at < len(texts) else None, tuple(unknown))


def _long(texts: Sequence[str], at: int, unknown: list[tuple[str, int]]) -> list[Option]:
    written, equals, value = texts[at].partition("=")
    name = _SYNONYMS.get(written[2:], written[2:])
    if name not in _SWITCHES and name not in _WITH_VALUE:
        unknown.append((written, at))
    if equals:
        return [Option(f"--{name}", value, at, at + 1, written + equals)]
    follows = at + 1 < len(texts)
    takes = name in _WITH_VALUE or (name not in _SWITCHES and follows and not texts[at + 1].startswith("-"))
    if takes and follows:
        return [Option(f"--{name}", texts[at + 1], at, at + 2)]
    return [Option(f"--{name}", None, at, at + 1)]


def _cluster(texts: Sequence[str], at: int, unknown: list[tuple[str, int]]) -> list[Option]:
    """Short options in one word: ``-itd``, ``-dp 80:80``, ``-eA=1``."""
    word, found = texts[at], list[Option]()
    for index, letter in enumerate(word[1:], start=1):
        name = _SHORT.get(letter)
        if name is None:
            unknown.append((f"-{letter}", at))
        elif name in _WITH_VALUE:
            value = word[index + 1 :]
            if value:
                glue = "=" if value[0] == "=" else ""
                found.append(Option(f"--{name}", value[len(glue) :], at, at + 1, word[: index + 1] + glue))
            elif at + 1 < len(texts):
                found.append(Option(f"--{name}", texts[at + 1], at, at + 2))
            break
        else:
            found.append(Option(f"--{name}", None, at, at + 1))
    return found or [Option(word, None, at, at + 1)]
