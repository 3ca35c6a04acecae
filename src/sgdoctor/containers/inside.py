"""A command inside a running container, for what only its inside can tell."""

import os
import subprocess
from collections.abc import Sequence
from typing import Final

from sgdoctor.containers.endpoint import Endpoint

_SECONDS: Final = 10.0


def run_inside(endpoint: Endpoint, container: str, argv: Sequence[str]) -> str:
    """What ``docker exec CONTAINER ARGV`` prints on both streams, whatever its exit code.

    The command line client is used because `exec` needs a hijacked connection on every transport; it has them all.

    Raises:
        OSError: there is no client here, or it does not come back.
    """
    environment = {**os.environ, "DOCKER_HOST": endpoint.url}
    environment.pop("DOCKER_CONTEXT", None)
    try:
        done = subprocess.run(  # noqa: S603 - the caller's own command, no shell
            ["docker", "exec", container, *argv],  # noqa: S607 - the client that the user's PATH has
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            errors="replace",
            timeout=_SECONDS,
            check=False,
            env=environment,
        )
    except subprocess.TimeoutExpired:
        raise TimeoutError(f"docker exec {container} did not come back within {_SECONDS:.0f} s") from None
    return done.stdout
