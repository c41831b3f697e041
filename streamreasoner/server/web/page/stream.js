// The published changes, followed once for all views. Invariant: each epoch is seen once, in order.

import { address, ask, askJson, Refused } from "./ask.js";

/** Epochs before the present one that a new page begins with. */
const BACK = 20;
const RETRY = 2000;

/**
 * Dispatches "epoch" with the event of `/changes`, "status" when the words about the stream change,
 * and "restart" when it begins again with another state, of whose epochs none has been seen.
 */
export class Stream extends EventTarget {
    #source = null;
    #next = null;
    #timer = null;
    #turn = 0;

    constructor() {
        super();
        this.epoch = null;
        this.status = "connecting";
        // A browser has six connections to a server for all of its tabs: only the visible one follows.
        document.addEventListener("visibilitychange", () =>
            document.hidden ? this.#stop("paused in the background") : this.start(),
        );
    }

    /** Begin to follow, or go on. */
    async start() {
        this.#stop("connecting");
        const turn = this.#turn;
        try {
            if (this.#next === null) {
                const { epoch } = await askJson("facts");
                if (turn !== this.#turn) return; // started again meanwhile
                this.#next = Math.max(0, epoch - BACK + 1);
                this.#seen(epoch);
            }
            this.#open();
        } catch (error) {
            if (turn === this.#turn) this.#again(error.message);
        }
    }

    #open() {
        const source = new EventSource(address("changes", { from: this.#next }));
        this.#source = source;
        source.onopen = () => this.#say("live");
        source.onmessage = (message) => {
            const epoch = JSON.parse(message.data);
            this.#next = epoch.epoch + 1;
            this.#seen(epoch.epoch);
            this.#say("live");
            this.dispatchEvent(new CustomEvent("epoch", { detail: epoch }));
        };
        source.onerror = () => {
            if (source.readyState === EventSource.CLOSED) this.#explain();
            else this.#say("reconnecting");
        };
    }

    // An EventSource does not tell why it was refused, so the same is asked for once more.
    async #explain() {
        const asking = new AbortController();
        try {
            const found = await Promise.race([
                ask("changes", { parameters: { from: this.#next }, signal: asking.signal }),
                new Promise((resolve) => setTimeout(resolve, RETRY, null)),
            ]);
            if (found?.status === 204) this.#stop("stays at this epoch");
            else this.#again("reconnecting");
        } catch (error) {
            if (error instanceof Refused && error.status === 410) {
                // What is no longer retained is left out; the present epoch is where to go on.
                const { epoch } = await askJson("facts").catch(() => ({ epoch: null }));
                this.#next = epoch === null ? null : epoch + 1;
            } else if (error instanceof Refused && error.status === 400) {
                this.#next = null;
                this.dispatchEvent(new CustomEvent("restart"));
            }
            this.#again(error.message);
        } finally {
            asking.abort();
        }
    }

    #again(status) {
        this.#stop(status);
        this.#timer = setTimeout(() => this.start(), RETRY);
    }

    #stop(status) {
        this.#turn += 1;
        clearTimeout(this.#timer);
        this.#source?.close();
        this.#source = null;
        this.#say(status);
    }

    #seen(epoch) {
        this.epoch = epoch;
        this.#say(this.status);
    }

    #say(status) {
        this.status = status;
        this.dispatchEvent(new CustomEvent("status"));
    }
}
