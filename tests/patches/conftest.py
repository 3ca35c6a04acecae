"""Fixtures of the patches: releases of transformers."""

from pathlib import Path

import pytest

from tests.patches.releases import NEWEST, installed

# The first one that checks every config, and those that SGLang 0.5.13 and 0.5.15 pin.
RELEASES = ("5.4.0", "5.8.1", "5.12.1", NEWEST)


@pytest.fixture(scope="session", params=RELEASES)
def transformers(request: pytest.FixtureRequest) -> Path:
    """The folder of one release; each test runs once with each."""
    return installed(request.param)


@pytest.fixture(scope="session")
def newest_transformers() -> Path:
    """The folder of the newest release."""
    return installed(NEWEST)


@pytest.fixture(scope="session")
def transformers_5_12_1() -> Path:
    """The folder of the last release without `qwen3_asr`."""
    return installed("5.12.1")
