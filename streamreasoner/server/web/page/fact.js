// The view of one fact: why it is present or absent, followed from epoch to epoch.

import { absence } from "./absence.js";
import { ask, askJson } from "./ask.js";
import { h, quantity } from "./dom.js";
import { proofTree } from "./proof.js";
import { factElement, factLink, factText } from "./terms.js";

/** Facts of predicates that are not published come and go without an event. */
const ASK_AGAIN_MS = 5000;
/** An epoch may come every 50 ms; a proof need not. */
const LEAST_MS = 500;
const CHOICES = 50;

export class FactView {
    #root;
    #form;
    #choice;
    #fact = "";
    #open = new Set();
    #answer = null;
    #held = null; // presence and epoch of the last answer
    #words = null; // what has happened stays to be read, until something else happens
    #timer = null;
    #asking = null;
    #due = 0;
    #stale = false;

    constructor(root, stream) {
        this.#root = root;
        [this.#form, this.#choice] = root.querySelectorAll("form");
        this.#form.addEventListener("submit", (event) => {
            event.preventDefault();
            const link = factLink(this.#form.elements.fact.value.trim());
            if (link === location.hash) this.#ask();
            else location.hash = link;
        });
        this.#choice.addEventListener("submit", (event) => event.preventDefault());
        this.#choice.elements.predicate.addEventListener("change", () => this.#choose());
        stream.addEventListener("epoch", () => this.#soon(LEAST_MS));
    }

    learn(program) {
        const names = program.predicates.map((each) => h("option", {}, each.predicate));
        const chosen = this.#choice.elements.predicate.value;
        const derived = program.predicates.find((each) => each.published) ?? program.predicates[0];
        this.#choice.elements.predicate.replaceChildren(...names);
        this.#choice.elements.predicate.value = chosen || (derived?.predicate ?? "");
        if (!this.#root.hidden) this.#choose();
    }

    show(parameters) {
        const fact = parameters.get("fact") ?? "";
        if (fact !== this.#fact) {
            this.#fact = fact;
            this.#open = new Set();
            this.#answer = this.#held = null;
            this.#form.elements.fact.value = fact;
            this.#root.querySelector(".proof").replaceChildren();
            this.#root.querySelector(".as-of").textContent = "";
            this.#say("", "");
        }
        this.#ask();
        if (this.#root.querySelector(".facts").childElementCount === 0) this.#choose();
    }

    #offer(predicate) {
        const chosen = this.#choice.elements.predicate;
        if (chosen.value === predicate) return;
        chosen.value = predicate;
        this.#choose();
    }

    hide() {
        clearTimeout(this.#timer);
        this.#timer = null;
        this.#asking?.abort();
        this.#asking = null;
    }

    #soon(milliseconds) {
        if (this.#root.hidden || !this.#fact) return;
        if (this.#asking !== null) {
            this.#stale = true; // the answer that is on its way may be of an earlier epoch
            return;
        }
        const due = performance.now() + milliseconds;
        if (this.#timer !== null && this.#due <= due) return;
        clearTimeout(this.#timer);
        this.#due = due;
        this.#timer = setTimeout(() => this.#ask(), milliseconds);
    }

    async #ask() {
        clearTimeout(this.#timer);
        this.#timer = null;
        this.#asking?.abort();
        this.#asking = null;
        if (!this.#fact)
            return this.#say("", "Write a fact, or choose one below or among the changes.");
        const asking = (this.#asking = new AbortController());
        this.#stale = false;
        try {
            const { text } = await ask("explain", {
                parameters: { fact: this.#fact },
                signal: asking.signal,
            });
            if (asking !== this.#asking) return;
            this.#answered(JSON.parse(text));
        } catch (error) {
            if (asking !== this.#asking || error.name === "AbortError") return;
            this.#say("problem", error.message);
        }
        this.#asking = null;
        this.#soon(this.#stale ? LEAST_MS : document.hidden ? 10 * ASK_AGAIN_MS : ASK_AGAIN_MS);
    }

    #answered(found) {
        const { epoch, time: _, ...explanation } = found; // what else differs is worth drawing
        this.#words = verdict(this.#held, found) ?? this.#words;
        this.#say(...this.#words);
        if (found.present && !this.#held?.present) this.#open.add(`\n${found.steps[0].fact.text}`);
        this.#held = { present: found.present, epoch };
        this.#root.querySelector(".as-of").textContent = `as of epoch ${epoch}`;
        const answer = JSON.stringify(explanation);
        if (answer === this.#answer) return;
        if (this.#answer === null) this.#offer(found.fact.predicate);
        this.#answer = answer;
        const heading = h(
            "p",
            { class: "asked" },
            factElement(found.fact.predicate, found.fact.arguments),
            " ",
            ...this.#links(),
        );
        const body = found.present ? proofTree(found, this.#open) : absence(found);
        this.#replace(heading, body);
    }

    // The same step has the focus in the new proof, so that the keyboard does not start anew.
    #replace(...children) {
        const place = this.#root.querySelector(".proof");
        const nodes = () => [...place.querySelectorAll(".node")];
        const focused = nodes().indexOf(document.activeElement);
        place.replaceChildren(...children);
        if (focused >= 0) (nodes()[focused] ?? place.querySelector("a, button"))?.focus();
    }

    #links() {
        return ["text", "svg", "json"].flatMap((format) => {
            const query = new URLSearchParams({ fact: this.#fact, format });
            return [
                h("a", { href: `explain?${query}`, target: "_blank", rel: "noopener" }, format),
                " ",
            ];
        });
    }

    #say(kind, text) {
        const verdict = this.#root.querySelector(".verdict");
        verdict.dataset.kind = kind;
        if (verdict.textContent !== text) verdict.textContent = text;
    }

    async #choose() {
        const predicate = this.#choice.elements.predicate.value;
        if (!predicate) return;
        const list = this.#root.querySelector(".facts");
        const counted = this.#choice.querySelector(".count");
        try {
            const { facts, after } = await askJson("facts", { predicate, limit: CHOICES });
            counted.textContent =
                after === null ? quantity(facts.length, "fact") : `the first ${CHOICES}`;
            list.replaceChildren(
                ...facts.map((args) =>
                    h(
                        "li",
                        {},
                        h(
                            "a",
                            { href: factLink(factText(predicate, args)) },
                            factElement(predicate, args),
                        ),
                    ),
                ),
            );
        } catch (error) {
            counted.textContent = error.message;
            list.replaceChildren();
        }
    }
}

/** What an answer says beyond the one before it, as its kind and words; null for nothing. */
function verdict(before, { present, epoch }) {
    if (before === null) return present ? ["present", "Present."] : ["absent", "Absent."];
    if (before.present === present) return null;
    return present
        ? ["returned", `It came: absent at epoch ${before.epoch}, present at epoch ${epoch}.`]
        : ["gone", `It went away: present at epoch ${before.epoch}, absent at epoch ${epoch}.`];
}
