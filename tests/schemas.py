"""Answers in JSON held against the schemas that are shipped for them."""

import json
from importlib import resources
from typing import Any

import jsonschema
from referencing import Registry, Resource


def validate(data: Any, name: str) -> None:
    """Hold an answer against a schema.

    Args:
        data: the answer.
        name: of the schema's file, without its ending; others that it speaks of are found beside it.
    """
    schemas = {
        str(file.name): json.loads(file.read_text("utf-8"))
        for file in resources.files("sgdoctor.report").iterdir()
        if file.name.endswith(".schema.json")
    }
    known = Registry().with_resources([(key, Resource.from_contents(one)) for key, one in schemas.items()])
    schema = schemas[f"{name}.schema.json"]
    jsonschema.validators.validator_for(schema)(schema, registry=known).validate(data)
