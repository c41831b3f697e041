// Small pictures of numbers: a line over epochs, and bars of parts. Their numbers stand next to them.

import { h, svg } from "./dom.js";

const [WIDTH, HEIGHT] = [240, 44];

/** A line of the values over the epochs; unknown ones are gaps. */
export function sparkline(values, label) {
    const known = values.filter((value) => value !== null);
    const highest = Math.max(...known, 0) || 1;
    const step = WIDTH / Math.max(values.length - 1, 1);
    let path = "";
    values.forEach((value, index) => {
        if (value === null) return;
        const joined = index > 0 && values[index - 1] !== null;
        // A value between unknown ones has no line to it, and is a dot.
        const alone = !joined && (values[index + 1] ?? null) === null;
        path += `${joined ? "L" : "M"}${(index * step).toFixed(1)} ${(HEIGHT - 3 - (value / highest) * (HEIGHT - 6)).toFixed(1)}${alone ? "h0.01" : ""}`;
    });
    return svg(
        "svg",
        {
            class: "spark",
            viewBox: `0 0 ${WIDTH} ${HEIGHT}`,
            preserveAspectRatio: "none",
            role: "img",
            "aria-label": label,
        },
        svg("path", { class: "axis", d: `M0 ${HEIGHT - 1}H${WIDTH}` }),
        svg("path", { class: "line", d: path, "vector-effect": "non-scaling-stroke" }),
    );
}

/** A bar of a part of a whole, for a cell of a table. */
export function bar(part, whole, kind = "") {
    const width = whole > 0 ? Math.max(0, Math.min(1, part / whole)) * 100 : 0;
    return svg(
        "svg",
        {
            class: `bar-cell ${kind}`,
            viewBox: "0 0 100 10",
            preserveAspectRatio: "none",
            "aria-hidden": "true",
        },
        svg("rect", { width, height: 10 }),
    );
}

/** One bar of parts next to each other, with a legend; `parts` are [name, seconds, text]. */
export function stacked(parts, label) {
    const whole = parts.reduce((sum, [, value]) => sum + value, 0) || 1;
    let at = 0;
    const pieces = parts.map(([name, value, text]) => {
        const piece = svg(
            "rect",
            { class: `part-${name}`, x: at, width: (value / whole) * 100, height: 10 },
            svg("title", {}, `${name} ${text}`),
        );
        at += (value / whole) * 100;
        return piece;
    });
    const legend = parts.map(([name, , text]) =>
        h(
            "li",
            {},
            h("span", { class: `swatch part-${name}`, "aria-hidden": "true" }),
            `${name} `,
            h("b", {}, text),
        ),
    );
    return h(
        "div",
        { class: "stacked" },
        svg(
            "svg",
            {
                viewBox: "0 0 100 10",
                preserveAspectRatio: "none",
                role: "img",
                "aria-label": label,
            },
            pieces,
        ),
        h("ul", { class: "legend" }, legend),
    );
}
