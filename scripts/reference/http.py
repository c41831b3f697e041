"""The server's paths as OpenAPI. Invariant: paths, parameters and formats are those of the code."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

import streamreasoner
from reference.answers import ANSWERS, schemas
from streamreasoner.server.web.routes import explain, facts, rules

if TYPE_CHECKING:
    from collections.abc import Mapping

_TEXT: Final = {"text": "text/plain"}
_JSON: Final = {"json": "application/json"}
_RESULTS: Final = {
    "json": "application/sparql-results+json",
    "xml": "application/sparql-results+xml",
    "csv": "text/csv",
    "tsv": "text/tab-separated-values",
    "turtle": "text/turtle",
    "ntriples": "application/n-triples",
    "rdf-xml": "application/rdf+xml",
    "json-ld": "application/ld+json",
}


@dataclass(frozen=True, slots=True)
class Path:
    """What a path answers, its parameters with their meanings, and its formats.

    Attributes:
        summary: What it answers.
        parameters: The meaning of each.
        formats: Media types, by the names that `format` takes.
        aliases: Media types that only the header Accept names, with those that they stand for.
    """

    summary: str
    parameters: Mapping[str, str]
    formats: Mapping[str, str]
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def media_types(self) -> dict[str, str]:
        """What an answer may be, each with the media type that says what is in it."""
        return {each: each for each in self.formats.values()} | dict(self.aliases)


PATHS: Final = {
    "/": Path("The page.", {}, {"html": "text/html"}),
    "/page/{name}": Path("A file of the page.", {}, {"any": "application/octet-stream"}),
    "/facts": Path(
        "The present facts of a predicate, or those that match a pattern; without either, every "
        "predicate with its number of facts.",
        {
            "predicate": "The name of a predicate.",
            "pattern": "A pattern in the rule language, such as path(ex:a, ?x).",
            "limit": f"Most facts of a page: {facts.LIMIT} by default, {facts.MOST} at most.",
            "after": "Where the next page begins: the field `after` of the last one.",
            "format": "The format, in place of the header Accept.",
        },
        facts.FORMATS,
    ),
    "/explain": Path(
        "Why a fact is present, or what is missing.",
        {
            "fact": "A fact in the rule language, or a message of the output topic.",
            "depth": "Most steps between the fact and the facts that are shown.",
            "size": "Most facts of the proof.",
            "matches": "Most matches of an aggregate that are shown.",
            "hidden": "1 shows facts of hidden predicates.",
            "format": "The format, in place of the header Accept.",
        },
        explain.FORMATS,
    ),
    "/rules": Path(
        "The program in effect: text, hash, first epoch and predicates.",
        {"format": "The format, in place of the header Accept."},
        rules.FORMATS,
    ),
    "/sparql": Path(
        "A query by the SPARQL 1.2 Protocol; without one, the service description.",
        {
            "query": "A query in SPARQL 1.2.",
            "version": "1.2, 1.2-basic or 1.1, which changes nothing.",
            "default-graph-uri": "A graph of the default graph; may be repeated.",
            "named-graph-uri": "A named graph; may be repeated.",
            "format": "The format, in place of the header Accept.",
        },
        _RESULTS,
        {"application/json": _RESULTS["json"], "application/xml": _RESULTS["xml"]},
    ),
    "/changes": Path(
        "Published changes as they come, as Server-Sent Events.",
        {
            "from": "The epoch to begin with.",
            "predicate": "A predicate; may be repeated.",
        },
        {"events": "text/event-stream"},
    ),
    "/profile": Path(
        "What each of the last epochs took.", {"epochs": "The number of epochs."}, _JSON
    ),
    "/dead-letters": Path("The last rejected messages, with their reasons.", {}, _JSON),
    "/metrics": Path(
        "Metrics, as Prometheus reads them.",
        {},
        _TEXT,
        {"application/openmetrics-text": "text/plain"},
    ),
    "/healthz": Path("Whether the process lives.", {}, _TEXT),
    "/readyz": Path("Whether it does its work.", {}, _TEXT),
}
_FAILURES: Final = {
    "400": "The request is wrong; the text says what, and what is allowed.",
    "401": "A login is missing or wrong.",
    "404": "There is no such path.",
    "406": "Nothing that the header Accept names can be sent.",
    "503": "Not ready, or too many questions; Retry-After says when to ask again.",
}


def openapi() -> str:
    """The document in OpenAPI 3.1."""
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Questions to a pipeline", "version": streamreasoner.__version__},
        "servers": [{"url": "http://127.0.0.1:9464"}],
        "paths": {name: {"get": _operation(name, path)} for name, path in PATHS.items()},
        "components": {"schemas": schemas()},
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _operation(name: str, path: Path) -> dict[str, object]:
    inner = [{"name": "name", "in": "path", "required": True, "schema": {"type": "string"}}]
    asked = [
        {
            "name": each,
            "in": "query",
            "description": meaning,
            "required": (name, each) == ("/explain", "fact"),
            "schema": {"type": "string", "enum": [*path.formats]}
            if each == "format"
            else {"type": "string"},
        }
        for each, meaning in path.parameters.items()
    ]
    content = {each: _media(name, meant) for each, meant in path.media_types.items()}
    return {
        "summary": path.summary,
        "parameters": [*(inner if "{" in name else []), *asked],
        "responses": {
            "200": {"description": "The answer.", "content": content},
            **{
                code: {"description": text, "content": {"text/plain": _media(name, "text/plain")}}
                for code, text in _FAILURES.items()
            },
        },
    }


def _media(name: str, kind: str) -> dict[str, object]:
    """The schema of an answer to a path in a media type."""
    references = [
        {"$ref": f"#/components/schemas/{each.__name__}"} for each in ANSWERS.get((name, kind), ())
    ]
    data = references[0] if len(references) == 1 else {"oneOf": references}
    match kind:
        case "text/event-stream":
            return {"schema": {"type": "string"}, "x-event-data": data}
        case "application/octet-stream":
            return {"schema": {"type": "string", "format": "binary"}}
        case "application/ld+json":
            return {"schema": {"type": ["array", "object"]}}
        case _:
            return {"schema": data if references else {"type": "string"}}
