"""The way to a schema registry. Invariant: its client is imported only when there is one."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, cast

from streamreasoner.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from pathlib import Path

    from streamreasoner.config_registry import RegistryConfig
    from streamreasoner.io.formats.schemas.client import Registry

EXTRA = "streamreasoner[schema-registry]"
_MODULE = f"{__name__.rpartition('.')[0]}.client"


def connect(config: RegistryConfig, file: Path | None = None) -> Registry:
    """The registry of a configuration; see `Registry`.

    Raises:
        EnvironmentSetupError: A package of the extra is not installed.
        SchemaRegistryError: The registry does not answer as one.
    """
    try:
        module = import_module(_MODULE)
    except ModuleNotFoundError as error:
        raise EnvironmentSetupError(
            f"Messages in Avro and Protobuf need the package {error.name}, which is not installed."
            f" Install it with: pip install '{EXTRA}'"
        ) from None
    return cast("Registry", module.Registry(config, file))
