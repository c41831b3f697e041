// Questions to the server that the page is from. An answer names its epoch; a refusal becomes an
// error with the server's own words.

/** The most bytes of an answer that is shown; a browser would stand still with more. */
export const MOST_BYTES = 16 << 20;

/**
 * The address of a path next to the page. Not relative to the document: its address may have the
 * user's login in it, with which browsers refuse to ask.
 */
export function address(path, parameters = {}) {
    const query = new URLSearchParams(parameters).toString();
    const folder = location.origin + location.pathname.replace(/[^/]*$/, "");
    return folder + (query ? `${path}?${query}` : path);
}

/** What the server answers instead: its message says what to do. */
export class Refused extends Error {
    constructor(status, message) {
        super(message);
        this.status = status;
    }
}

/** The answer to a request, as text, with its epoch and type. */
export async function ask(
    path,
    { parameters = {}, accept = "application/json", body, type, signal } = {},
) {
    let response;
    try {
        response = await fetch(address(path, parameters), {
            method: body === undefined ? "GET" : "POST",
            headers: { Accept: accept, ...(type ? { "Content-Type": type } : {}) },
            body,
            signal,
        });
    } catch (error) {
        if (error.name === "AbortError") throw error;
        throw new Refused(0, "The server does not answer. It may have ended, or be starting.");
    }
    const text = await bounded(response);
    if (!response.ok) throw new Refused(response.status, problem(response, text));
    return {
        text,
        status: response.status,
        type: (response.headers.get("Content-Type") ?? "").split(";")[0],
        epoch: Number(response.headers.get("Streamreasoner-Epoch") ?? -1),
    };
}

/** The answer as JSON. */
export async function askJson(path, parameters = {}) {
    return JSON.parse((await ask(path, { parameters })).text);
}

async function bounded(response) {
    const decoder = new TextDecoder();
    let text = "";
    let bytes = 0;
    if (response.body === null) return text;
    for (const reader = response.body.getReader(); ;) {
        const { done, value } = await reader.read();
        if (done) return text + decoder.decode();
        bytes += value.length;
        if (bytes > MOST_BYTES) {
            await reader.cancel();
            throw new Refused(
                0,
                `The answer has more than ${MOST_BYTES >> 20} MiB, which this page does not show. Ask for less, or ask the server with curl.`,
            );
        }
        text += decoder.decode(value, { stream: true });
    }
}

function problem(response, text) {
    try {
        return JSON.parse(text).detail ?? text;
    } catch {
        return text || response.statusText;
    }
}
