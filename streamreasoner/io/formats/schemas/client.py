"""The schemas of a Confluent-compatible registry, each asked for once.

Invariant: a message is rejected only for what the registry says of its schema; when the registry
does not answer, no message is. Schemas never change under their ids. What a replay could find
otherwise is an id that the registry did not know, so those of the last epoch are in a file.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import httpx2
import msgspec
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError as Answer
from confluent_kafka.schema_registry.schema_registry_client import RuleKind, RuleMode

from streamreasoner.errors import SchemaRegistryError, StateError
from streamreasoner.io.formats.rejected import Reason, RejectedError
from streamreasoner.io.formats.schemas.avro import AvroSchema
from streamreasoner.io.formats.schemas.frame import split
from streamreasoner.io.formats.schemas.protobuf import ProtobufSchema
from streamreasoner.io.formats.schemas.schema import Definition, UnusableSchemaError
from streamreasoner.system import disk

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from streamreasoner.config.registry import RegistryConfig
    from streamreasoner.io.formats.records.record import Record
    from streamreasoner.io.formats.schemas.schema import Schema, SchemaReader

_READERS: dict[str, SchemaReader] = {"AVRO": AvroSchema, "PROTOBUF": ProtobufSchema}
_FORMATS = {"AVRO": None, "PROTOBUF": "serialized"}
_UNKNOWN = {40401, 40402, 40403}
"""Codes of the answers that there is no such subject, version or schema."""
_REFUSED = {401, 403}
_BUSY = {408, 429, *range(500, 600)}
_FAILURES = (Answer, httpx2.HTTPError, ValueError, LookupError, TypeError)
"""Answers of an error, none at all, and those that are not answers of a registry."""
# A request is repeated after half of 0.2, 0.4, 0.8, 1.6 and 3.2 s on average.
_RETRIES = {"timeout": 10.0, "max.retries": 5, "retries.wait.ms": 200, "retries.max.wait.ms": 5_000}


class _Unusable(msgspec.Struct, frozen=True):
    """Ids that messages of an epoch were rejected for, and why."""

    epoch: int
    schemas: dict[str, str]


_decode = msgspec.json.Decoder(_Unusable).decode


class Registry:
    """A schema registry; see `Schemas`.

    Args:
        config: Where it is, and how to log in.
        file: Remembers what was unusable in the last epoch; None remembers nothing.

    Raises:
        SchemaRegistryError: It does not answer as a schema registry.
        StateError: The file cannot be read.
    """

    def __init__(self, config: RegistryConfig, file: Path | None) -> None:
        self._url = config.url
        self._file = file
        self._schemas: dict[tuple[str, int], Schema] = {}
        self._kept = _read(file)
        self._unusable = {} if self._kept is None else dict(self._kept.schemas)
        self._epoch = -1 if self._kept is None else self._kept.epoch
        options: dict[str, Any] = {"url": config.url, **_RETRIES}
        if config.secret is not None:
            options["basic.auth.user.info"] = f"{config.username}:{config.secret.reveal()}"
        if config.ca_file is not None:
            options["ssl.ca.location"] = str(config.ca_file.path)
        self._client = SchemaRegistryClient(options)
        try:
            self._client.get_schema_types()
        except _FAILURES as error:
            self.close()
            raise self._failure(error) from None

    def close(self) -> None:
        """Close its connections."""
        self._client.close()

    def record(self, kind: str, value: bytes) -> Record:
        """The record in the value of a message; see `Schemas`."""
        number, payload = split(value)
        schema = self._schemas.get((kind, number)) or self._schema(kind, number)
        return schema.decode(payload)

    def begin(self, epoch: int) -> None:
        """Ask again for what was unusable, unless in a replay of the epoch; see `Schemas`."""
        if epoch != self._epoch:
            self._unusable, self._epoch = {}, epoch

    def keep(self) -> None:
        """Write down what is unusable in this epoch; see `Schemas`.

        Raises:
            StateError: The file cannot be written.
        """
        kept = _Unusable(self._epoch, self._unusable) if self._unusable else None
        if self._file is None or kept == self._kept:
            return
        try:
            if kept is None:
                self._file.unlink(missing_ok=True)
            else:
                disk.write(self._file, msgspec.json.encode(kept))
                disk.sync(self._file.parent)
        except OSError as error:
            raise StateError(f"{self._file} cannot be written: {error.strerror}.") from None
        self._kept = kept

    def _schema(self, kind: str, number: int) -> Schema:
        """A schema that was not asked for yet.

        Raises:
            RejectedError: There is none of this kind that can be used.
            SchemaRegistryError: The registry does not tell.
        """
        name = f"{kind}/{number}"
        if name not in self._unusable:
            try:
                definitions = [*self._definitions(kind, number)]
                self._schemas[kind, number] = found = _READERS[kind](definitions)
            except UnusableSchemaError as error:
                self._unusable[name] = str(error)
            else:
                return found
        detail = f"The schema with the id {number} {self._unusable[name]}."
        raise RejectedError(Reason.UNKNOWN_SCHEMA, detail)

    def _definitions(self, kind: str, number: int) -> Iterator[Definition]:
        """A schema, after those that it refers to."""
        try:
            schema = self._client.get_schema(number, fmt=_FORMATS[kind])
            if schema.schema_type != kind:
                raise UnusableSchemaError(f"is a schema in {schema.schema_type}, not in {kind}")
            if changes_values(schema):
                raise UnusableSchemaError("has rules, such as encryption, which are not applied")
            yield from self._references(kind, schema, set())
        except _FAILURES as error:
            if isinstance(error, Answer) and error.error_code in _UNKNOWN:
                message = f"is unknown to the registry {self._url} ({error.error_message})"
                raise UnusableSchemaError(message) from None
            raise self._failure(error) from None
        yield Definition("", schema.schema_str or "")

    def _references(self, kind: str, schema: Any, seen: set[str]) -> Iterator[Definition]:
        """What a schema refers to, each once."""
        for each in schema.references or ():
            if each.name not in seen:
                seen.add(each.name)
                found = self._client.get_version(each.subject, each.version, fmt=_FORMATS[kind])
                yield from self._references(kind, found.schema, seen)
                yield Definition(each.name, found.schema.schema_str or "")

    def _failure(self, error: Exception) -> SchemaRegistryError:
        """The error for an answer that is none."""
        begin = f"The schema registry {self._url}"
        if not isinstance(error, Answer):
            return SchemaRegistryError(
                f"{begin} does not answer ({type(error).__name__}: {error}). No message was"
                " rejected. Check schema_registry.url and, for https, schema_registry.ca_file."
            )
        answer = f"{error.error_message} (HTTP status {error.http_status_code})"
        if error.http_status_code in _REFUSED:
            return SchemaRegistryError(
                f"{begin} refuses the request: {answer}. Check schema_registry.username and its"
                " password, and that this user may read schemas."
            )
        if error.http_status_code in _BUSY:
            return SchemaRegistryError(
                f"{begin} fails: {answer}. No message was rejected. See its log; a restart goes on."
            )
        return SchemaRegistryError(
            f"{begin} answers: {answer}. Check that schema_registry.url is that of an API"
            " compatible with Confluent's, with its path, such as /apis/ccompat/v7 of Apicurio."
        )


def changes_values(schema: Any) -> bool:
    """Whether rules of a schema, as the client has it, make values other ones in messages."""
    rules = schema.rule_set
    if rules is None:
        return False
    return bool(rules.encoding_rules) or any(
        each.kind == RuleKind.TRANSFORM and each.mode in {RuleMode.READ, RuleMode.WRITEREAD}
        for each in rules.domain_rules or ()
    )


def _read(file: Path | None) -> _Unusable | None:
    try:
        return None if file is None else _decode(file.read_bytes())
    except FileNotFoundError:
        return None
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise StateError(
            f"{file} cannot be read: {error}. It records which schemas the registry did not know"
            " in the last epoch. Restore it from a backup, or delete it."
        ) from None
