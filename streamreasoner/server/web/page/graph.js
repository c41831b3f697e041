// Triples as a picture. Invariant: the same triples give the same picture, of bounded size.

import { h, quantity, svg } from "./dom.js";
import { termText } from "./terms.js";

export const MOST_NODES = 200;
const MOST_EDGES = 400;
const STEPS = 150;
/** The length of an edge at which its pull and the push of its nodes are equal. */
const IDEAL = 120;
const [MARGIN_X, MARGIN_Y] = [70, 40];
const ASPECT = 2;
const LABEL = 26;
/** Where on an edge its label is: beyond the middle, where edges that begin at one node are apart. */
const LABEL_AT = 0.6;
/** Sizes of the fonts, as the style sheet has them, and how wide a letter is to its height. */
const [NODE_FONT, EDGE_FONT] = [11, 9.5];
const WIDTH_OF_LETTER = 0.62;

/** A figure of triples, as rows of three terms; says so if it shows a part of them. */
export function graphFigure(triples) {
    const { nodes, edges } = bounded(triples);
    layOut(nodes, edges);
    const part =
        edges.length < triples.length
            ? ` ${edges.length} of ${triples.length} triples are drawn.`
            : "";
    // One label for all edges is said once; it would only cover the picture.
    const labels = new Set(edges.map((edge) => edge.label));
    const same = labels.size === 1 ? ` All edges are ${termText([...labels][0])}.` : "";
    const hidden = placeLabels(nodes, same === "" ? edges : []);
    const left = hidden
        ? ` Left out, as they would cover others: ${quantity(hidden, "label")}; point at a node or an edge.`
        : "";
    const caption = `${quantity(nodes.length, "node")}, ${quantity(edges.length, "edge")}.${same}${part}${left}`;
    return h("figure", {}, picture(nodes, edges), h("figcaption", {}, caption));
}

/** Give labels to the nodes with most edges first, then to edges, where no other one is. */
function placeLabels(nodes, edges) {
    const wanted = nodes
        .toSorted((a, b) => b.degree - a.degree)
        .map((node) => [node, node.term, node.x, node.y + 20, NODE_FONT]);
    for (const edge of edges) {
        const { from, to } = edge;
        const [x, y] = [to.x - from.x, to.y - from.y];
        wanted.push(
            from === to
                ? [edge, edge.label, from.x, from.y - 48, EDGE_FONT]
                : [edge, edge.label, from.x + x * LABEL_AT, from.y + y * LABEL_AT - 3, EDGE_FONT],
        );
    }
    const taken = nodes.map(({ x, y }) => ({ left: x - 8, right: x + 8, top: y - 8, bottom: y + 8 }));
    let hidden = 0;
    for (const [owner, term, x, y, font] of wanted) {
        const words = shortened(term);
        const half = (words.length * font * WIDTH_OF_LETTER) / 2;
        const place = { left: x - half, right: x + half, top: y - font, bottom: y + 2 };
        const covers = taken.some(
            (other) =>
                place.left < other.right &&
                other.left < place.right &&
                place.top < other.bottom &&
                other.top < place.bottom,
        );
        if (covers) hidden += 1;
        else {
            taken.push(place);
            owner.text = { words, x, y };
        }
    }
    return hidden;
}

function bounded(triples) {
    const nodes = new Map();
    const edges = [];
    for (const [s, p, o] of triples) {
        const fresh = new Set([s, o].filter((term) => !nodes.has(term)));
        if (nodes.size + fresh.size > MOST_NODES || edges.length >= MOST_EDGES) continue;
        for (const term of fresh) nodes.set(term, { term, x: 0, y: 0, degree: 0 });
        edges.push({ from: nodes.get(s), to: nodes.get(o), label: p });
        nodes.get(s).degree += 1;
        nodes.get(o).degree += 1;
    }
    return { nodes: [...nodes.values()], edges };
}

// Parts that are not connected push each other away without end, so each is laid out by itself,
// and they are set in rows like words, the largest first.
function layOut(nodes, edges) {
    const parts = components(nodes, edges);
    for (const part of parts) layOutPart(part.nodes, part.edges);
    const boxes = parts.map(box).sort((a, b) => b.height - a.height || b.width - a.width);
    const area = boxes.reduce((sum, { width, height }) => sum + width * height, 0);
    const most = Math.max(Math.sqrt(area * ASPECT), ...boxes.map(({ width }) => width));
    let [x, y, row] = [0, 0, 0];
    for (const each of boxes) {
        if (x + each.width > most) [x, y, row] = [0, y + row, 0];
        for (const node of each.nodes) {
            node.x += x - each.left;
            node.y += y - each.top;
        }
        x += each.width;
        row = Math.max(row, each.height);
    }
}

function components(nodes, edges) {
    const parts = new Map(nodes.map((node) => [node, { nodes: [node], edges: [] }]));
    for (const edge of edges) {
        const [kept, joined] = [parts.get(edge.from), parts.get(edge.to)];
        kept.edges.push(edge);
        if (kept === joined) continue;
        kept.nodes.push(...joined.nodes);
        kept.edges.push(...joined.edges);
        for (const node of joined.nodes) parts.set(node, kept);
    }
    return [...new Set(parts.values())];
}

/** The place that a part takes, with room for its labels. */
function box(part) {
    const xs = part.nodes.map((node) => node.x);
    const ys = part.nodes.map((node) => node.y);
    const [left, top] = [Math.min(...xs) - MARGIN_X, Math.min(...ys) - MARGIN_Y];
    const [right, bottom] = [Math.max(...xs) + MARGIN_X, Math.max(...ys) + MARGIN_Y];
    return { ...part, left, top, width: right - left, height: bottom - top };
}

// Fruchterman and Reingold, "Graph drawing by force-directed placement" (1991): nodes push each
// other away by d²/r, edges pull by r²/d, and steps become smaller. Begins on a spiral, not at random.
function layOutPart(nodes, edges) {
    nodes.forEach((node, index) => {
        const radius = IDEAL * 0.6 * Math.sqrt(index + 0.5);
        node.x = radius * Math.cos(index * 2.39996);
        node.y = radius * Math.sin(index * 2.39996);
    });
    for (let step = 0; step < STEPS; step += 1) {
        for (const node of nodes) node.dx = node.dy = 0;
        for (let i = 0; i < nodes.length; i += 1) {
            for (let j = 0; j < i; j += 1)
                push(nodes[i], nodes[j], (distance) => (IDEAL * IDEAL) / distance);
        }
        for (const { from, to } of edges)
            if (from !== to) push(from, to, (distance) => -(distance * distance) / IDEAL);
        const most = IDEAL * (1 - step / STEPS);
        for (const node of nodes) {
            const length = Math.hypot(node.dx, node.dy) || 1;
            node.x += (node.dx / length) * Math.min(length, most);
            node.y += (node.dy / length) * Math.min(length, most);
        }
    }
}

function push(a, b, force) {
    const x = a.x - b.x;
    const y = a.y - b.y;
    const distance = Math.max(Math.hypot(x, y), 1);
    const strength = force(distance) / distance;
    a.dx += x * strength;
    a.dy += y * strength;
    b.dx -= x * strength;
    b.dy -= y * strength;
}

function picture(nodes, edges) {
    const { left, top, width, height } = box({ nodes });
    const arrow = svg(
        "marker",
        {
            id: "arrow",
            viewBox: "0 0 8 8",
            refX: 8,
            refY: 4,
            markerWidth: 7,
            markerHeight: 7,
            orient: "auto-start-reverse",
        },
        svg("path", { d: "M0 0 L8 4 L0 8 z" }),
    );
    return svg(
        "svg",
        {
            viewBox: `${left} ${top} ${width} ${height}`,
            width,
            height,
            role: "img",
            "aria-label": `A graph of ${quantity(nodes.length, "node")} and ${quantity(edges.length, "edge")}`,
        },
        svg("defs", {}, arrow),
        edges.map(edgeElement),
        nodes.map(nodeElement),
    );
}

function edgeElement({ from, to, label, text }) {
    const title = svg("title", {}, `${from.term} ${label} ${to.term}`);
    if (from === to) {
        const loop = `M${from.x - 8} ${from.y - 8} C${from.x - 50} ${from.y - 60} ${from.x + 50} ${from.y - 60} ${from.x + 8} ${from.y - 8}`;
        return svg(
            "g",
            { class: "edge" },
            title,
            svg("path", { d: loop, "marker-end": "url(#arrow)" }),
            labelElement(text),
        );
    }
    const [x, y] = [to.x - from.x, to.y - from.y];
    const length = Math.hypot(x, y) || 1;
    const short = Math.max(length - 12, 1) / length;
    const line = svg("line", {
        x1: from.x,
        y1: from.y,
        x2: from.x + x * short,
        y2: from.y + y * short,
        "marker-end": "url(#arrow)",
    });
    return svg(
        "g",
        { class: "edge" },
        title,
        line,
        labelElement(text),
    );
}

function nodeElement({ term, x, y, degree, text }) {
    const kind = term.startsWith('"') ? "literal" : "thing";
    const circle = svg("circle", { cx: x, cy: y, r: Math.min(5 + degree / 4, 10) });
    return svg(
        "g",
        { class: `vertex ${kind}` },
        svg("title", {}, term),
        circle,
        labelElement(text),
    );
}

function labelElement(text) {
    if (text === undefined) return null;
    return svg("text", { x: text.x, y: text.y, "text-anchor": "middle" }, text.words);
}

function shortened(term) {
    const words = termText(term);
    return words.length > LABEL ? `${words.slice(0, LABEL - 1)}…` : words;
}
