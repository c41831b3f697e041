// The view of how the pipeline fares: lag, latency, time of epochs, and what it could not read.

import { askJson } from "./ask.js";
import { count, duration, h, quantity, table } from "./dom.js";
import { sparkline } from "./spark.js";

const EVERY_MS = 2000;
const EPOCHS = 256;
const MEASURES = [
    ["Lag", "messages that no epoch has read yet", (each) => each.lag, count],
    ["Latency", "from a message's timestamp to publication", (each) => each.latency, duration],
    ["Epoch", "time that an epoch takes", (each) => each.seconds, duration],
    ["Input", "messages in an epoch", (each) => each.input, count],
    ["Changes", "derived in an epoch", (each) => each.changes, count],
];

export class StateView {
    #root;
    #timer = null;

    constructor(root) {
        this.#root = root;
    }

    show() {
        this.#ask();
    }

    hide() {
        clearTimeout(this.#timer);
    }

    async #ask() {
        this.hide();
        const notes = new Set();
        const [profile, letters, facts] = await Promise.all(
            [["profile", { epochs: EPOCHS }], ["dead-letters"], ["facts"]].map(
                ([path, parameters]) =>
                    askJson(path, parameters).catch((error) => {
                        notes.add(error.message);
                        return null;
                    }),
            ),
        );
        if (this.#root.hidden) return;
        const note = this.#root.querySelector(".note");
        const text = [...notes].join(" ");
        if (note.textContent !== text) note.textContent = text;
        if (facts) this.#facts(facts);
        this.#measures(profile?.epochs ?? null);
        this.#letters(letters);
        this.#timer = setTimeout(() => this.#ask(), document.hidden ? 10 * EVERY_MS : EVERY_MS);
    }

    #measures(epochs) {
        const place = this.#root.querySelector(".measures");
        if (epochs === null) return place.replaceChildren();
        if (epochs.length === 0)
            return place.replaceChildren(h("p", {}, "No epoch since the pipeline started."));
        place.replaceChildren(
            ...MEASURES.map(([name, means, read, shown]) => {
                const values = epochs.map((each) => read(each) ?? null);
                const known = values.filter((value) => value !== null).toSorted((a, b) => a - b);
                const last = values.findLast((value) => value !== null);
                const median = known.length ? shown(known[known.length >> 1]) : "–";
                const most = known.length ? shown(known.at(-1)) : "–";
                return h(
                    "figure",
                    {},
                    h("figcaption", {}, h("b", {}, name), ` ${means}`),
                    h("p", { class: "value" }, shown(last)),
                    sparkline(values, `${name} over the last ${quantity(values.length, "epoch")}`),
                    h(
                        "p",
                        { class: "hint" },
                        `median ${median}, most ${most}, of ${quantity(values.length, "epoch")}`,
                    ),
                );
            }),
        );
    }

    #facts({ predicates }) {
        const rows = predicates.map((each) => [
            each.predicate,
            String(each.arity),
            count(each.facts),
        ]);
        this.#root
            .querySelector(".counts")
            .replaceChildren(
                table("Present facts by predicate", ["predicate", "arguments", "facts"], rows),
            );
    }

    #letters(found) {
        const place = this.#root.querySelector(".letters");
        if (found === null) return place.replaceChildren(h("p", {}, "Not known here."));
        const { dead_letters: letters, total } = found;
        if (letters.length === 0)
            return place.replaceChildren(h("p", {}, "None since the pipeline started."));
        const rows = letters.map((each) => [
            h("span", { title: each.time }, new Date(each.time).toLocaleString("en-GB")),
            `${each.topic}/${each.partition}@${each.offset}`,
            each.reason,
            h("code", {}, each.message),
        ]);
        const which =
            letters.length < total
                ? `The last ${count(letters.length)} of ${count(total)}.`
                : `${count(total)} since the pipeline started.`;
        place.replaceChildren(
            h("p", {}, which),
            table(
                "Dead letters, the newest first",
                ["time", "topic/partition@offset", "reason", "message"],
                rows,
                { class: "letters" },
            ),
        );
    }
}
