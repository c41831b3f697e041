// The view of rules: what an epoch's time went to, step by step and then rule by rule.

import { askJson } from "./ask.js";
import { clock, count, duration, h, numbered, quantity, table } from "./dom.js";
import { bar, stacked } from "./spark.js";

export const STEPS = ["read", "decode", "evaluate", "store", "publish"];
const EPOCHS = 64;
const LEAST_MS = 1000;

export class RulesView {
    #root;
    #form;
    #epochs = [];
    #timer = null;
    #wanted = null; // null for the last epoch

    constructor(root, stream) {
        this.#root = root;
        this.#form = root.querySelector("form");
        this.#form.addEventListener("submit", (event) => event.preventDefault());
        this.#form.elements.epoch.addEventListener("change", () => {
            const chosen = this.#form.elements.epoch.value;
            this.#wanted = chosen === "" ? null : Number(chosen);
            history.replaceState(null, "", chosen === "" ? "#rules" : `#rules?epoch=${chosen}`);
            this.#draw();
        });
        this.#form.elements.order.addEventListener("change", () => this.#draw());
        stream.addEventListener("epoch", () => this.#soon());
    }

    learn(program) {
        const { text, since, predicates } = program;
        const marks = (each) =>
            ["input", "published", "constraint"].filter((name) => each[name]).join(", ");
        this.#root.querySelector(".program").replaceChildren(
            h(
                "p",
                {},
                since > 0 ? `In effect since epoch ${since}.` : "In effect since the beginning.",
            ),
            numbered(text, "Text of the program"),
            table(
                "Predicates",
                ["predicate", "arguments", ""],
                predicates.map((each) => [each.predicate, String(each.arity), marks(each)]),
            ),
        );
    }

    show(parameters) {
        this.#wanted = parameters.has("epoch") ? Number(parameters.get("epoch")) : null;
        this.#ask();
    }

    hide() {
        clearTimeout(this.#timer);
        this.#timer = null;
    }

    #soon() {
        // A list that is open for a choice must not change under the reader.
        if (this.#root.hidden || document.activeElement === this.#form.elements.epoch) return;
        this.#timer ??= setTimeout(() => this.#ask(), LEAST_MS);
    }

    async #ask() {
        this.hide();
        try {
            const { epochs } = await askJson("profile", { epochs: EPOCHS });
            this.#epochs = epochs;
            this.#note(epochs.length ? "" : "No epoch yet: send something to the input topic.");
            this.#offer();
            this.#draw();
        } catch (error) {
            this.#note(
                error.status === 404
                    ? `${error.message} The program is shown below.`
                    : error.message,
            );
            this.#root.querySelector(".profile").replaceChildren();
        }
        this.#form.hidden = this.#epochs.length === 0;
    }

    #offer() {
        const option = (each) =>
            h(
                "option",
                { value: String(each.epoch) },
                `${each.epoch} · ${duration(each.seconds)} · ${quantity(each.changes, "change")} · ${clock(each.time)}`,
            );
        const { epoch } = this.#form.elements;
        epoch.replaceChildren(
            h("option", { value: "" }, "the last one"),
            ...this.#epochs.toReversed().map(option),
        );
        this.#form.elements.order.parentElement.hidden = !this.#epochs.some((each) => each.rules);
        epoch.value = this.#wanted === null ? "" : String(this.#wanted);
    }

    #draw() {
        const found =
            this.#wanted === null
                ? this.#epochs.at(-1)
                : this.#epochs.find((each) => each.epoch === this.#wanted);
        const place = this.#root.querySelector(".profile");
        if (found === undefined) {
            if (this.#epochs.length)
                this.#note(
                    `Epoch ${this.#wanted} is not among the last ${this.#epochs.length}; choose another one.`,
                );
            place.replaceChildren();
            return;
        }
        this.#note("");
        const parts = STEPS.map((name) => [
            name,
            found.steps[name] ?? 0,
            duration(found.steps[name]),
        ]);
        const known = parts.reduce((sum, [, seconds]) => sum + seconds, 0);
        if (found.seconds > known)
            parts.push(["other", found.seconds - known, duration(found.seconds - known)]);
        place.replaceChildren(
            h(
                "p",
                {},
                `Epoch ${found.epoch} took `,
                h("b", {}, duration(found.seconds)),
                ` for ${quantity(found.input, "message")} and ${quantity(found.changes, "change")}. It went to`,
            ),
            stacked(parts, "Time of the steps"),
            this.#rules(found),
        );
    }

    #rules(found) {
        const order = this.#form.elements.order.value;
        const rules = found.rules.toSorted((a, b) => (b[order] ?? 0) - (a[order] ?? 0));
        if (!rules.length) return h("p", {}, "No rule ran in this epoch.");
        const most = Math.max(...rules.map((rule) => rule[order] ?? 0));
        const rows = rules.map((rule) => [
            h("span", { class: "place" }, rule.name ? `${rule.name} · ${rule.rule}` : rule.rule),
            h("code", {}, rule.text),
            count(rule.firings),
            duration(rule.seconds),
            bar(rule[order] ?? 0, most),
        ]);
        if (found.others?.rules > 0) {
            const { others } = found;
            const numbers = [count(others.firings), duration(others.seconds)];
            rows.push([`${count(others.rules)} more`, "", ...numbers, ""]);
        }
        return table("Rules of this epoch", ["rule", "", "firings", "time", ""], rows, {
            class: "rules",
        });
    }

    #note(text) {
        const note = this.#root.querySelector(".note");
        if (note.textContent !== text) note.textContent = text;
    }
}
