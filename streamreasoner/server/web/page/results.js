// Answers to queries as values: solutions of SELECT, the truth of ASK, triples of CONSTRUCT.

const LINE = /^(<[^>]*>|_:\S+)\s+(<[^>]*>)\s+(.+?)\s*\.$/;

/** An answer of `/sparql` as {boolean} or {variables, rows}; terms in N-Triples syntax. */
export function readAnswer({ text, type }) {
    if (type === "application/n-triples") {
        const rows = text
            .split("\n")
            .map((line) => LINE.exec(line)?.slice(1))
            .filter(Boolean);
        return { variables: ["s", "p", "o"], rows, triples: true };
    }
    const found = JSON.parse(text);
    if ("boolean" in found) return { boolean: found.boolean };
    const variables = found.head.vars;
    const rows = found.results.bindings.map((row) =>
        variables.map((name) => (row[name] ? ntriples(row[name]) : null)),
    );
    return { variables, rows, triples: variables.join(" ") === "s p o" };
}

/** A term of SPARQL's JSON results in N-Triples syntax. */
function ntriples(term) {
    if (term.type === "uri") return `<${term.value}>`;
    if (term.type === "bnode") return `_:${term.value}`;
    if (term.type === "triple")
        return `<<( ${["subject", "predicate", "object"].map((part) => ntriples(term.value[part])).join(" ")} )>>`;
    const escaped = term.value.replace(
        /["\\\n\r]/g,
        (found) => ({ '"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r" })[found],
    );
    const direction = term["its:dir"] ? `--${term["its:dir"]}` : "";
    const language = term["xml:lang"];
    return `"${escaped}"${language ? `@${language}${direction}` : term.datatype ? `^^<${term.datatype}>` : ""}`;
}
