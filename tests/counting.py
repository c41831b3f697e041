"""Rules that count up to what is asked for: each request decides how long its evaluation takes."""

from __future__ import annotations

RULES = """
upto(0, ?l) :- ask(?l) .
upto(?m, ?l) :- upto(?n, ?l), ?n < ?l, ?m = ?n + 1 .
@output upto .
"""
_INTEGER = '"{}"^^<http://www.w3.org/2001/XMLSchema#integer>'.format


def expected(limits):
    """The derived facts of requests."""
    return {("upto", (_INTEGER(n), _INTEGER(limit))) for limit in limits for n in range(limit + 1)}
