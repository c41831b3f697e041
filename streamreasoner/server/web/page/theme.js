// Light, dark, or as the system has it. A classic script in the head, so that the page is never
// drawn in the wrong colours first.
"use strict";
(() => {
    const KEY = "streamreasoner-theme";
    const NEXT = { system: "light", light: "dark", dark: "system" };
    let theme = "system";
    try {
        theme = localStorage.getItem(KEY) in NEXT ? localStorage.getItem(KEY) : theme;
    } catch {
        // Storage may be forbidden; the choice then lasts as long as the page.
    }

    function apply() {
        document.documentElement.dataset.theme = theme;
        const button = document.getElementById("theme");
        if (button !== null) button.textContent = `Theme: ${theme}`;
    }

    apply();
    document.addEventListener("DOMContentLoaded", () => {
        apply();
        document.getElementById("theme").addEventListener("click", () => {
            theme = NEXT[theme];
            try {
                localStorage.setItem(KEY, theme);
            } catch {
                // As above.
            }
            apply();
        });
    });
})();
