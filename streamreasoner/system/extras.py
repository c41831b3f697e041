"""What the extras of the package install. Invariant: what needs one is refused before it begins."""

from __future__ import annotations

from contextlib import suppress
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING, Final

from streamreasoner.errors import EnvironmentSetupError

if TYPE_CHECKING:
    from collections.abc import Mapping

_KAFKA: Final = {"confluent_kafka": "confluent-kafka", "kafka": "kafka-python"}
_PIPELINE: Final = {**_KAFKA, "prometheus_client": "prometheus-client", "pyspark": "pyspark"}
_SERVER: Final = {
    "anyio": "anyio",
    "prometheus_client": "prometheus-client",
    "starlette": "starlette",
    "uvicorn": "uvicorn",
}
EXTRAS: Final[Mapping[str, Mapping[str, str]]] = {
    "demo": {**_PIPELINE, **_SERVER},
    "kafka": _KAFKA,
    "objects": {"obstore": "obstore"},
    "pandas": {"pandas": "pandas"},
    "pipeline": _PIPELINE,
    "polars": {"polars": "polars"},
    "schema-registry": {
        "authlib": "authlib",
        "confluent_kafka": "confluent-kafka",
        "fastavro": "fastavro",
        "google.protobuf": "protobuf",
        "httpx2": "httpx2",
    },
    "server": _SERVER,
    "shell": {"prompt_toolkit": "prompt-toolkit"},
}
"""The modules that the package imports only if an extra is installed, and what installs them."""
SERIES: Final[Mapping[str, tuple[str, ...]]] = {"pyspark": ("4.0", "4.1", "4.2")}
"""What other packages of the environment often bring at a version that the extra refuses."""


def require(extra: str, what: str) -> None:
    """Refuse to begin without an extra.

    Args:
        extra: Its name.
        what: What needs it, in the singular.

    Raises:
        EnvironmentSetupError: Something of the extra is not installed, or at another version.
    """
    install = f"Install the extra with: pip install 'streamreasoner[{extra}]'"
    missing = [name for module, name in EXTRAS[extra].items() if not _is_installed(module)]
    if missing:
        *others, last = sorted(missing)
        names = f"{', '.join(others)} and {last}, which are" if others else f"{last}, which is"
        raise EnvironmentSetupError(f"{what} needs {names} not installed. {install}")
    for name in SERIES.keys() & EXTRAS[extra].values():
        with suppress(metadata.PackageNotFoundError):  # spark-submit brings PySpark as files
            found = metadata.version(name)
            if found.rpartition(".")[0] not in SERIES[name]:
                raise EnvironmentSetupError(
                    f"{what} needs {name} {SERIES[name][0]} to {SERIES[name][-1]}, and {found} is "
                    f"installed. {install}"
                )


def _is_installed(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ImportError:
        return False
