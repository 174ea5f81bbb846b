// The grammar: rules by words and shape, and where they come from.

import { keep, whole } from "./address.js";
import { ask, attempt, attemptOr, counted, find, latest, make, short, sides, table, words } from "./common.js";

const FIELDS = ["source", "target", "shape"];
const state = { about: null, openPair: null, question: null, shown: 0, asked: null, shapesOf: null };
const newSearch = latest();
const attemptSearch = attemptOr(clear);

export function startRules(about, openPair) {
  Object.assign(state, { about, openPair });
  const kind = (at) => (at < about.runs.length ? "run" : "system");
  about.tables.forEach((name, at) => find("rules-of").append(make("option", { value: at }, `${name} (${kind(at)})`)));
  find("rules-of").parentElement.hidden = about.tables.length < 2;
  find("find-rules").addEventListener("submit", (event) => {
    event.preventDefault();
    attemptSearch(begin);
  });
  find("rules-of").addEventListener("change", () => attemptSearch(begin));
  find("more-rules").addEventListener("click", () => attempt(() => search(state.question, state.shown)));
  return { shown: () => state.asked, restore };
}

function restore(fields, wrong) {
  find("rules-of").value = whole(fields, "of", [0, state.about.tables.length - 1], 0, wrong);
  for (const name of fields.size ? FIELDS : []) find(`rules-${name}`).value = fields.get(name) ?? "";
  return attemptSearch(async () => {
    await search(formed());
    await listShapes();
  });
}

const of = () => Number(find("rules-of").value || 0);

/** Search for what the form says, and keep that in the address. */
async function begin() {
  await search(formed());
  keep("grammar", state.asked);
  await listShapes();
}

/** What shapes there are to choose from. */
async function listShapes() {
  const table_ = of();
  if (state.shapesOf === table_) return;
  const { shapes } = await ask("/shapes", { of: table_ });
  state.shapesOf = table_;
  find("shapes").replaceChildren(...shapes.map((each) => make("option", { value: each.shape }, counted(each.rules, "rule"))));
}

function clear() {
  state.asked = null;
  for (const name of ["rules", "rules-found"]) find(name).replaceChildren();
  find("more-rules").hidden = true;
}

/** The question that the form holds. */
const formed = () => ({ of: of(), ...Object.fromEntries(FIELDS.map((name) => [name, find(`rules-${name}`).value])) });

/** Search for what a question says; more rules are those of the question that the others answered. */
async function search(question, from = 0) {
  const isLast = newSearch();
  const answer = await ask("/grammar", { ...question, from });
  if (!isLast()) return;
  const { of: searched, source, target, shape } = question;
  state.question = question;
  state.asked = { of: state.about.tables.length > 1 ? searched : undefined, source, target, shape };
  if (from === 0) find("rules").replaceChildren();
  find("rules").append(...answer.rules.map((rule) => entry(rule, question.of, answer.counted)));
  state.shown = from + answer.rules.length;
  const order = answer.counted ? "those used most first" : "in the order of the table, which has no counts";
  find("rules-found").textContent = `${answer.found.toLocaleString("en")} of ${counted(answer.of, "rule")}, ${order}`;
  find("more-rules").hidden = state.shown >= answer.found;
}

function entry(rule, table_, hasCount) {
  const body = make("div");
  const count = hasCount ? make("span", { class: "number" }, `count ${short(rule.count)}`) : null;
  const folded = make("details", {}, make("summary", {}, sides(rule.shown), count), body);
  folded.addEventListener("toggle", () => {
    if (folded.open && !body.hasChildNodes()) attempt(() => fill(body, rule, table_));
  });
  return folded;
}

async function fill(body, rule, table_) {
  const rows = Object.entries(rule.features).map(([name, value]) => [name, short(value)]);
  const links = rule.alignment.map((link) => link.join("-")).join(" ");
  body.append(table(["feature", "value"], rows), links ? make("p", { class: "soft" }, `alignment ${links}`) : "");
  if (table_ >= state.about.runs.length) return;
  const answer = await ask("/rule", { of: table_, rule: rule.rule });
  body.append(make("p", {}, whereUsed(answer)), make("ul", { class: "list" }, answer.sentences.map((each) => sentence(each, table_))));
}

/** Where a rule is used, as far as that was looked for. */
function whereUsed({ sentences, candidates, looked_at: lookedAt }) {
  if (lookedAt < candidates) {
    const among = `Of the first ${lookedAt.toLocaleString("en")} of ${counted(candidates, "pair")} that hold its words,`;
    return sentences.length ? `${among} these use it in their last derivations:` : `${among} none uses it in its last derivation.`;
  }
  if (sentences.length) return "Used in the last derivations of these pairs:";
  return `No last derivation uses it, of ${counted(candidates, "pair")} with its words; it was counted in other states.`;
}

function sentence(each, run) {
  const open = () => state.openPair(each.number, each.places[0], run);
  const side = (name) => marked(each[name], each.places.map((place) => place[name]));
  return make("li", {}, make("button", { type: "button", class: "plain", onclick: open }, `pair ${each.number}`), " ", side("source"), " – ", side("target"));
}

/** A sentence with some stretches of it marked. */
function marked(list, spans) {
  const parts = list.map((word, at) => {
    const inside = spans.some(([begin, end]) => begin <= at && at < end);
    return [at ? " " : "", inside ? make("mark", {}, word) : word];
  });
  const line = words("");
  line.append(...parts.flat());
  return line;
}
