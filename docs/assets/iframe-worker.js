// A page that is opened from the disk may not start a worker, which the search is: its script runs in a frame instead.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    #frame = document.createElement("iframe");
    #loaded;

    constructor(address) {
      super();
      this.#frame.hidden = true;
      document.body.append(this.#frame);
      const inside = this.#frame.contentWindow;
      inside.document.open();
      // From here on, as the empty document has been loaded when the frame is in the page.
      this.#loaded = new Promise((resolve) => this.#frame.addEventListener("load", resolve));
      inside.postMessage = (data) => {
        const event = new MessageEvent("message", { data });
        this.onmessage?.(event);
        this.dispatchEvent(event);
      };
      inside.importScripts = (...scripts) => {
        for (const each of scripts) inside.document.write(`<script src="${each}"></script>`);
      };
      inside.document.write(`<script src="${new URL(address, location)}"></script>`);
      inside.document.close();
    }

    postMessage(data) {
      this.#loaded.then(() => {
        const inside = this.#frame.contentWindow;
        inside.dispatchEvent(new inside.MessageEvent("message", { data }));
      });
    }

    terminate() {
      this.#frame.remove();
    }
  };
}
