/* Puts an excerpt under each hit of the search. texts.js has the text of each page in parts: [ids, title, prose, code]. */
"use strict";

(() => {
  const LENGTH = 220, BEFORE = 80;
  const query = new URLSearchParams(window.location.search).get("q") || "";
  const [, stems, , words] = Search._parseQuery(query);
  const terms = [...new Set([...words, ...stems])].filter((term) => term.length > 1);
  terms.sort((a, b) => b.length - a.length); // a word before its stem
  const pattern = terms.map((term) => term.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|");
  const matches = (text) => (pattern ? [...text.matchAll(new RegExp(`(?:${pattern})\\w*`, "gi"))] : []);
  const variety = (text) => new Set(matches(text).map((found) => found[0].slice(0, 4).toLowerCase())).size;

  /* The part of a page that has most of the words, rather in prose than in code. */
  const best = (parts) => {
    const worth = ([, title, prose, code]) => 4 * variety(prose) + 2 * variety(title) + variety(code);
    return parts.reduce((found, part) => (worth(part) > worth(found) ? part : found), parts[0]);
  };

  /* From the beginning of the sentence with the first match, if that is near. */
  const cut = (text) => {
    const first = matches(text)[0];
    const at = first ? first.index : 0;
    let begin = Math.max(text.lastIndexOf(". ", at) + 2, text.lastIndexOf("? ", at) + 2);
    if (begin < 2 || at < BEFORE) begin = 0;
    const isCut = at - begin > BEFORE;
    if (isCut) begin = text.indexOf(" ", at - BEFORE) + 1;
    let end = Math.min(begin + LENGTH, text.length);
    if (end < text.length) end = Math.max(text.lastIndexOf(" ", end), at);
    return (isCut ? "… " : "") + text.slice(begin, end) + (end < text.length ? " …" : "");
  };

  const marked = (text) => {
    const nodes = [];
    let last = 0;
    for (const found of matches(text)) {
      const mark = document.createElement("mark");
      mark.textContent = found[0];
      nodes.push(text.slice(last, found.index), mark);
      last = found.index + found[0].length;
    }
    return [...nodes, text.slice(last)];
  };

  const excerpt = (item) => {
    const [file, anchor] = item.querySelector("a").getAttribute("href").split("#");
    const parts = texts[file.replace(/\.html$/, "")] || [];
    const wanted = parts.filter(([ids]) => !anchor || ids.includes(anchor));
    if (wanted.length === 0) return;
    const [ids, title, prose, code] = best(wanted);
    const text = matches(prose).length > 0 || matches(code).length === 0 ? prose || code : code;
    const shown = document.createElement("p");
    shown.className = "context";
    if (!anchor && title && parts.findIndex((part) => part[1]) !== parts.findIndex((part) => part[0] === ids)) {
      const link = shown.appendChild(document.createElement("a"));
      link.href = `${file}#${ids[0]}`;
      link.textContent = title;
      shown.append(": ");
    }
    shown.append(...marked(cut(text)));
    item.append(shown);
  };

  const results = document.getElementById("search-results");
  const observer = new MutationObserver((changes) => {
    for (const change of changes)
      for (const node of change.addedNodes) if (node.tagName === "LI") excerpt(node);
  });
  observer.observe(results, { childList: true, subtree: true });
})();
