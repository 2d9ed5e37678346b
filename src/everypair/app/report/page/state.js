// What the reader has chosen, and the counts that follow from it.

const models = data.models;
const state = {
  model: 0,
  at: 0, // place in the cuts of the model, highest threshold first
  rule: "own",
  costs: { fp: 1, fn: 1 },
  bands: "chosen",
  shown: new Set(),
};

// The first model, the best baseline and the best of the other kind: enough to begin with.
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
  let best = 0;
  to.threshold.forEach((_, i) => {
    if (Math.abs(called(to, i) - wanted) < Math.abs(called(to, best) - wanted)) best = i;
  });
  state.threshold = to.threshold[best];
}

function nearestThreshold(model, wanted) {
  let best = 0;
  model.threshold.forEach((threshold, i) => {
    if (Math.abs(threshold - wanted) < Math.abs(model.threshold[best] - wanted)) best = i;
  });
  return best;
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
    cost: state.costs.fp * fp + state.costs.fn * fn,
  };
}
