// Sentence pairs: the grid, phrases and their edges, derivations, the sampler step by step.

import { keep, whole } from "./address.js";
import { ask, attempt, attemptOr, counted, find, latest, make, picture, share, sides, tell, words } from "./common.js";
import { Grid, holds } from "./grid.js";

const state = { about: null, pair: null, question: null, listed: "", phrase: null, derivation: null, steps: null };
const grid = new Grid(find("grid"), chooseCell);
const newList = latest();
const newPair = latest();
const newPhrase = latest();
const newRecord = latest();
const attemptList = attemptOr(clearList);

/** Prepare the view: what it shows, how to show that again, and how other views open a pair of a run, at a place. */
export function startPairs(about, open) {
  state.about = about;
  about.runs.forEach((run, at) => find("pair-run").append(make("option", { value: at }, `${run.name}, ${counted(run.pairs, "pair")}`)));
  find("pair-run").parentElement.hidden = about.runs.length < 2;
  if (!about.runs.length) {
    find("choose-pair").hidden = true;
    find("paste").open = true;
  }
  on("choose-pair", "submit", () => listPairs(find("pair-words").value), attemptList);
  on("pair-number", "change", () => showNumber(Number(find("pair-number").value)));
  on("pair-run", "change", () => {
    clearList();
    return showNumber(0);
  });
  on("previous-pair", "click", () => showNumber(Number(find("pair-number").value) - 1));
  on("next-pair", "click", () => showNumber(Number(find("pair-number").value) + 1));
  on("random-pair", "click", () => showNumber(Math.floor(Math.random() * run().pairs)));
  on("paste-pair", "submit", () => showPasted());
  on("record", "submit", () => record());
  on("step", "input", () => showStep());
  on("step-back", "click", () => moveTo(at() - 1));
  on("step-on", "click", () => moveTo(at() + 1));
  on("step-change", "click", () => moveTo(nextAfter((choice) => choice.derivation !== null)));
  on("step-sweep", "click", () => moveTo(nextSweep()));
  return {
    shown,
    restore,
    open: (number, place, of) => act(async () => {
      if (find("pair-run").value !== String(of)) clearList();
      find("pair-run").value = of;
      open();
      await showNumber(number);
      if (place) await choosePhrase(phraseAt(place));
    }),
  };
}

/** What the address says of this view. */
function shown() {
  if (state.question === null) return null;
  const { run: of, number, source, target, alignment } = state.question;
  return { run: state.about.runs.length > 1 ? of : undefined, number, source, target, alignment, words: state.listed };
}

function restore(fields, wrong) {
  return attempt(async () => {
    const { runs } = state.about;
    if (!runs.length && ["run", "number", "words"].some((name) => fields.has(name))) wrong.push("there is no run");
    if (runs.length) find("pair-run").value = whole(fields, "run", [0, runs.length - 1], 0, wrong);
    clearList();
    if (fields.size) find("pair-words").value = fields.get("words") ?? "";
    const isLast = newList();
    const own = ["source", "target", "alignment"].filter((name) => fields.has(name));
    if (own.length) {
      find("paste").open = true;
      for (const name of ["source", "target", "alignment"]) find(`pair-${name}`).value = fields.get(name) ?? "";
      await showPasted();
      if (fields.has("number")) wrong.push(`number has no meaning beside ${own[0]}`);
    } else if (runs.length) {
      await showNumber(whole(fields, "number", [0, run().pairs - 1], 0, wrong));
    }
    // Whoever has looked for something else meanwhile keeps what was found.
    if (runs.length && fields.get("words") && isLast()) await listPairs(fields.get("words"));
  });
}

/** Run what may show another pair, and keep it in the address. */
function act(action, attempting = attempt) {
  return attempting(async () => {
    await action();
    keep("pairs", shown());
  });
}

function on(name, kind, action, attempting = attempt) {
  find(name).addEventListener(kind, (event) => {
    if (kind === "submit") event.preventDefault();
    act(action, attempting);
  });
}

const run = () => state.about.runs[Number(find("pair-run").value || 0)];

function clearList() {
  newList();
  state.listed = "";
  find("found-pairs").replaceChildren();
}

/** List the pairs with some words, of the run that is chosen or the one that the list was begun with. */
async function listPairs(wanted, from = 0, of = Number(find("pair-run").value || 0)) {
  const isLast = newList();
  const answer = await ask("/pairs", { run: of, words: wanted, from });
  if (!isLast()) return;
  const items = answer.pairs.map((pair) =>
    make("li", {}, make("button", { type: "button", class: "plain", onclick: () => act(() => showNumber(pair.number)) }, `pair ${pair.number}`),
      " ", words(pair.source), " – ", words(pair.target)));
  state.listed = wanted;
  const more = answer.left
    ? make("button", { type: "button", onclick: () => attempt(() => listPairs(wanted, answer.pairs.at(-1).number + 1, of)) }, "More")
    : null;
  find("found-pairs").replaceChildren(make("p", { role: "status" }, counted(answer.found, "pair")), make("ul", { class: "list" }, items), more ?? "");
}

async function showNumber(number) {
  const most = run().pairs - 1;
  const wanted = Math.min(Math.max(0, Math.trunc(number) || 0), most);
  find("pair-number").value = wanted;
  find("pair-number").max = most;
  await showPair({ run: Number(find("pair-run").value || 0), number: wanted });
  if (wanted !== number) tell(`there is no pair ${Number.isFinite(number) ? number : "of that number"}: here is pair ${wanted}, and there are 0 to ${most}`);
}

function showPasted() {
  return showPair({
    ...(state.about.runs.length ? { run: Number(find("pair-run").value || 0) } : {}),
    source: find("pair-source").value,
    target: find("pair-target").value,
    alignment: find("pair-alignment").value,
  });
}

/** Nothing is shown: neither an answer that still comes, nor a step, is to be of the pair before. */
function clearPair() {
  for (const newer of [newPhrase, newRecord]) newer();
  Object.assign(state, { pair: null, question: null, phrase: null, derivation: null, steps: null });
  find("pair").hidden = true;
}

/** Show a pair; where it cannot be, the one before goes, as the fields no longer say it, unless `otherwise` keeps it. */
async function showPair(question, otherwise = clearPair) {
  const isLast = newPair();
  let pair;
  try {
    pair = await ask("/pair", question);
  } catch (error) {
    if (isLast()) otherwise();
    throw error;
  }
  if (!isLast()) return;
  Object.assign(state, { pair, question, phrase: null, derivation: pair.derivation, steps: null });
  find("pair").hidden = false;
  const place = pair.place ? `: ${pair.place.pair} of the text, under alignment ${pair.place.alignment}` : "";
  find("pair-title").textContent = pair.number === null ? "A pair of your own" : `Pair ${pair.number}${place}`;
  find("pair-texts").replaceChildren(words(pair.source.join(" ")), make("br"), words(pair.target.join(" ")));
  const note = find("pair-note");
  note.hidden = pair.skipped === null;
  note.textContent = pair.skipped ? `The pair has ${pair.skipped}, and so no derivation.` : "";
  find("pair-source").value = pair.source.join(" ");
  find("pair-target").value = pair.target.join(" ");
  find("pair-alignment").value = pair.links.map((link) => link.join("-")).join(" ");
  find("steps").hidden = true;
  find("record").hidden = pair.skipped !== null;
  find("steps-note").textContent = stepsNote(pair);
  grid.show(pair);
  showDerivation(pair.derivation, pair.picture);
  if (pair.phrases.length) await choosePhrase(pair.phrases.length - 1);
  else find("phrase").replaceChildren(make("p", { class: "soft" }, "A pair without links has no phrases."));
}

function stepsNote(pair) {
  const base = moves(run() ?? {});
  if (!state.about.runs.length) return `${base} There is no run here, so no rule has been seen anywhere else.`;
  if (pair.number === null) return `${base} The pair begins with a rule at every phrase, and sees the rules of all pairs of ${run().name}.`;
  return `${base} It begins with the derivation that ${run().name} ended with, given those of all other pairs.`;
}

/** What a sweep of a run does with a pair. */
function moves({ operator, choose }) {
  const proposes = "proposes a whole derivation, and takes it or not";
  if (operator === "rejection") return `In each sweep the sampler ${proposes}, with the weights shown.`;
  const first = choose === "sentence" ? `In each sweep the sampler first ${proposes}. ` : "";
  return `${first}At each node the sampler chooses how the phrase is built, and whether a rule begins there, with the weights shown.`;
}

// ---- Phrases -------------------------------------------------------------------------------------

function chooseCell(i, j) {
  act(async () => {
    if (document.querySelector("input[name=clicking]:checked").value === "link") await toggle(i, j);
    else await choosePhrase(nextPhrase(i, j));
  });
}

async function toggle(i, j) {
  const links = state.pair.links.filter(([a, b]) => a !== i || b !== j);
  if (links.length === state.pair.links.length) links.push([i, j]);
  const alignment = links.map((link) => link.join("-")).join(" ");
  const { source, target } = state.pair;
  await showPair({
    ...(state.question.run === undefined ? {} : { run: state.question.run }),
    source: source.join(" "),
    target: target.join(" "),
    alignment,
  }, () => {});
}

/** The smallest phrase around a cell, or if that is chosen, the next larger one. */
function nextPhrase(i, j) {
  const cell = { source: [i, i + 1], target: [j, j + 1] };
  const size = ({ source, target }) => (source[1] - source[0]) * (target[1] - target[0]);
  const around = state.pair.phrases.map((phrase, at) => [phrase, at]).filter(([phrase]) => holds(phrase, cell));
  around.sort((one, other) => size(one[0]) - size(other[0]));
  const before = around.findIndex(([, at]) => at === state.phrase);
  return around.length ? around[(before + 1) % around.length][1] : null;
}

/** The phrase at a place, or, where a rule takes in unaligned words at its ends too, the one it is built around. */
function phraseAt(place) {
  const same = (phrase) => ["source", "target"].every((side) => phrase[side].join() === place[side].join());
  const at = state.pair.phrases.findIndex(same);
  if (at >= 0) return at;
  const size = ({ source, target }) => (source[1] - source[0]) * (target[1] - target[0]);
  const within = state.pair.phrases.map((phrase, k) => [phrase, k]).filter(([phrase]) => holds(place, phrase));
  within.sort((one, other) => size(other[0]) - size(one[0]));
  return within.length ? within[0][1] : null;
}

const told = (phrase) => [words(state.pair.source.slice(...phrase.source).join(" ")), " – ",
  words(state.pair.target.slice(...phrase.target).join(" "))];

async function choosePhrase(at) {
  if (at === null) {
    find("phrase").replaceChildren(make("p", { class: "soft" }, "No phrase: its words are linked to words outside, or to none."));
    return;
  }
  state.phrase = at;
  mark();
  const isLast = newPhrase();
  const answer = await ask("/forest", { ...state.question, phrase: at });
  if (!isLast()) return;
  const phrase = state.pair.phrases[at];
  const numbers = `source ${phrase.source.join("–")}, target ${phrase.target.join("–")}, level ${phrase.level}, ` +
    (phrase.trees === "1" ? "1 tree" : `${phrase.trees} trees`) +
    (phrase.in_tree === undefined ? "" : `; part of ${percent(phrase.in_tree)} of the run's derivations, ` +
      `a rule begins here in ${percent(phrase.cut)}`);
  const rows = answer.edges.map((edge) => [sides(edge.shown), parts(edge.parts.map((part) => state.pair.phrases[part]))]);
  find("phrase").replaceChildren(
    make("p", {}, told(phrase), make("br"), make("span", { class: "soft" }, numbers)),
    rows.length === 1 && !answer.edges[0].parts.length
      ? make("p", { class: "soft" }, "Its minimal rule is ", sides(answer.edges[0].shown), "; nothing is below it.")
      : fold(`${rows.length} ${rows.length === 1 ? "edge" : "edges"}: how it can be built`,
        optionsTable(["minimal rule", "of the phrases"], rows), rows.length <= 6),
    answer.picture ? fold("As a picture", make("div", { class: "scroll" }, picture(answer.picture, "edges of the phrase"))) : "",
    answer.above.length ? fold(`Part of ${answer.above.length} larger`, parts(answer.above.map((k) => state.pair.phrases[k]))) : "",
  );
}

function fold(title, content, open = false) {
  return make("details", open ? { open: "" } : {}, make("summary", {}, title), content);
}

const percent = (part) => `${Math.round(100 * part)}%`;

function parts(phrases) {
  return make("ul", { class: "list" }, phrases.map((phrase) =>
    make("li", {},
      make("button", { type: "button", class: "plain", onclick: () => attempt(() => choosePhrase(phraseAt(phrase))) }, told(phrase)),
      phrase.in_tree === undefined ? "" : make("span", { class: "soft" }, ` in ${percent(phrase.in_tree)}`))));
}

function optionsTable(header, rows) {
  const head = make("tr", {}, header.map((cell) => make("th", { scope: "col" }, cell)));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": header[0] },
    make("table", { class: "options" }, make("thead", {}, head),
      make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell) => make("td", {}, cell)))))));
}

function mark(extra = []) {
  const places = [];
  for (const stack = [state.derivation]; stack.length;) {
    const node = stack.pop();
    if (node) {
      places.push(node);
      stack.push(...node.parts);
    }
  }
  grid.shades(state.pair.phrases.filter((phrase) => phrase.cut > 0));
  grid.boxes(places);
  const chosen = state.phrase === null ? [] : [[state.pair.phrases[state.phrase], "chosen"]];
  grid.marks(extra.length ? extra : chosen);
}

// ---- Derivations ---------------------------------------------------------------------------------

function showDerivation(derivation, drawn = null) {
  const folded = find("derivation-picture");
  folded.hidden = drawn === null;
  folded.querySelector("div").replaceChildren(drawn ? picture(drawn, "derivation") : "");
  const nothing = "It has none yet: sample below.";
  find("derivation").replaceChildren(derivation
    ? make("ul", { class: "tree" }, branch(derivation))
    : make("p", { class: "soft" }, nothing));
}

function branch(node) {
  const button = make("button", { type: "button", class: "plain", onclick: () => attempt(() => choosePhrase(phraseAt(node))) }, sides(node.shown));
  return make("li", {}, button, node.parts.length ? make("ul", {}, node.parts.map(branch)) : null);
}

// ---- Steps ---------------------------------------------------------------------------------------

async function record() {
  const wanted = { ...state.question, sweeps: Number(find("sweeps").value), seed: Number(find("seed").value) };
  const [asked, isLast] = [state.pair, newRecord()];
  const answer = await ask("/steps", wanted);
  if (asked !== state.pair || !isLast()) return;
  state.steps = answer;
  find("steps").hidden = false;
  find("step").max = Math.max(0, answer.choices.length - 1);
  if (!answer.choices.length) {
    find("choice").replaceChildren(make("p", {}, "There is nothing to choose: the pair has one derivation."));
    find("step-number").textContent = "";
    state.derivation = answer.first;
    showDerivation(answer.first);
    mark();
    return;
  }
  moveTo(0);
}

const at = () => Number(find("step").value);

function moveTo(step) {
  find("step").value = Math.min(Math.max(0, step), state.steps.choices.length - 1);
  showStep();
}

function nextAfter(wanted) {
  const next = state.steps.choices.findIndex((choice, k) => k > at() && wanted(choice));
  return next < 0 ? state.steps.choices.length - 1 : next;
}

function nextSweep() {
  return state.steps.begins.find((begin) => begin > at()) ?? state.steps.choices.length - 1;
}

function showStep() {
  const { choices, begins, first, complete } = state.steps;
  const step = at();
  const choice = choices[step];
  const sweep = begins.filter((begin) => begin <= step).length;
  const cut = complete ? "" : ", as many as are recorded at a time";
  find("step-number").textContent = `${step + 1} of ${choices.length}${cut}; sweep ${sweep} of ${begins.length}`;
  find("step").setAttribute("aria-valuetext", find("step-number").textContent);
  const before = choices.slice(0, step + 1).findLast((each) => each.derivation !== null);
  state.derivation = before ? before.derivation : first;
  showDerivation(state.derivation);
  mark([[choice, "here"]]);
  const shown = { edge: edges, cut: cuts, derivation: proposals }[choice.kind];
  find("choice").replaceChildren(question(choice), shown(choice));
  find("step-back").disabled = step === 0;
  for (const name of ["step-on", "step-change", "step-sweep"]) find(name).disabled = step === choices.length - 1;
}

function question(choice) {
  const asks = {
    edge: ["How is ", told(choice), " built?"],
    cut: ["Does a rule begin at ", told(choice),
      choice.options.some((option) => option.place) ? ", and which unaligned words beside it does it take?" : "?"],
    derivation: ["A whole derivation is proposed. Is it taken?"],
  }[choice.kind];
  const changes = choice.derivation === null ? " It stays as it was." : " It changes.";
  return make("p", {}, asks, changes);
}

function options(choice, cells) {
  const rows = choice.options.map((option, k) => {
    const said = k === choice.chosen ? "chosen" : k === choice.before ? "before" : "";
    return make("tr", k === choice.chosen ? { class: "taken" } : {},
      [share(option.share), said, cells(option, k)].map((cell) => make("td", {}, cell)));
  });
  const head = make("tr", {}, ["weight", "", "option"].map((cell) => make("th", { scope: "col" }, cell)));
  return make("div", { class: "scroll" }, make("table", { class: "options" }, make("thead", {}, head), make("tbody", {}, rows)));
}

function edges(choice) {
  return options(choice, (option) => {
    const show = () => mark([[choice, "here"], ...option.parts.map(([source, target]) => [{ source, target }, "part"])]);
    const shown = option.parts.map(([source, target], k) => [k ? make("br") : null, told({ source, target })]);
    return make("button", { type: "button", class: "plain", onclick: show, onmouseenter: show, onfocus: show }, shown);
  });
}

/** The old derivation and the proposed one, with what decides: ln P − ln Q of both. */
function proposals(choice) {
  const sure = (option) => `ln P ${option.log_prob.toFixed(2)}, ln Q ${option.log_proposal.toFixed(2)}, ` +
    `ln P − ln Q ${(option.log_prob - option.log_proposal).toFixed(2)}`;
  return options(choice, (option, k) => [
    make("div", {}, k ? "the one that is proposed: " : "the old one: ", make("span", { class: "soft" }, sure(option))),
    fold("its rules", make("ul", { class: "tree" }, branch(option.derivation))),
  ]);
}

function cuts(choice) {
  return options(choice, (option) => {
    const [source, target] = option.place ?? [];
    const show = () => mark([[choice, "here"], [{ source, target }, "part"]]);
    const where = option.place
      ? ["yes, at ", make("button", { type: "button", class: "plain", onclick: show, onmouseenter: show, onfocus: show }, told({ source, target })), ": "]
      : option.rules.length > 1 ? "yes: " : "no: ";
    return [
      where,
      option.rules.map((rule) => make("div", {}, sides(rule.shown), make("span", { class: "soft" }, ` elsewhere ${counted(rule.seen, "time")}`))),
    ];
  });
}
