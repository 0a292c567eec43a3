/* The order of what the search finds: of pages that match alike, the user's come before those about the collector itself, and the
 * five that come first before these. The weights besides are those of Sphinx. */
var Scorer = {
  score: ([page, title, anchor, description, score]) => {
    if (/^docs\/(embed|building|concepts|debugging-a-missing-root|environment)$/.test(page)) return score + 3;
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
