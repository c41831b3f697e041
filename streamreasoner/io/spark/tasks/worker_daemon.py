"""What Spark forks its Python workers from. Invariant: a worker finds all that PySpark's finds.

A worker forgets before each task what Python's importers have cached. The importers of an archive
then read its directory again, that of PySpark 16 times, which takes longer than most tasks. No
archive changes while it is in use, and one that Spark adds later gets an importer of its own.
"""

from __future__ import annotations

import zipimport

from pyspark import daemon


def _keep(_: zipimport.zipimporter) -> None:
    """Forget nothing."""


if __name__ == "__main__":
    setattr(zipimport.zipimporter, "invalidate_caches", _keep)  # noqa: B010 - mypy refuses to assign
    daemon.manager()  # type: ignore[no-untyped-call]
