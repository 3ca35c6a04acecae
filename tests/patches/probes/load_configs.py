"""Loads the config of each folder with the transformers on the path, here and in a spawned child; prints JSON."""

import json
import multiprocessing
import sys


def outcome(folder: str) -> dict[str, object]:
    """The layers that the config has, or the error."""
    from transformers import AutoConfig

    try:
        config = AutoConfig.from_pretrained(folder)
    except Exception as error:  # noqa: BLE001 - the answer of the probe
        return {"error": f"{type(error).__name__}: {error}"}
    return {"layers": config.get_text_config().layer_types}


def outcomes(folders: list[str]) -> list[dict[str, object]]:
    """The outcome for each folder."""
    return [outcome(folder) for folder in folders]


if __name__ == "__main__":
    here = outcomes(sys.argv[1:])
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        child = pool.apply(outcomes, (sys.argv[1:],))
    sys.stdout.write(json.dumps({"here": here, "child": child}) + "\n")
