// Queries to begin with, and those that were asked before, which this browser alone remembers.

const KEY = "streamreasoner-queries";
const MOST = 20;
const MOST_CHARACTERS = 4000;

export const EXAMPLES = {
    "some triples": "SELECT ?s ?p ?o WHERE { ?s ?p ?o } LIMIT 25",
    "classes by number of members":
        "SELECT ?class (COUNT(?x) AS ?members)\nWHERE { ?x a ?class }\nGROUP BY ?class ORDER BY DESC(?members) LIMIT 25",
    "properties by number of triples":
        "SELECT ?p (COUNT(*) AS ?triples)\nWHERE { ?s ?p ?o }\nGROUP BY ?p ORDER BY DESC(?triples) LIMIT 25",
    "a graph":
        "CONSTRUCT { ?s ?p ?o }\nWHERE { ?s ?p ?o FILTER(isIRI(?o) && ?s != ?o) }\nLIMIT 24",
    "whether there is a triple": "ASK { ?s ?p ?o }",
};

/** The queries that were answered, the last one first. */
export function earlier() {
    try {
        const found = JSON.parse(localStorage.getItem(KEY));
        return Array.isArray(found) ? found.filter((text) => typeof text === "string") : [];
    } catch {
        return []; // a browser may keep nothing
    }
}

/** Remember a query that was answered. */
export function remember(query) {
    if (Object.values(EXAMPLES).includes(query) || query.length > MOST_CHARACTERS) return;
    const kept = [query, ...earlier().filter((text) => text !== query)].slice(0, MOST);
    try {
        localStorage.setItem(KEY, JSON.stringify(kept));
    } catch {
        // Nothing is kept then.
    }
}
