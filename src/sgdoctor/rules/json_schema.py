"""The JSON Schema of rule files, for editors and for other programs."""

from typing import Any

from sgdoctor.launch.change import KINDS
from sgdoctor.rules.schema import RuleModel


def json_schema() -> dict[str, Any]:
    """The JSON Schema for editors: the file's own spelling of what the models normalise."""
    schema = RuleModel.model_json_schema()
    definitions = schema["$defs"]
    fields = definitions.pop("ChangeModel")["properties"]
    body = {
        "type": ["object", "null"],
        "properties": {"name": fields["name"], "value": {"type": ["string", "number", "boolean", "null"]}},
        "additionalProperties": False,
    }
    definitions["Change"] = {
        "type": "object",
        "description": "one edit: a kind with its name and value",
        "properties": dict.fromkeys(sorted(KINDS), body),
        "additionalProperties": False,
        "minProperties": 1,
        "maxProperties": 1,
    }
    definitions["FixModel"]["properties"]["changes"]["items"] = {"$ref": "#/$defs/Change"}
    captures = schema["properties"]["captures"]
    long = captures["additionalProperties"]
    captures["additionalProperties"] = {"anyOf": [definitions["CaptureModel"]["properties"]["type"], long]}
    places = [schema, *definitions.values()]
    for name in ("match", "engine", "literals", "phase", "all_of", "none_of", "hit", "near_miss"):
        for place in places:
            if name in (properties := place.get("properties", {})) and "items" in properties[name]:
                properties[name] = {
                    "anyOf": [
                        properties[name]["items"],
                        {key: value for key, value in properties[name].items() if key != "default"},
                    ]
                }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **schema,
    }
