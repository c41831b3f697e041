// A proof as a tree that opens step by step, from `/explain`.

import { count, h, quantity } from "./dom.js";
import { condition, factNode, ruleElement } from "./explained.js";
import { factLink, factText } from "./terms.js";

/** Steps that "open all" opens at most. */
const MOST_OPEN = 200;

/**
 * The proof of a present fact.
 *
 * @param {object} found the answer of `/explain`
 * @param {Set<string>} open which steps are open, by the facts above them; kept by the caller, so
 *   that the proof of a later epoch is open where this one was
 */
export function proofTree(found, open) {
    const tree = h("ul", { class: "tree", "aria-label": "Proof" });
    const root = stepItem(found.steps, 0, "", open);
    tree.append(root);
    tree.addEventListener("keydown", (event) => walk(tree, event));
    const hint = h("span", { class: "hint" }, "Enter opens a step; arrow keys walk");
    const more = () => {
        if (!openAll(tree)) hint.textContent = `${MOST_OPEN} steps were opened; once more for more`;
    };
    const everything = h("button", { type: "button", onclick: more }, "Open all");
    return h("div", {}, h("div", { class: "bar" }, everything, hint), tree);
}

function stepItem(steps, index, above, open) {
    const step = steps[index];
    const key = `${above}\n${step.fact.text}`;
    const groups = derivations(step);
    const children = h("div", { class: "premises", hidden: true });
    let node;
    if (groups === null) {
        node = h("span", { class: "node" }, factNode(step.fact));
    } else {
        const set = (wanted) => {
            node.setAttribute("aria-expanded", wanted);
            children.hidden = !wanted;
            // Children are made when they are first seen: a proof may have thousands of steps.
            if (wanted && children.childElementCount === 0)
                children.append(...groups(steps, key, open));
            if (wanted) open.add(key);
            else open.delete(key);
        };
        const toggle = () => set(node.getAttribute("aria-expanded") !== "true");
        node = h(
            "button",
            {
                type: "button",
                class: "node",
                "aria-expanded": "false",
                title: "Open or close its premises",
                onclick: toggle,
            },
            factNode(step.fact),
        );
        node.set = set;
        if (open.has(key)) set(true);
    }
    return h("li", {}, h("div", { class: "line" }, node, badges(step)), children);
}

function badges(step) {
    const texts = [];
    if (step.asserted > 0)
        texts.push(step.asserted === 1 ? "asserted" : `asserted × ${count(step.asserted)}`);
    if (step.stated) texts.push(`stated at ${step.stated.file}:${step.stated.line}`);
    if (step.until !== null) texts.push(`replaced at iteration ${step.until}`);
    return [
        ...texts.map((text) => h("span", { class: "badge" }, text)),
        step.cut
            ? h(
                  "a",
                  { href: factLink(factText(step.fact.predicate, step.fact.arguments)) },
                  "the proof is cut here: ask for this fact",
              )
            : null,
    ].filter(Boolean);
}

/** What makes the premises of a step when it is opened; null if it has none. */
function derivations(step) {
    if (step.derivation)
        return (steps, key, open) =>
            [competition(step), derivation(step.derivation, steps, key, open)].filter(Boolean);
    if (!step.aggregation) return null;
    const { aggregates, total, matches } = step.aggregation;
    return (steps, key, open) =>
        [
            competition(step),
            h(
                "p",
                { class: "rule" },
                `${aggregates.join(", ")} over ${count(total)} ${total === 1 ? "match" : "matches"}${matches.length < total ? `; the first ${matches.length}:` : ":"}`,
            ),
            ...matches.map((match) => derivation(match, steps, key, open)),
        ].filter(Boolean);
}

function competition({ competition: found }) {
    if (!found) return null;
    return h(
        "p",
        { class: "rule" },
        `${found.function} of ${quantity(found.candidates, "candidate")}; next best: `,
        factNode(found.next_best),
    );
}

function derivation({ rule, bindings, premises }, steps, key, open) {
    return h(
        "div",
        { class: "derivation" },
        ruleElement(rule, bindings),
        h(
            "ul",
            {},
            premises.map((premise) =>
                "step" in premise
                    ? stepItem(steps, premise.step, key, open)
                    : h("li", {}, h("div", { class: "line" }, condition(premise))),
            ),
        ),
    );
}

// Steps in the order of the screen, as in any tree: right opens, left closes or goes up.
function walk(tree, event) {
    const nodes = [...tree.querySelectorAll("button.node, a.node")].filter(
        (node) => node.offsetParent !== null,
    );
    const at = nodes.indexOf(document.activeElement);
    if (at < 0) return;
    const node = nodes[at];
    const above = node.closest("li").parentElement.closest("li")?.querySelector(".node");
    const opened = node.getAttribute("aria-expanded") === "true";
    const moves = {
        ArrowDown: () => nodes[at + 1]?.focus(),
        ArrowUp: () => nodes[at - 1]?.focus(),
        ArrowRight: () => (node.set && !opened ? node.set(true) : nodes[at + 1]?.focus()),
        ArrowLeft: () => (node.set && opened ? node.set(false) : above?.focus()),
    };
    if (!(event.key in moves)) return;
    event.preventDefault();
    moves[event.key]();
}

/** Open all steps, up to the limit; false if there are more. */
function openAll(tree) {
    for (let opened = 0; opened < MOST_OPEN; opened += 1) {
        const next = tree.querySelector('button.node[aria-expanded="false"]');
        if (next === null) return true;
        next.set(true);
    }
    return false;
}
