"""The fact in a message of an input or output topic. Invariant: any other text is unchanged."""

from __future__ import annotations

import json

from streamreasoner.errors import DataError
from streamreasoner.lang.ast import bracketed


def fact_of_message(text: str) -> str:
    """Return the fact of a JSON message in the rule language, or any other text unchanged.

    Raises:
        DataError: The text begins like a JSON object but contains no fact.
    """
    if not text.lstrip().startswith("{"):
        return text
    try:
        message = json.loads(text)
    except ValueError as error:
        raise DataError(f"The message is not JSON: {error}.") from None
    match message:
        case {"s": str(s), "p": str(p), "o": str(o)}:
            return f"[{s}, {p}, {o}]"
        case {"predicate": str(predicate), "args": [*args]} if all(
            isinstance(arg, str) for arg in args
        ):
            terms = ", ".join(args)
            if args and predicate == bracketed(len(args)):
                return f"[{terms}]"
            return f"{predicate}({terms})"
        case _:
            raise DataError(
                'The message contains no fact; a fact is {"s": …, "p": …, "o": …} or'
                ' {"predicate": …, "args": […]}, with terms in N-Triples syntax.'
            )
