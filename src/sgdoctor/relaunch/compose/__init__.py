"""Relaunching a service of Compose: its file is edited, and Compose makes the container anew."""

from sgdoctor.relaunch.compose.edition import Edition, asked, edition, rehearsed
from sgdoctor.relaunch.compose.launching import relaunch_service, return_edition, return_service
from sgdoctor.relaunch.compose.service import ComposeService, drift, open_service
from sgdoctor.relaunch.compose.transaction import ComposeTransaction

__all__ = [
    "ComposeService",
    "ComposeTransaction",
    "Edition",
    "asked",
    "drift",
    "edition",
    "open_service",
    "rehearsed",
    "relaunch_service",
    "return_edition",
    "return_service",
]
