"""Messages as JSON Schema and AsyncAPI, from the types that read and write them."""

from __future__ import annotations

import json
from typing import Any

import msgspec

import streamreasoner
from streamreasoner.io.formats.reading.json.updates import FactMessage, TripleMessage

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_TERM = 'A term in N-Triples syntax, such as <http://example.org/a> or "text"@en.'
_TIME = "Event time: ISO 8601 with a time zone, or milliseconds since 1970-01-01 UTC."


def schema() -> str:
    """The schema of a message in JSON on an input topic, and of a change on the output topic."""
    _, found = msgspec.json.schema_components(
        [TripleMessage, FactMessage], ref_template="#/$defs/{name}"
    )
    definitions: dict[str, Any] = {"Triple": found["TripleMessage"], "Fact": found["FactMessage"]}
    for each in definitions.values():
        each.pop("title"), each.pop("description", None)
        properties = each["properties"]
        for name in ("s", "p", "o"):
            if name in properties:
                properties[name]["description"] = _TERM
        properties["diff"]["description"] = "Multiplicity: positive asserts, negative retracts."
        properties["ts"]["description"] = _TIME
        properties["epoch"]["description"] = "The epoch of a change; not read on an input topic."
    definitions["Triple"]["description"] = "An update or change of a triple."
    definitions["Fact"]["description"] = "An update or change of a fact of any predicate."
    definitions["Update"] = {
        "anyOf": [{"$ref": "#/$defs/Triple"}, {"$ref": "#/$defs/Fact"}],
    }
    document = {
        "$schema": _DIALECT,
        "title": "A message in JSON: one update, or an array of updates",
        "anyOf": [
            {"$ref": "#/$defs/Update"},
            {"type": "array", "items": {"$ref": "#/$defs/Update"}},
        ],
        "$defs": definitions,
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def asyncapi() -> str:
    """The topics of a pipeline, with what is on them, in AsyncAPI 3."""
    update = {"$ref": "messages.schema.json"}
    changes = {"$ref": "messages.schema.json#/$defs/Update"}
    headers = {
        "type": "object",
        "properties": {
            "content-type": {"type": "string"},
            "epoch": {"type": "string", "description": "The epoch of the changes."},
            "application": {"type": "string", "description": "The application id."},
        },
    }
    letter = {
        name: {"type": "string"} for name in ("reason", "class", "topic", "partition", "offset")
    }
    channels = {
        "input": ("{input_topics}", "Updates: additions and retractions.", update, None),
        "output": ("{output_topic}", "Derived facts that came or went.", changes, headers),
        "violations": (
            "{violations_topic}",
            "Violations of constraints that came or went.",
            {},
            headers,
        ),
        "deadLetter": (
            "{dead_letter_topic}",
            "Rejected messages, byte for byte, with the reason in headers.",
            {},
            {"type": "object", "properties": letter},
        ),
    }
    document = {
        "asyncapi": "3.0.0",
        "info": {"title": "A streamreasoner pipeline", "version": streamreasoner.__version__},
        "defaultContentType": "application/json",
        "channels": {
            name: {
                "address": address,
                "description": text,
                "parameters": {address.strip("{}"): {"description": f"kafka.{address[1:-1]}"}},
                "messages": {
                    "message": {"payload": payload} | ({} if head is None else {"headers": head})
                },
            }
            for name, (address, text, payload, head) in channels.items()
        },
        "operations": {
            "readUpdates": {"action": "receive", "channel": {"$ref": "#/channels/input"}},
            **{
                f"publish{name[0].upper()}{name[1:]}": {
                    "action": "send",
                    "channel": {"$ref": f"#/channels/{name}"},
                }
                for name in ("output", "violations", "deadLetter")
            },
        },
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"
