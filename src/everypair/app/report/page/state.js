// What the reader has chosen, and the counts that follow from it.

const models = data.models;
const state = {
  model: Math.max(0, data.models.findIndex((model) => model.name === data.recommended)),
  at: 0, // place in the cuts of the model, highest threshold first
  rule: data.start,
  costs: { fp: 1, fn: 1 }, // `startThreshold` begins with the class shares
  bands: "chosen",
  shown: new Set(),
};

// The first model, the best baseline and the best of the other kind: enough to begin with.
// The chosen one, at first the recommended one, is drawn in any case.
function fewModels() {
  const baseline = models.findIndex((model) => model.name === data.best_baseline);
  const ours = models.findIndex((model) => model.kind === "everypair");
  return new Set([0, baseline, ours].filter((place) => place >= 0));
}

const chosen = () => models[state.model];
const totals = { positive: data.n_positive, negative: data.n_negative };
const ratio = (part, whole) => (whole > 0 ? part / whole : 0);

// Most of c_fn TP - c_fp FP is least of c_fp FP + c_fn FN; of equal ones the highest cut.
function leastCost(model) {
  let best = 0;
  let most = -Infinity;
  model.threshold.forEach((_, i) => {
    const worth = state.costs.fn * model.tp[i] - state.costs.fp * model.fp[i];
    if (worth > most) [best, most] = [i, worth];
  });
  return best;
}

function followRule() {
  const model = chosen();
  if (state.rule === "cost") state.at = leastCost(model);
  else if (state.rule in model.standard) state.at = model.standard[state.rule];
  else state.at = nearestThreshold(model, state.threshold);
  state.threshold = model.threshold[state.at];
}

// Scores of models are not on one scale: a threshold set by hand keeps the share it calls.
function keepShare(from, to) {
  const called = (model, i) => model.tp[i] + model.fp[i];
  const wanted = called(from, state.at);
  state.threshold = to.threshold[nearest(to.threshold.map((_, i) => called(to, i)), (n) => Math.abs(n - wanted))];
}

// The place of the least distance; of equal ones the first.
function nearest(values, distance) {
  let best = 0, least = Infinity;
  values.forEach((value, i) => {
    const here = distance(value);
    if (here < least) [best, least] = [i, here];
  });
  return best;
}

const nearestThreshold = (model, wanted) => nearest(model.threshold, (cut) => Math.abs(cut - wanted));
const costOf = (tp, fp) => state.costs.fp * fp + state.costs.fn * (totals.positive - tp);

// A cut in words: the probability there, or the score of a model without probabilities.
function cutWords(at, model = chosen()) {
  return model.probability ? share(model.probability[at]) : significant(model.threshold[at]);
}

function outcome() {
  const model = chosen();
  // The models of the folds cut each at a place of its own.
  const { tp, fp } = (state.rule === "own" && model.own) || { tp: model.tp[state.at], fp: model.fp[state.at] };
  const fn = totals.positive - tp;
  const tn = totals.negative - fp;
  return {
    tp, fp, fn, tn,
    threshold: model.threshold[state.at],
    called: tp + fp,
    precision: ratio(tp, tp + fp),
    recall: ratio(tp, totals.positive),
    specificity: ratio(tn, totals.negative),
    f1: ratio(2 * tp, totals.positive + tp + fp),
    cost: costOf(tp, fp),
  };
}
