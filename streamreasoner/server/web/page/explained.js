// What proofs and absences are made of: facts, rules and conditions as elements.

import { h } from "./dom.js";
import { factElement, factLink, factText } from "./terms.js";

/** A fact of an explanation. */
export function factNode(fact) {
    return factElement(fact.predicate, fact.arguments);
}

/** A rule with its place; its bindings, if there are any, are its title. */
export function ruleElement(rule, bindings = {}) {
    const title = Object.entries(bindings)
        .map(([name, value]) => `?${name.replace(/^\?/, "")} = ${value}`)
        .join("\n");
    return h(
        "p",
        { class: "rule", title },
        h(
            "span",
            { class: "place" },
            rule.name ? `${rule.name} · ${rule.file}:${rule.line}` : `${rule.file}:${rule.line}`,
        ),
        " ",
        h("code", {}, rule.text),
    );
}

/** A part of a body that holds: a fact, or a text. */
export function condition(premise) {
    if ("fact" in premise)
        return [
            h(
                "a",
                {
                    class: "node",
                    href: factLink(factText(premise.fact.predicate, premise.fact.arguments)),
                },
                factNode(premise.fact),
            ),
        ];
    if ("absent" in premise)
        return [h("span", { class: "badge" }, "absent"), " ", h("code", {}, premise.absent)];
    return [h("code", {}, premise.condition)];
}

/** Links to the views of facts, with commas. */
export function factLinks(facts) {
    return facts.flatMap((fact, index) => [
        index ? ", " : "",
        h("a", { href: factLink(factText(fact.predicate, fact.arguments)) }, factNode(fact)),
    ]);
}
