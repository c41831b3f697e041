// The page: one view at a time, chosen by the fragment, `#fact?fact=path(ex:a, ex:b)`.

import { Refused, askJson } from "./ask.js";
import { ChangesView } from "./changes.js";
import { FactView } from "./fact.js";
import { QueryView } from "./query.js";
import { RulesView } from "./rules.js";
import { StateView } from "./state.js";
import { Stream } from "./stream.js";
import { learnPrefixes } from "./terms.js";

const FIRST = "changes";
const RETRY = 2000;

const stream = new Stream();
const section = (name) => document.getElementById(`view-${name}`);
const views = {
    changes: new ChangesView(section("changes"), stream),
    rules: new RulesView(section("rules"), stream),
    fact: new FactView(section("fact"), stream),
    query: new QueryView(section("query")),
    state: new StateView(section("state")),
};
let shown = null;

function route() {
    const [name, query] = location.hash.slice(1).split(/\?(.*)/s);
    const wanted = name in views ? name : FIRST;
    if (shown !== wanted) {
        if (shown !== null) {
            section(shown).hidden = true;
            views[shown].hide?.();
            // A reader of the screen, and the keyboard, go on at the new view.
            section(wanted).hidden = false;
            section(wanted).querySelector("h2").focus();
        }
        section(wanted).hidden = false;
        shown = wanted;
    }
    for (const link of document.querySelectorAll("nav a")) {
        if (link.hash === `#${wanted}`) link.setAttribute("aria-current", "page");
        else link.removeAttribute("aria-current");
    }
    document.title = `${section(wanted).querySelector("h2").textContent} · streamreasoner`;
    if (wanted === "rules") learn(); // the program may have changed
    views[wanted].show(new URLSearchParams(query ?? ""));
}

async function learn() {
    try {
        const program = await askJson("rules");
        learnPrefixes(program.text);
        for (const view of Object.values(views)) view.learn?.(program);
    } catch (error) {
        if (!(error instanceof Refused)) throw error;
        setTimeout(learn, RETRY);
    }
}

stream.addEventListener("status", () => {
    const words =
        stream.epoch === null ? stream.status : `epoch ${stream.epoch} · ${stream.status}`;
    const place = document.getElementById("status");
    place.dataset.live = stream.status === "live";
    if (place.textContent !== words) place.textContent = words;
});
addEventListener("hashchange", route);
await learn();
route();
stream.start();
