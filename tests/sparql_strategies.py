"""Random queries in SPARQL, and epochs of triples and quads that they are about."""

from __future__ import annotations

from hypothesis import strategies as st

EX = "http://example.org/"
XSD = "http://www.w3.org/2001/XMLSchema#"
PREFIXES = f"PREFIX ex: <{EX}>\nPREFIX xsd: <{XSD}>\n"
NODES = tuple(f"ex:{name}" for name in "abcd")
VALUES = ("0", "1", "2", "1.5", '"x"', '"Xy"', '"x"@en', "true")
PREDICATES = ("ex:p", "ex:q", "ex:r")
GRAPHS = ("ex:g", "ex:h")
TRIPLE_TERMS = (
    *("<<( ex:a ex:p ex:b )>>", "<<( ex:b ex:q 1 )>>", "<<( ex:b ex:p ex:b )>>"),
    "<<( ex:a ex:p <<( ex:b ex:q 1 )>> )>>",
)
REIFIES = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#reifies>"
# Engines disagree on paths of no steps from terms that no triple has, and on graphs without any.
KNOWN = (
    *((node, "ex:k", value, "") for node in NODES for value in (*NODES[:1], *VALUES)),
    *(("ex:a", "ex:k", "ex:a", graph) for graph in GRAPHS),
)
EPOCHS = st.lists(
    st.lists(
        st.tuples(
            st.one_of(
                st.tuples(
                    st.sampled_from(NODES),
                    st.sampled_from(PREDICATES),
                    st.sampled_from((*NODES, *NODES, *VALUES)),
                    st.sampled_from(("", "", "", *GRAPHS)),
                ),
                st.tuples(
                    st.sampled_from(NODES),
                    st.sampled_from((REIFIES, "ex:p")),
                    st.sampled_from(TRIPLE_TERMS),
                    st.sampled_from(("", "", "", *GRAPHS)),
                ),
            ),
            st.booleans(),
        ),
        min_size=1,
        max_size=10,
    ),
    min_size=1,
    max_size=3,
)
_VARIABLES = ("?x", "?y", "?z", "?w")
_NUMBERS = ("0", "1", "1.5", "?x", "?y", "?z", "(?x + 1)", "(?y * ?z)", "-?x")
_DEPTH = 3


class _Text:
    """Writes parts of a query by drawing choices."""

    def __init__(self, draw):
        self._draw = draw
        self._invented = 0
        self._counted = 0
        self._graphs = 0

    def one(self, *choices):
        """One of some texts."""
        return self._draw(st.sampled_from(choices))

    def number(self, least, most):
        """A number of parts."""
        return self._draw(st.integers(least, most))

    def variable(self):
        """A variable that other parts may have, too."""
        return self.one(*_VARIABLES)

    def new(self):
        """A variable that no other part has."""
        self._invented += 1
        return f"?n{self._invented}"

    def term(self):
        """A variable or a constant."""
        return self.one(*_VARIABLES, *_VARIABLES, *NODES, *VALUES, TRIPLE_TERMS[-1])

    def path(self, depth=2):
        """A property path."""
        # Oxigraph takes the pairs of `a|b` once, where the specification has a union.
        # In a graph, it misses paths of no steps from constants.
        steps = "+" if self._graphs else "?*+"
        kind = self.one(*"ppp^/", *steps, *("" if self._counted else "!|")) if depth else "p"
        match kind:
            case "p":
                return self.one(*PREDICATES)
            case "^":
                return f"^{self.one(*PREDICATES)}"
            case "!":
                return self.one("!ex:p", "!(ex:p|ex:k)", "!^ex:p", "!(ex:p|^ex:q|^ex:k)")
            case "/" | "|":
                return f"({self.path(depth - 1)}{kind}{self.path(depth - 1)})"
            case _:
                return f"({self.path(depth - 1)}){kind}"

    def triple(self):
        """A triple pattern, of a triple term or not."""
        match self.one("plain", "plain", "plain", "quoted", "reified", "annotated"):
            case "quoted":
                subject = self.one(*_VARIABLES, *NODES)
                return f"{subject} {self.one('ex:p', REIFIES, '^ex:q', 'ex:p+')} {self.quoted()} ."
            case "reified":
                reifier = self.one("", "~ ", f"~ {self.variable()}", "~ ex:a")
                return f"<< {self.parts()} {reifier} >> ."
            case "annotated":
                annotation = self.one("", f"{{| ex:q {self.variable()} |}}")
                return f"{self.parts()} ~ {self.variable()} {annotation} ."
            case _:
                return self.plain()

    def parts(self):
        """Subject, predicate and object."""
        subject = self.one(*_VARIABLES, *_VARIABLES, *NODES)
        value = self.one(*_VARIABLES, *_VARIABLES, *NODES, *VALUES)
        return f"{subject} {self.one(*PREDICATES, '?pred')} {value}"

    def quoted(self):
        """A triple term."""
        inner = f"?w ex:p <<( {self.parts()} )>>"
        return f"<<( {self.one(self.parts(), self.parts(), inner)} )>>"

    def plain(self):
        """A triple pattern without a triple term."""
        subject = self.one(*_VARIABLES, *_VARIABLES, *NODES, "[]")
        predicate = self.one(*PREDICATES, *PREDICATES, "?pred", "path", "path")
        value = self.one(*_VARIABLES, *_VARIABLES, *_VARIABLES, *NODES, *VALUES)
        return f"{subject} {self.path() if predicate == 'path' else predicate} {value} ."

    def condition(self, depth, nesting=2):
        """A condition in parentheses."""
        kind = self.one("simple", "simple", "&&", "||", "!") if nesting else "simple"
        match kind:
            case "&&" | "||":
                left, right = (self.condition(depth, nesting - 1) for _ in range(2))
                return f"({left} {kind} {right})"
            case "!":
                return f"(!{self.condition(depth, nesting - 1)})"
            case _:
                return f"({self._simple_condition(depth)})"

    def _simple_condition(self, depth):  # noqa: PLR0911 - one for each kind
        variable, operator = self.variable(), self.one("<", "<=", ">", ">=", "=", "!=")
        match self.one(*(("exists",) * 3 if depth else ()), *"ocbtsmive"):
            case "exists":
                return f"{self.one('EXISTS', 'NOT EXISTS')} {self.group(depth - 1)}"
            case "o":
                return f"{self.one(*_NUMBERS)} {operator} {self.one(*_NUMBERS)}"
            case "c":
                return f"{self.term()} {self.one('=', '!=')} {self.term()}"
            case "b":
                return f"bound({variable})"
            case "t":
                kind = self.one("isIRI", "isBlank", "isLiteral", "isNumeric", "isTRIPLE")
                return f"{kind}({variable})"
            case "s":
                return f'{self.one("CONTAINS", "STRSTARTS", "STRENDS")}({variable}, "x")'
            case "m":
                return f'REGEX({variable}, "^x", "{self.one("i", "s", "mi", "")}")'
            case "i":
                return f"{variable} {self.one('IN', 'NOT IN')} ({self.term()}, {self.term()})"
            case "v":
                # Not of texts with a language: Oxigraph has no truth value for them.
                return f'lang({variable}) = "" && {variable}'
            case _:
                return f"{self.expression()} = {self.term()}"

    def expression(self):
        """An expression."""
        variable, other = self.variable(), self.variable()
        return self.one(
            self.one(*_NUMBERS),
            self.term(),
            f"str({variable})",
            f"ucase({variable})",
            f'concat({variable}, "!")',
            f"substr({variable}, 2, 1)",
            f"strlen({variable})",
            f"datatype({variable})",
            f"lang({variable})",
            f"{self.one('SUBJECT', 'PREDICATE', 'OBJECT')}({variable})",
            f"TRIPLE(ex:a, ex:p, {variable})",
            f"({variable} > 0)",
            f"abs({variable})",
            f"COALESCE({variable}, {other}, 0)",
            f"COALESCE({variable} + 1, strlen({other}), {other})",
            f"IF({variable} > 0, {other}, {variable})",
            f"xsd:{self.one('integer', 'decimal', 'double', 'boolean')}({variable})",
            f'replace({variable}, "X", "z", "i")',
            f'strbefore({variable}, "y")',
            f"strlang({variable}, 'en')",
        )

    def values(self):
        """Inline data."""
        names = [self.variable(), *([self.new()] if self.one("", "two") else [])]
        rows = (
            " ".join(self.one(*NODES, *VALUES, "UNDEF") for _ in names)
            for _ in range(self.number(0, 3))
        )
        return f"VALUES ({' '.join(names)}) {{ {' '.join(f'({row})' for row in rows)} }}"

    def group(self, depth):
        """A group graph pattern."""
        parts = [self.triple()]
        if not self._graphs and not self.one("", "some", "some", "some"):
            parts = []
        parts += (self._part(depth) for _ in range(self.number(0, 3)))
        return f"{{ {' '.join(parts)} }}"

    def _part(self, depth):  # noqa: C901, PLR0911 - one for each kind
        simple = ("triple", "triple", "filter", "values", "bind")
        nested = ("optional", "optional", "minus", "union", "graph", "group", "select", "aggregate")
        if self._graphs:
            # Oxigraph leaves the graph unbound where a part of it has no triple pattern.
            nested = ("optional", "optional", "minus", "union", "group")
        match self.one(*simple, *(nested if depth else ())):
            case "triple":
                return self.triple()
            case "filter":
                return f"FILTER {self.condition(depth)}"
            case "values":
                return self.values()
            case "bind":
                return f"BIND({self.expression()} AS {self.new()})"
            case "union":
                return f"{self.group(depth - 1)} UNION {self.group(depth - 1)}"
            case "graph":
                self._graphs += 1
                text = f"GRAPH {self.one('?g', *GRAPHS)} {self.group(depth - 1)}"
                self._graphs -= 1
                return text
            case "group":
                return self.group(depth - 1)
            case "select":
                names = " ".join({self.variable(): None, self.variable(): None})
                return f"{{ SELECT {self.one('', 'DISTINCT ')}{names} {self.group(depth - 1)} }}"
            case "aggregate":
                return f"{{ {self.grouped(depth - 1)} }}"
            case kind:
                return f"{kind.upper()} {self.group(depth - 1)}"

    def aggregate(self):
        """An aggregate on which engines agree: no MIN of unlike terms, no COUNT(DISTINCT *)."""
        variable = self.one("?x", "?y", "?z")
        return self.one(
            "COUNT(*)",
            f"COUNT({variable})",
            f"COUNT(DISTINCT {variable})",
            f"SUM({variable})",
            f"SUM(DISTINCT {variable})",
            f"AVG({variable})",
            f"SUM({variable} + 1)",
            f"strlen(GROUP_CONCAT(str({variable}); SEPARATOR=', '))",
        )

    def grouped(self, depth):
        """A grouped SELECT."""
        keys = list({self.variable(): None for _ in range(self.number(0, 2))})
        aggregates = [self.aggregate() for _ in range(self.number(1, 2))]
        columns = [*keys, *(f"({each} AS {self.new()})" for each in aggregates)]
        self._counted += 1
        text = f"SELECT {' '.join(columns)} WHERE {self.group(depth)}"
        self._counted -= 1
        if keys:
            text += f" GROUP BY {' '.join(keys)}"
        return text + self.one("", f" HAVING ({aggregates[0]} > 1)")


@st.composite
def queries(draw):
    """A SELECT or ASK with its prefixes."""
    text = _Text(draw)
    match text.one("SELECT", "SELECT", "SELECT DISTINCT", "grouped", "ASK"):
        case "grouped":
            return PREFIXES + text.grouped(_DEPTH - 1)
        case "ASK":
            return f"{PREFIXES}ASK {text.group(_DEPTH)}"
        case form:
            names = "?x ?y ?z ?w ?g ?pred ?n1 ?n2"
            return f"{PREFIXES}{form} {names} WHERE {text.group(_DEPTH)}"
