"""Histograms: what lies in which bucket, and sums that only grow."""

from __future__ import annotations

from actors.histogram import Histogram


def test_a_bound_belongs_to_its_own_bucket():
    histogram = Histogram((1.0, 2.5))
    for value in (0.0, 1.0, 1.1, 2.5, 2.6, 99.0):
        histogram.add(value)

    seen = histogram.statistics()
    assert seen.counts == (2, 2, 2)
    assert seen.total == 106.2
    assert seen.cumulative() == (("1", 2), ("2.5", 4), ("+Inf", 6))


def test_an_empty_histogram_has_all_its_buckets():
    assert Histogram((0.05, 10.0)).statistics().cumulative() == (("0.05", 0), ("10", 0), ("+Inf", 0))
