"""XML as pyoxigraph reads all of it. Invariant: the same document, and nothing is fetched.

pyoxigraph's reader of RDF/XML takes UTF-8 only, takes a document that is cut off, does not know
where a mistake is, and leaves XML literals as they are written. Expat reads any document, refuses
what is not well-formed, limits how far entities expand, and knows the place. So its events are
written as plain XML again: in UTF-8, without DOCTYPE, entities, comments or processing
instructions, and with each XML literal in canonical form, as the text of a typed literal. Base
directions, which pyoxigraph takes from the element itself only, are written on each element that
inherits them (RDF 1.2 XML Syntax, "Element Event").
"""

from __future__ import annotations

import codecs
import re
from collections import deque
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, TypeAlias
from xml.etree.ElementTree import canonicalize
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

from streamreasoner.errors import TermError
from streamreasoner.io.formats.reading.graphs.xml_scope import PARSE_TYPE, Attributes, Scope
from streamreasoner.rdf import nesting
from streamreasoner.rdf.iris import resolve
from streamreasoner.rdf.vocabulary import RDF_XML_LITERAL

if TYPE_CHECKING:
    import io

_READ_BYTES = 1 << 16
_LONGEST_DECLARATION = 1 << 10
_DECLARATION = re.compile(r"<\?xml[ \t\r\n][^>]*\?>")
_PLAIN_DECLARATION = '<?xml version="1.0" standalone="yes"?>'
"""Standalone: an entity that only an external DTD may declare is an error, not nothing."""
_ENCODING = re.compile(rb"""<\?xml[ \t\r\n][^>]*?encoding[ \t\r\n]*=[ \t\r\n]*["']([\w.:-]+)""")
_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
    (b"<\0?\0", "utf-16-le"),
    (b"\0<\0?", "utf-16-be"),
)
_NOT_LITERAL = ("Resource", "Collection", "Triple")
NO_LANGUAGE = "x-no-no-language"
"""What pyoxigraph reads in place of an empty `xml:lang`, which it refuses: a tag that none has."""
_OWL = "http://www.w3.org/2002/07/owl#"
_AMPLIFICATION = expat.errors.codes.get(
    "limit on input amplification factor (from DTD and entities) breached"
)
_ROOT = "x"

Place: TypeAlias = "tuple[int, int]"
"""Line and column, from 1."""


class MalformedXmlError(Exception):
    """Raised while a stream is read, with the place and the reason, a sentence."""

    def __init__(self, place: Place, reason: str) -> None:
        super().__init__(reason)
        self.place = place
        self.reason = reason


class PlainXml:
    """A stream of plain XML, a piece at a time, each with its place in the document.

    Args:
        stream: The document.
        base: Its base, which a relative `xml:base` is resolved against.
    """

    def __init__(self, stream: io.RawIOBase, base: str | None) -> None:
        self.place: Place = (1, 1)
        """Where the piece begins that was read last."""
        self._stream = stream
        self._pieces: deque[tuple[Place, bytes]] = deque()
        self._ended = False
        self._decoder: codecs.IncrementalDecoder | None = None
        self._encoding = ""
        self._shift = 0
        self._scopes = [Scope({}, base)]
        self._literal: list[str] | None = None
        self._literal_depth = 0
        self._parser = expat.ParserCreate()
        self._parser.buffer_text = True
        self._parser.ordered_attributes = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.CommentHandler = self._comment
        self._parser.ProcessingInstructionHandler = self._instruction
        self._parser.ExternalEntityRefHandler = self._external

    def read(self, size: int = -1) -> bytes:
        """The next piece, at most *size* bytes of it; empty at the end.

        Raises:
            MalformedXmlError: The document is not well-formed XML, or dangerous.
        """
        while not self._pieces:
            if self._ended:
                return b""
            self._feed()
        self.place, piece = self._pieces.popleft()
        if 0 <= size < len(piece):
            self._pieces.appendleft((self.place, piece[size:]))
            return piece[:size]
        return piece

    def _feed(self) -> None:
        """Parse the next bytes of the document."""
        chunk = self._stream.read(_READ_BYTES) or b""
        text = self._decoded(chunk) if self._decoder else self._begun(chunk)
        self._ended = not chunk
        try:
            self._parser.Parse(text, self._ended)
        except expat.ExpatError as error:
            place = (error.lineno, error.offset + 1 - (self._shift if error.lineno == 1 else 0))
            reason = expat.ErrorString(error.code)
            if error.code == _AMPLIFICATION:
                reason = "its entities expand to much more than the document"
            raise MalformedXmlError(place, f"The XML is not well-formed: {reason}.") from None

    def _begun(self, chunk: bytes) -> str:
        """The first text, with a declaration that says what is parsed."""
        while len(chunk) < _LONGEST_DECLARATION and (more := self._stream.read(_READ_BYTES)):
            chunk += more
        marked = [name for mark, name in _MARKS if chunk.startswith(mark)]
        declared = _ENCODING.match(chunk)
        self._encoding = marked[0] if marked else declared[1].decode() if declared else "utf-8"
        try:
            "".encode(self._encoding)  # refuses codecs that are not of texts
            self._decoder = codecs.getincrementaldecoder(self._encoding)()
        except LookupError:
            raise self._malformed(f"The encoding {self._encoding!r} is not known.") from None
        text = self._decoded(chunk)
        found = _DECLARATION.match(text)
        if found is None:
            self._shift = len(_PLAIN_DECLARATION)
            return _PLAIN_DECLARATION + text
        return _PLAIN_DECLARATION + "\n" * found[0].count("\n") + text[found.end() :]

    def _decoded(self, chunk: bytes) -> str:
        assert self._decoder is not None  # noqa: S101 - it is there from the first text on
        try:
            return self._decoder.decode(chunk, final=not chunk)
        except UnicodeError as error:
            reason = getattr(error, "reason", str(error))
            raise self._malformed(f"The text is not {self._encoding}: {reason}.") from None

    def _malformed(self, reason: str) -> MalformedXmlError:
        return MalformedXmlError(self._here(), reason)

    def _here(self) -> Place:
        line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
        return line, column - self._shift if line == 1 else column

    def _write(self, text: str) -> None:
        if self._literal is None:
            self._pieces.append((self._here(), text.encode()))
        else:
            self._literal.append(text)

    def _start(self, name: str, attributes: list[str]) -> None:
        pairs = list(zip(attributes[::2], attributes[1::2], strict=True))
        if len(self._scopes) > nesting.DEEPEST:
            raise self._malformed(f"The XML cannot be read: {nesting.TOO_DEEP}.")
        if len(self._scopes) == 1:
            self._check_root(name, dict(pairs))
        if self._literal is not None:
            self._scopes.append(self._scopes[-1].in_literal(pairs))
            self._write(_tag(name, pairs))
            return
        scope = self._scopes[-1].inner(name, pairs)
        self._scopes.append(scope)
        if mistake := scope.mistake(pairs):
            raise self._malformed(mistake)
        pairs = [self._with_base(*pair) for pair in scope.with_direction(pairs)]
        pairs = [
            (key, value or NO_LANGUAGE) if key == "xml:lang" else (key, value)
            for key, value in pairs
        ]
        if (found := self._literal_attribute(pairs)) is None:
            self._write(_tag(name, pairs))
        else:
            prefix = found.partition(":")[0]
            kept = [pair for pair in pairs if pair[0] != found]
            self._write(_tag(name, [*kept, (f"{prefix}:datatype", RDF_XML_LITERAL)]))
            self._literal, self._literal_depth = [], len(self._scopes)

    def _with_base(self, name: str, value: str) -> tuple[str, str]:
        """An attribute; a base of elements may be relative (XML Base, section 4.2)."""
        if name == "xml:base" and (base := self._scopes[-2].base) is not None:
            with suppress(TermError):
                value = resolve(value, base)
                self._scopes[-1] = replace(self._scopes[-1], base=value)
        return name, value

    def _check_root(self, name: str, attributes: dict[str, str]) -> None:
        """Refuse a document that RDF/XML would take for something else."""
        prefix, _, local = name.rpartition(":")
        namespace = attributes.get(f"xmlns:{prefix}" if prefix else "xmlns")
        if namespace == _OWL and local == "Ontology" and "ontologyIRI" in attributes:
            raise self._malformed(
                "The document is OWL/XML, which is not RDF. Convert it, for example with Protégé or"
                " with ROBOT: robot convert --input FILE --output FILE.ttl"
            )

    def _literal_attribute(self, pairs: Attributes) -> str | None:
        """The name of the attribute that makes the content a literal, if there is one."""
        for name, value in pairs:
            if self._scopes[-1].expanded(name) == PARSE_TYPE and value not in _NOT_LITERAL:
                return name
        return None

    def _end(self, name: str) -> None:
        depth = len(self._scopes)
        self._scopes.pop()
        if self._literal is not None and depth == self._literal_depth:
            content, self._literal = "".join(self._literal), None
            scope = [*self._scopes[-1].names.items()]
            written = canonicalize(f"{_tag(_ROOT, scope)}{content}</{_ROOT}>", with_comments=True)
            text = written[written.index(">") + 1 : written.rindex("<")]
            self._write(_escaped(text))
        self._write(f"</{name}>")

    def _text(self, text: str) -> None:
        self._write(_escaped(text))

    def _comment(self, text: str) -> None:
        if self._literal is not None:
            self._literal.append(f"<!--{text}-->")

    def _instruction(self, target: str, data: str) -> None:
        if self._literal is not None:
            self._literal.append(f"<?{target} {data}?>" if data else f"<?{target}?>")

    def _external(
        self, context: str, base: str | None, system: str | None, public: str | None
    ) -> int:
        del context, base, public
        raise self._malformed(
            f"The entity at {system!r} is outside of the document, and nothing is loaded from"
            " elsewhere. Write its content into the document."
        )


def _tag(name: str, attributes: Attributes) -> str:
    return f"<{name}{''.join(f' {key}={quoteattr(value)}' for key, value in attributes)}>"


def _escaped(text: str) -> str:
    return escape(text, {"\r": "&#13;"})
