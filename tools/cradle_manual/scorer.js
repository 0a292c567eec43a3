/* The order of what the search finds: of pages that match alike, the five that come first on the front page come first here, then
 * the other guides, the reference, and the pages about the collector itself. Fields and enumerators come after all pages, because the
 * last part of many is a common word, such as pause; but not if the reader wrote a name like pause_ns. The weights besides are those
 * of Sphinx. */
var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    if (/^#c\.[^.]+\./.test(anchor)) {
      const isExactName = description !== null && score > 11 && /_[^.]*$/.test(anchor);
      return isExactName ? score : Math.min(score, 11) - 12;
    }
    if (/^docs\/(embed|building|concepts|debugging-a-missing-root|environment)$/.test(page)) return score + 3;
    if (page.startsWith("reference/") && anchor === "") return score - 1;
    return /^(docs\/design\/|CONTRIBUTING$|README$|tests)/.test(page) ? score - 3 : score;
  },
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
