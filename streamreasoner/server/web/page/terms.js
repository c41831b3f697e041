// Terms and facts as people read them. What is shown is shortened; the whole term is its title.

import { h } from "./dom.js";

const XSD = "http://www.w3.org/2001/XMLSchema#";
const RDF_TYPE = "<http://www.w3.org/1999/02/22-rdf-syntax-ns#type>";
const BARE = new Set(["integer", "decimal", "double", "boolean"].map((name) => XSD + name));
const LITERAL = /^("(?:[^"\\]|\\.)*")(?:\^\^<([^>]*)>|(@[\w-]+))?$/s;
const TRIPLE = /^<<\( (\S+) (\S+) (.+) \)>>$/s;
const PREFIX = /^\s*@prefix\s+([\w.-]*):\s*<([^>]*)>/gm;
const prefixes = new Map([
    ["http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf"],
    ["http://www.w3.org/2000/01/rdf-schema#", "rdfs"],
    ["http://www.w3.org/2002/07/owl#", "owl"],
    [XSD, "xsd"],
]);

/** Take over the prefixes of a program. */
export function learnPrefixes(program) {
    for (const [, name, iri] of program.matchAll(PREFIX)) prefixes.set(iri, name);
}

/** An IRI as its shortened namespace and its local name. */
function iriParts(iri) {
    const end = Math.max(iri.lastIndexOf("#"), iri.lastIndexOf("/")) + 1;
    const namespace = iri.slice(0, end);
    const local = iri.slice(end);
    if (namespace === "" || local === "") return ["", `<${iri}>`];
    if (prefixes.has(namespace)) return [`${prefixes.get(namespace)}:`, local];
    // Of a namespace without a prefix the last part is enough to tell it from others next to it.
    return [`…${namespace.slice(namespace.slice(0, -1).search(/[^/#]*$/))}`, local];
}

function isIri(term) {
    return term.startsWith("<") && !isTriple(term);
}

function isTriple(term) {
    return term.startsWith("<<");
}

/** Subject, predicate and object of a triple term. */
function components(term) {
    return TRIPLE.exec(term).slice(1);
}

/** A term in N-Triples syntax, shortened. */
export function termText(term) {
    if (isIri(term)) return iriParts(term.slice(1, -1)).join("");
    if (isTriple(term)) return `<<( ${components(term).map(termText).join(" ")} )>>`;
    const found = LITERAL.exec(term);
    if (found === null) return term;
    const [, text, datatype, language] = found;
    if (language) return text + language;
    if (datatype === undefined) return text;
    return BARE.has(datatype) ? text.slice(1, -1) : `${text}^^${iriParts(datatype).join("")}`;
}

/** A term as an element. */
export function termElement(term) {
    if (isIri(term)) {
        const [namespace, local] = iriParts(term.slice(1, -1));
        return h(
            "span",
            { class: "term iri", title: term },
            h("span", { class: "namespace" }, namespace),
            h("wbr"),
            local,
        );
    }
    if (isTriple(term)) {
        const parts = components(term).flatMap((part) => [termElement(part), " "]);
        return h("span", { class: "term", title: term }, "<<( ", parts, ")>>");
    }
    const kind = term.startsWith('"') ? "literal" : "other";
    return h("span", { class: `term ${kind}`, title: term }, termText(term));
}

/** A fact as the rule language has it, with whole terms. */
export function factText(predicate, args) {
    const terms = args.join(", ");
    return isBracketed(predicate, args) ? `[${terms}]` : `${predicate}(${terms})`;
}

function isBracketed(predicate, args) {
    return (
        (predicate === "triple" && args.length === 3) || (predicate === "quad" && args.length === 4)
    );
}

/** A fact as an element, with shortened terms. */
export function factElement(predicate, args) {
    const bracketed = isBracketed(predicate, args);
    const parts = args.flatMap((term, index) => [
        index === 0 ? "" : bracketed ? " " : ", ",
        bracketed && index === 1 && term === RDF_TYPE
            ? h("span", { class: "term iri", title: term }, "a")
            : termElement(term),
    ]);
    return h("span", { class: "fact" }, bracketed ? parts : [`${predicate}(`, ...parts, ")"]);
}

/** The fragment of the view of a fact. */
export function factLink(text) {
    return `#fact?${new URLSearchParams({ fact: text })}`;
}
