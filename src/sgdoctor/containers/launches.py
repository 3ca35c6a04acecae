"""The launch of a container of an engine."""

from pathlib import Path

from sgdoctor.containers.client import Client
from sgdoctor.containers.find import find
from sgdoctor.errors import UserError
from sgdoctor.launch.inspection import Inspection, open_inspection


def container_document(client: Client, name: str) -> Inspection:
    """How a container was started, with what its image says told apart from what was asked for.

    Args:
        client: of the engine.
        name: of the container, its id, or the service of Compose that it belongs to.

    Raises:
        UserError: there is no such container, or the engine does not answer.
    """
    container = find(client, name).container
    data = client.container_data(container.id)
    if data is None:
        raise UserError(f"{name}: the container was removed just now.", f"{name}：容器刚刚被删除。")
    image = client.image_data(container.image_id) if container.image_id else None
    # Paths of another machine say nothing here.
    is_folder = _is_folder if client.connections.endpoint.scheme == "unix" else None
    return open_inspection(data, image, api=client.api_version(), is_folder=is_folder)


def _is_folder(path: str) -> bool:
    return Path(path).is_dir()
