// The view of derived changes as they happen. Invariant: memory is bounded, whatever comes.

import { clock, count, h } from "./dom.js";
import { factElement, factLink, factText, termText } from "./terms.js";

/** Changes that are remembered, so that another filter has something to show. */
const REMEMBERED = 2000;
const ROWS = 300;
const ANNOUNCE_MS = 4000;

export class ChangesView {
    #root;
    #rows;
    #form;
    #remembered = []; // the oldest first
    #frozen = null; // what is remembered when the reader pauses
    #since = 0; // changes that came since then
    #pending = [];
    #frame = null;
    #announced = 0;
    #omitted = "";
    #stopped = "";
    #unannounced = 0;

    constructor(root, stream) {
        this.#root = root;
        this.#rows = root.querySelector("tbody");
        this.#form = root.querySelector("form");
        const { filter, predicate, pause } = this.#form.elements;
        filter.addEventListener("input", () => this.#refilter());
        predicate.addEventListener("change", () => this.#refilter());
        pause.addEventListener("click", () => this.#pause());
        this.#form.addEventListener("submit", (event) => event.preventDefault());
        stream.addEventListener("epoch", (event) => this.#arrived(event.detail));
        stream.addEventListener("restart", () => {
            this.#remembered = [];
            this.#draw();
        });
        stream.addEventListener("status", () => {
            this.#stopped =
                stream.status === "live" ? "" : `Changes are not followed now: ${stream.status}`;
            this.#note();
        });
    }

    /** The program in effect says which predicates have changes. */
    learn(program) {
        const { predicate } = this.#form.elements;
        const names = program.predicates
            .filter((each) => each.published)
            .map((each) => each.predicate);
        predicate.replaceChildren(
            h("option", { value: "" }, "all"),
            ...names.map((name) => h("option", {}, name)),
        );
        predicate.value = this.wanted ?? "";
    }

    show(parameters) {
        this.wanted = parameters.get("predicate") ?? "";
        this.#form.elements.filter.value = parameters.get("filter") ?? "";
        this.#form.elements.predicate.value = this.wanted;
        this.#draw();
    }

    #arrived({ epoch, time, changes, omitted }) {
        if (omitted) {
            this.#omitted = `Epoch ${epoch} has ${count(omitted)} changes, too many to show; /facts says what holds.`;
            this.#note();
        }
        const arrived = changes
            .slice(-REMEMBERED)
            .map((change) => new Change(epoch, change.time ?? time, change));
        this.#remembered = this.#remembered.concat(arrived).slice(-REMEMBERED);
        if (this.#frozen === null) {
            this.#pending = this.#pending.concat(arrived).slice(-REMEMBERED);
            // Many epochs may come between two frames; they are drawn at once.
            this.#frame ??= requestAnimationFrame(() => this.#drawPending());
        } else {
            this.#since += changes.length;
            this.#counted();
        }
    }

    #drawPending() {
        this.#frame = null;
        const fresh = this.#pending.filter(this.#filter()).slice(-ROWS);
        this.#pending = [];
        this.#rows.prepend(...fresh.reverse().map((change) => change.row()));
        while (this.#rows.childElementCount > ROWS) this.#rows.lastElementChild.remove();
        this.#counted();
        this.#announce(fresh.length);
    }

    #draw() {
        const source = this.#frozen ?? this.#remembered;
        if (this.#frozen === null) this.#pending = [];
        const found = source.filter(this.#filter()).slice(-ROWS).reverse();
        this.#rows.replaceChildren(...found.map((change) => change.row()));
        this.#counted();
    }

    #filter() {
        const { filter, predicate } = this.#form.elements;
        const words = filter.value.toLowerCase().split(/\s+/).filter(Boolean);
        return (change) =>
            (predicate.value === "" || change.predicate === predicate.value) &&
            words.every((word) => change.text.includes(word));
    }

    #refilter() {
        const { filter, predicate } = this.#form.elements;
        const parameters = new URLSearchParams();
        if (filter.value) parameters.set("filter", filter.value);
        if (predicate.value) parameters.set("predicate", predicate.value);
        // The address is a link to what is shown, without a step back for each letter.
        history.replaceState(null, "", parameters.size ? `#changes?${parameters}` : "#changes");
        this.#draw();
    }

    #pause() {
        const { pause } = this.#form.elements;
        const paused = this.#frozen === null;
        if (paused) this.#drawPending();
        this.#frozen = paused ? this.#remembered : null;
        this.#since = 0;
        pause.setAttribute("aria-pressed", paused);
        pause.textContent = paused ? "Resume" : "Pause";
        this.#draw();
    }

    #counted() {
        const rows = this.#rows.childElementCount;
        const shown = rows === ROWS ? `the newest ${count(ROWS)} shown` : `${count(rows)} shown`;
        const paused = this.#frozen === null ? "" : `; paused, ${count(this.#since)} new`;
        this.#root.querySelector(".count").textContent = shown + paused;
        if (rows > 0 || this.#remembered.length > 0) return;
        this.#root.querySelector(".count").textContent =
            "no change yet; they are shown as they are published";
    }

    // A reader of the screen hears numbers, seldom enough to hear other things too.
    #announce(fresh) {
        this.#unannounced += fresh;
        const now = performance.now();
        if (this.#root.hidden || this.#unannounced === 0 || now - this.#announced < ANNOUNCE_MS)
            return;
        this.#root.querySelector(".announced").textContent =
            `${count(this.#unannounced)} new changes`;
        this.#announced = now;
        this.#unannounced = 0;
    }

    #note() {
        const note = this.#root.querySelector(".note");
        const text = `${this.#stopped} ${this.#omitted}`.trim();
        if (note.textContent !== text) note.textContent = text;
    }
}

class Change {
    constructor(epoch, time, { predicate, args, diff }) {
        this.epoch = epoch;
        this.time = time;
        this.predicate = predicate;
        this.args = args;
        this.diff = diff;
        // Both forms, so that what is read on the page is found, and so is what was copied elsewhere.
        this.text =
            `${diff > 0 ? "+" : "-"} ${predicate} ${args.join(" ")} ${args.map(termText).join(" ")}`.toLowerCase();
    }

    row() {
        const came = this.diff > 0;
        const fact = factText(this.predicate, this.args);
        const why = came ? "why" : "why not";
        return h(
            "tr",
            { class: came ? "came" : "went" },
            h("td", { class: "number" }, String(this.epoch)),
            h("td", { class: "number time", title: this.time }, clock(this.time)),
            h(
                "td",
                { class: "sign", title: came ? "became present" : "became absent" },
                came ? "+" : "−",
            ),
            h("td", {}, factElement(this.predicate, this.args)),
            h("td", {}, h("a", { href: factLink(fact), "aria-label": `${why}: ${fact}` }, why)),
        );
    }
}
