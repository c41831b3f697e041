"""A histogram fed one batch at a time. Invariant: the cost is per batch, not per message."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import numpy as np
from prometheus_client.core import HistogramMetricFamily
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray
    from prometheus_client.core import Metric


class BatchHistogram(Collector):
    """A Prometheus histogram fed with arrays.

    Args:
        name: Name of the metric.
        documentation: Its help text.
        bounds: Upper bounds of the buckets, ascending, without infinity.
    """

    def __init__(self, name: str, documentation: str, bounds: Sequence[float]) -> None:
        self._name = name
        self._documentation = documentation
        self._bounds = np.array(bounds, np.float64)
        self._counts = np.zeros(len(bounds) + 1, np.int64)
        self._sum = 0.0
        self._lock = threading.Lock()

    def observe(self, values: NDArray[np.float64]) -> None:
        """Count every value in its bucket; an upper bound is inclusive."""
        buckets = np.searchsorted(self._bounds, values, side="left")
        counts = np.bincount(buckets, minlength=len(self._counts))
        total = float(values.sum())
        with self._lock:
            self._counts += counts
            self._sum += total

    def collect(self) -> Iterator[Metric]:
        """The metric as Prometheus expects it: cumulative counts and the sum."""
        with self._lock:
            cumulative = np.cumsum(self._counts).tolist()
            total = self._sum
        names = [*map(str, self._bounds.tolist()), "+Inf"]
        family = HistogramMetricFamily(self._name, self._documentation)
        family.add_metric([], list(zip(names, cumulative, strict=True)), sum_value=total)
        yield family
