// Pages that explain a word come before methods of that name.
var Scorer = {
  objNameMatch: 8,
  objPartialMatch: 4,
  objPrio: { 0: 5, 1: 0, 2: -5 },
  objPrioDefault: 0,
  title: 20,
  partialTitle: 14,
  term: 5,
  partialTerm: 2,
};
