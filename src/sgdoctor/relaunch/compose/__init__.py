"""Relaunching a service of Compose: its file is edited, and Compose makes the container anew."""

from sgdoctor.relaunch.compose.launching import relaunch_service, return_service
from sgdoctor.relaunch.compose.service import ComposeService, drift, open_service
from sgdoctor.relaunch.compose.transaction import ComposeTransaction

__all__ = ["ComposeService", "ComposeTransaction", "drift", "open_service", "relaunch_service", "return_service"]
