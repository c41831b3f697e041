// The view of one-off questions in SPARQL.

import { ask } from "./ask.js";
import { count, duration, h, quantity, table } from "./dom.js";
import { graphFigure } from "./graph.js";
import { readAnswer } from "./results.js";
import { factLink, factText, learnPrefixes, termElement } from "./terms.js";

const ACCEPT = "application/sparql-results+json, application/n-triples;q=0.9";
const ROWS = 500;
const FIRST = "SELECT ?s ?p ?o WHERE { ?s ?p ?o } LIMIT 25";

export class QueryView {
    #root;
    #form;
    #asking = null;

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
    }

    show(parameters) {
        const { query } = this.#form.elements;
        const linked = parameters.get("query");
        if (linked !== null && linked !== query.value) query.value = linked;
        else if (query.value === "") query.value = FIRST;
    }

    async #run() {
        const query = this.#form.elements.query.value;
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
            this.#show(answer);
        } catch (error) {
            if (error.name === "AbortError" || asking !== this.#asking) return;
            counted.textContent = "";
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

    #place(graph, ...results) {
        this.#root.querySelector(".graph").replaceChildren(...(graph === null ? [] : [graph]));
        this.#root.querySelector(".results").replaceChildren(...results.filter(Boolean));
    }
}
