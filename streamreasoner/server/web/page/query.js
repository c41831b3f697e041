// The view of one-off questions in SPARQL.

import { address, ask } from "./ask.js";
import { EXAMPLES, earlier, remember } from "./queries.js";
import { count, duration, h, quantity, table } from "./dom.js";
import { graphFigure } from "./graph.js";
import { readAnswer } from "./results.js";
import { factLink, factText, learnPrefixes, termElement } from "./terms.js";

const ACCEPT = "application/sparql-results+json, application/n-triples;q=0.9";
const ROWS = 500;
const ENDINGS = { turtle: "ttl", ntriples: "nt", "rdf-xml": "rdf", "json-ld": "jsonld" };
const FORMATS = {
    table: { csv: "CSV", tsv: "TSV", json: "JSON", xml: "XML" },
    graph: { turtle: "Turtle", ntriples: "N-Triples", "rdf-xml": "RDF/XML", "json-ld": "JSON-LD" },
};

export class QueryView {
    #root;
    #form;
    #asking = null;
    #ran = null;

    constructor(root) {
        this.#root = root;
        this.#form = root.querySelector("form");
        this.#form.addEventListener("submit", (event) => {
            event.preventDefault();
            this.#run();
        });
        this.#form.elements.query.addEventListener("keydown", (event) => {
            if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
            event.preventDefault();
            this.#run();
        });
        this.#form.elements.earlier.addEventListener("change", ({ target }) => {
            if (target.value === "") return;
            this.#form.elements.query.value = target.value;
            this.#run();
        });
    }

    /** Shows the box; the query of a link is run, as a reader of the link expects its answer. */
    show(parameters) {
        const { query } = this.#form.elements;
        const linked = parameters.get("query");
        this.#offer();
        if (linked !== null && linked !== this.#ran) {
            query.value = linked;
            this.#run();
        } else if (query.value === "") query.value = Object.values(EXAMPLES)[0];
    }

    #offer() {
        const option = (name, value) => h("option", { value }, name);
        const group = (label, options) =>
            options.length ? h("optgroup", { label }, options) : null;
        const before = earlier().map((text) => option(text.replace(/\s+/g, " "), text));
        const examples = Object.entries(EXAMPLES).map(([name, text]) => option(name, text));
        this.#form.elements.earlier.replaceChildren(
            ...[option("choose …", ""), group("Examples", examples), group("Earlier", before)].filter(
                Boolean,
            ),
        );
    }

    async #run() {
        const query = (this.#ran = this.#form.elements.query.value);
        this.#asking?.abort();
        const asking = (this.#asking = new AbortController());
        const counted = this.#root.querySelector(".count");
        history.replaceState(null, "", `#query?${new URLSearchParams({ query })}`);
        counted.textContent = "asking …";
        const began = performance.now();
        try {
            const found = await ask("sparql", {
                body: query,
                type: "application/sparql-query",
                accept: ACCEPT,
                signal: asking.signal,
            });
            if (asking !== this.#asking) return;
            learnPrefixes(query.replace(/\bPREFIX\b/gi, "@prefix"));
            const answer = readAnswer(found);
            const size = "boolean" in answer ? "" : `${quantity(answer.rows.length, "row")}, `;
            counted.textContent = `${size}epoch ${found.epoch}, ${duration((performance.now() - began) / 1000)}`;
            remember(query);
            this.#offer();
            this.#show(answer);
            this.#download(query, answer, found.type);
        } catch (error) {
            if (error.name === "AbortError" || asking !== this.#asking) return;
            counted.textContent = "";
            this.#root.querySelector(".downloads").hidden = true;
            this.#place(null, h("pre", { class: "problem", role: "alert" }, error.message));
        }
    }

    #show(answer) {
        if ("boolean" in answer)
            return this.#place(null, h("p", { class: "truth" }, answer.boolean ? "true" : "false"));
        const { variables, rows, triples } = answer;
        const header = triples ? [...variables, ""] : variables.map((name) => `?${name}`);
        const cells = rows.slice(0, ROWS).map((row) => {
            const terms = row.map((term) => (term === null ? "" : termElement(term)));
            const fact = triples && !row.includes(null) ? factText("triple", row) : null;
            return fact === null
                ? terms
                : [...terms, h("a", { href: factLink(fact), "aria-label": `why: ${fact}` }, "why")];
        });
        const shown =
            rows.length > ROWS
                ? h(
                      "p",
                      { class: "note" },
                      `The first ${count(ROWS)} of ${count(rows.length)} rows are shown.`,
                  )
                : null;
        const drawn = triples ? rows.filter((row) => !row.includes(null)) : [];
        this.#place(
            drawn.length ? graphFigure(drawn) : null,
            shown,
            table("Answers", header, cells, { class: "answers" }),
        );
    }

    /** Links to the same query, whose answer is of the epoch at which it is saved. */
    #download(query, answer, type) {
        const kind = type === "application/n-triples" ? "graph" : "table";
        const place = this.#root.querySelector(".downloads");
        place.hidden = "boolean" in answer;
        const links = Object.entries(FORMATS[kind]).map(([format, name]) =>
            h(
                "a",
                { href: address("sparql", { query, format }), download: `answers.${ENDINGS[format] ?? format}` },
                name,
            ),
        );
        place.replaceChildren("Save as ", ...links.flatMap((link, at) => (at ? [" · ", link] : [link])));
    }

    #place(graph, ...results) {
        this.#root.querySelector(".graph").replaceChildren(...(graph === null ? [] : [graph]));
        this.#root.querySelector(".results").replaceChildren(...results.filter(Boolean));
    }
}
