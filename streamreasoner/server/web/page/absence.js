// What an absent fact lacks, rule by rule, from `/explain`.

import { h } from "./dom.js";
import { condition, factLinks, ruleElement } from "./explained.js";

const KINDS = {
    missing: "is missing",
    present: "is present, and must not be",
    false: "does not hold",
    "no value": "has no value",
    "other fact": "everything holds, but the head computes another fact",
    "other result": "there are matches, but their aggregate has another value",
    beaten: "is a candidate, but another one is the best",
    owed: "is derived, but was retracted more often than asserted",
    unfinished: "the search stopped at its limit",
};

/** What an absent fact lacks, rule by rule. */
export function absence(found) {
    const rules = found.rules.map(({ rule, holds, failure }) => {
        const parts = failure.parts.length ? failure.parts : [""];
        return h(
            "li",
            {},
            ruleElement(rule),
            h(
                "ul",
                { class: "reasons" },
                holds.map((premise) =>
                    h(
                        "li",
                        { class: "holds" },
                        h("span", { class: "mark" }, "✓ "),
                        condition(premise),
                    ),
                ),
                parts.map((part) =>
                    h(
                        "li",
                        { class: "fails" },
                        h("span", { class: "mark" }, "✗ "),
                        h("code", {}, part),
                        ` ${KINDS[failure.kind] ?? failure.kind}`,
                    ),
                ),
                failure.facts.length
                    ? h(
                          "li",
                          {},
                          failure.kind === "missing" ? "There is: " : "See: ",
                          factLinks(failure.facts),
                      )
                    : null,
            ),
        );
    });
    return h(
        "div",
        {},
        found.beaten_by ? h("p", {}, "Present instead: ", factLinks([found.beaten_by])) : null,
        rules.length
            ? h("ul", { class: "tree absence", "aria-label": "What each rule lacks" }, rules)
            : h("p", {}, "No rule derives this predicate: it is present only if it is asserted."),
        found.close.length ? h("p", {}, "Facts that are close: ", factLinks(found.close)) : null,
    );
}
