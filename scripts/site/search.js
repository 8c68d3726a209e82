"use strict";
// The search. The index is a script, which is loaded when the box is first used: a page that was
// opened from a file cannot fetch. "/" goes to the box, arrows choose, Enter opens, Escape leaves.
{
    const base = new URL(".", document.currentScript.src);
    const form = document.getElementById("search");
    const input = form.querySelector("input");
    const list = document.getElementById("found");
    const most = 30;
    let chosen = 0;
    let asked = false;

    const load = () => {
        if (asked) return;
        asked = true;
        const script = document.createElement("script");
        script.src = new URL("search-index.js", base);
        script.onload = show;
        document.head.append(script);
    };

    // How well an entry fits, the least first; undefined if it does not. Then kinds count:
    // functions come first.
    const fit = (name, text, query, words) => {
        const bare = name.replace(/^leat_|^-+/, "");
        if (name === query) return 0;
        if (bare === query) return 1;
        if (name.startsWith(query) || bare.startsWith(query)) return 2;
        if (name.includes(query)) return 3;
        if (words.every((word) => name.includes(word))) return 4;
        if (words.every((word) => (name + " " + text).includes(word))) return 5;
    };

    const find = (query, words) => searchIndex.entries
        .map((entry, order) => {
            const [kind, name, page, , text] = entry;
            const all = `${searchIndex.pages[page][1]} ${text}`.toLowerCase();
            const level = fit(name.toLowerCase(), all, query, words);
            return { entry, level, kind, length: level < 4 ? name.length : 0, order };
        })
        .filter((found) => found.level !== undefined)
        .sort((a, b) => a.level - b.level || a.kind - b.kind || a.length - b.length ||
            a.order - b.order)
        .slice(0, most)
        .map((found) => found.entry);

    const make = (tag, text) => Object.assign(document.createElement(tag), { textContent: text });

    // The text around the first of the words, with the words marked.
    const snippet = (text, words) => {
        const at = words.map((word) => text.toLowerCase().indexOf(word)).filter((i) => i >= 0);
        const near = Math.min(...at, text.length);
        const from = at.length && near > 40 ? text.indexOf(" ", near - 40) + 1 : 0;
        const quoted = words.map((word) => word.replace(/[^\p{L}\p{N}_]/gu, "\\$&"));
        const parts = text.slice(from, from + 140).split(RegExp(`(${quoted.join("|")})`, "i"));
        const p = make("p", from ? "… " : "");
        p.append(...parts.map((part, i) => i % 2 ? make("mark", part) : part));
        return p;
    };

    const item = ([kind, name, page, anchor, text], number, words) => {
        const [file, title] = searchIndex.pages[page];
        const where = name === title ? "" : ` · ${title}`;
        const a = make("a", "");
        a.href = new URL(anchor ? `${file}#${anchor}` : file, base);
        a.tabIndex = -1;
        a.append(make("b", name), make("i", ` ${searchIndex.kinds[kind]}${where}`),
            snippet(text, words));
        const li = make("li", "");
        li.id = `found-${number}`;
        li.setAttribute("role", "option");
        li.append(a);
        return li;
    };

    const choose = (number) => {
        const items = list.querySelectorAll("[role=option]");
        chosen = items.length ? (number + items.length) % items.length : 0;
        items.forEach((li, i) => li.setAttribute("aria-selected", i === chosen));
        items[chosen]?.scrollIntoView({ block: "nearest" });
        if (items.length) input.setAttribute("aria-activedescendant", items[chosen].id);
        else input.removeAttribute("aria-activedescendant");
    };

    const open = (shown) => {
        list.hidden = !shown;
        input.setAttribute("aria-expanded", shown);
    };

    const show = () => {
        const query = input.value.trim().toLowerCase();
        load();
        if (!query || typeof searchIndex === "undefined") return open(false);
        const words = query.split(/\s+/);
        list.replaceChildren(...find(query, words).map((entry, i) => item(entry, i, words)));
        if (!list.children.length) list.append(make("li", "Nothing is found."));
        open(true);
        choose(0);
    };

    input.addEventListener("focus", load);
    input.addEventListener("input", show);
    input.addEventListener("keydown", (event) => {
        if (event.key === "ArrowDown") choose(chosen + 1);
        else if (event.key === "ArrowUp") choose(chosen - 1);
        else if (event.key === "Escape") open(false);
        else return;
        event.preventDefault();
    });
    form.addEventListener("submit", (event) => {
        event.preventDefault();
        if (list.hidden) show();
        else list.querySelectorAll("[role=option] a")[chosen]?.click();
    });
    list.addEventListener("click", () => open(false));
    form.addEventListener("focusout", (event) => {
        if (!form.contains(event.relatedTarget)) open(false);
    });
    list.addEventListener("mousedown", (event) => event.preventDefault());
    document.addEventListener("keydown", (event) => {
        if (event.key !== "/" || event.target === input || event.ctrlKey || event.altKey) return;
        event.preventDefault();
        input.select();
    });
    // A list that was opened over the text would hide what a link in it leads to.
    for (const nav of document.querySelectorAll("nav[popover]")) {
        nav.addEventListener("click", (event) => {
            if (event.target.closest("a") && nav.matches(":popover-open")) nav.hidePopover();
        });
    }
    form.hidden = false;
}
