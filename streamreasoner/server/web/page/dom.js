// Elements of the page. Terms come from anybody who writes to the input topic: text is set as
// text, and nothing here or elsewhere parses HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
        if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
        else if (value === true) element.setAttribute(name, "");
        else if (value !== false && value !== null && value !== undefined)
            element.setAttribute(name, value);
    }
    element.append(...children.flat().filter((child) => child !== null && child !== undefined));
    return element;
}

/** An HTML element; attributes that begin with "on" are listeners, children are nodes or texts. */
export function h(name, attributes = {}, ...children) {
    return fill(document.createElement(name), attributes, children);
}

/** An SVG element. */
export function svg(name, attributes = {}, ...children) {
    return fill(document.createElementNS(SVG, name), attributes, children);
}

/** A table of a header and rows, both arrays of nodes or texts. */
export function table(caption, header, rows, attributes = {}) {
    return h(
        "table",
        attributes,
        h("caption", { class: "hidden-text" }, caption),
        h(
            "thead",
            {},
            h(
                "tr",
                {},
                header.map((cell) => h("th", { scope: "col" }, cell)),
            ),
        ),
        h(
            "tbody",
            {},
            rows.map((row) =>
                h(
                    "tr",
                    {},
                    row.map((cell) => h("td", {}, cell ?? "")),
                ),
            ),
        ),
    );
}

/** A text with the numbers of its lines, which are not copied with it. */
export function numbered(text, label) {
    const lines = text.replace(/\n$/, "").split("\n");
    return h(
        "pre",
        { class: "numbered", tabindex: "0", "aria-label": label },
        lines.map((line) => h("span", {}, `${line}\n`)),
    );
}

/** A number with separators. */
export function count(number) {
    return number === null || number === undefined ? "–" : number.toLocaleString("en");
}

/** A number of things, such as "1 row". */
export function quantity(number, noun) {
    return `${count(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** A duration, from seconds, with three digits. */
export function duration(seconds) {
    if (seconds === null || seconds === undefined) return "–";
    if (seconds >= 1) return `${seconds.toPrecision(3)} s`;
    if (seconds >= 0.001) return `${(seconds * 1000).toPrecision(3)} ms`;
    return seconds === 0 ? "0" : `${(seconds * 1e6).toFixed(0)} µs`;
}

/** The time of day of a time, as the reader's clock has it. */
export function clock(time) {
    return time === null || time === undefined ? "" : new Date(time).toLocaleTimeString("en-GB");
}
