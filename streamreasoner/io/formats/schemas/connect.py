"""The way to a schema registry. Invariant: its client is imported only when there is one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from streamreasoner.system.extras import require

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.config.registry import RegistryConfig
    from streamreasoner.io.formats.schemas.client import Registry


def connect(config: RegistryConfig, file: Path | None = None) -> Registry:
    """The registry of a configuration; see `Registry`.

    Raises:
        EnvironmentSetupError: A package of the extra is not installed.
        SchemaRegistryError: The registry does not answer as one.
    """
    require("schema-registry", "A message in Avro or Protobuf")
    module = import_module(f"{__name__.rpartition('.')[0]}.client")
    return cast("Registry", module.Registry(config, file))
