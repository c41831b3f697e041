"""What is wrong with a text, in the words of users. Invariant: a reason is a sentence."""

from __future__ import annotations

import re

FILE_BASE = " Give an IRI to resolve it against: --base, or base= in Python."
"""What to do about a relative IRI in a document that has no address."""
MESSAGE_BASE = " Give an IRI to resolve it against, for the topic: input.bases."
"""The same for one in a message."""
_PLACE = re.compile(r"Parser error at [^:]*: ")
_RELATIVE = re.compile(r"(?:'(?P<iri>[^']*)'.*)?No scheme found in an absolute IRI")
_REMOTE = "No LoadDocumentCallback"
_TERMS = {
    "XML namespaces are required in RDF/XML": "This is not RDF/XML: its root element has no"
    " namespace, but in RDF/XML it is usually rdf:RDF",
}


class MalformedError(Exception):
    """Raised by readers of documents.

    Args:
        reason: A sentence.
        line: The line of the mistake, from 1.
        column: Its column, from 1.
        is_relative: Whether it is an IRI that is relative.
    """

    def __init__(
        self,
        reason: str,
        line: int | None = None,
        column: int | None = None,
        *,
        is_relative: bool = False,
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.line, self.column = line, column
        self.is_relative = is_relative

    @property
    def after_name(self) -> str:
        """The place, as it follows the name of a file."""
        return "".join(f":{each}" for each in (self.line, self.column) if each is not None)

    @property
    def sentence_place(self) -> str:
        """The place, as a reason begins."""
        if self.line is None:
            return ""
        column = "" if self.column is None else f", column {self.column}"
        return f"Line {self.line}{column}: "


def relative_iri(iri: str, *place: int | None) -> MalformedError:
    """A relative IRI where there is nothing to resolve it against."""
    shown = f"{iri[:100]!r} " if iri else ""
    return MalformedError(
        f"The IRI {shown}is relative, and there is no base.", *place, is_relative=True
    )


def of_parser(
    error: SyntaxError, remote: str = "", place: tuple[int, int] | None = None
) -> MalformedError:
    """A mistake that pyoxigraph has found.

    Args:
        error: As pyoxigraph tells it.
        remote: The address of a context that is not in the document.
        place: Line and column, if they are known better.
    """
    line, column = place or (error.lineno, error.offset)
    if (relative := _RELATIVE.search(error.msg)) is not None:
        return relative_iri(relative["iri"] or "", line, column)
    if _REMOTE in error.msg:
        shown = f"The context {remote[:200]!r}" if remote else "A context"
        return MalformedError(
            f"{shown} is not in the document, and nothing is loaded from elsewhere. Write the"
            " context into the document.",
            line,
            column,
        )
    text = _PLACE.sub("", error.msg, count=1).strip().rstrip(".")
    text = _TERMS.get(text, text) or "The text is malformed"
    return MalformedError(f"{text[:1].upper()}{text[1:]}.", line, column)
