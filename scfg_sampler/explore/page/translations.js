// Translations by one system or two, beside each other; weights that can be moved.

import { keep, whole } from "./address.js";
import { ask, attemptOr, counted, find, latest, make, picture, share, short, sides, signed, table, words } from "./common.js";

const panels = [];
let wanted = null;  // What was asked last,
let asked = null;  // and what is shown: never two texts beside each other, nor one that only stands in the field.

export function startTranslations(about) {
  find("systems").classList.add("columns");
  about.systems.forEach((system, at) => panels.push(new Panel(system, at)));
  find("systems").append(...panels.map((panel) => panel.element));
  find("translate").addEventListener("submit", (event) => {
    event.preventDefault();
    translateAll().then(keepShown);
  });
  return { shown: () => asked, restore };
}

const attemptAll = attemptOr(() => {
  asked = null;
  panels.forEach((panel) => panel.clear());
});

function translateAll() {
  wanted = { text: find("text").value, nbest: listed() };
  return attemptAll(() => showThose(panels));
}

/** Have some systems translate what was asked last, and show all, once they have. */
async function showThose(some) {
  const own = wanted;
  await Promise.all(some.map((panel) => panel.translate(own)));
  if (panels.some((panel) => panel.answered !== wanted)) return;
  asked = wanted;
  panels.forEach((panel) => panel.show());
}

function keepShown() {
  keep("translation", asked);
}

const listed = () => Number(find("nbest").value) || 1;

async function restore(fields, wrong) {
  find("nbest").value = whole(fields, "nbest", [1, 100], listed(), wrong);
  if (!fields.has("text")) return true;
  find("text").value = fields.get("text");
  if (panels.length) return translateAll();
  wrong.push("there is no system");
  return true;
}

class Panel {
  constructor(system, at) {
    Object.assign(this, { system, at, answer: null, answered: null, own: null, weights: {}, newest: latest(), timer: 0 });
    const takes = `${system.languages ? `${system.languages.join(" → ")}, ` : ""}takes ${system.takes}`;
    this.output = make("div", { "aria-live": "polite" });
    this.details = make("div");
    this.element = make("section", { class: "pair", "aria-label": `system ${system.name}` },
      make("h3", {}, system.name, " ", make("span", { class: "soft" }, takes)), this.output, this.moving(), this.details);
  }

  /** The weights, each as a number and as a slider. */
  moving() {
    this.inputs = Object.entries(this.system.weights).map(([name, value]) => this.weight(name, value));
    const reset = make("button", { type: "button", onclick: () => this.reset() }, "As they were");
    return make("details", { class: "moving" }, make("summary", {}, "Weights"),
      make("p", { class: "soft" }, "Move a weight and see what changes. The score is the sum of weight times feature."),
      make("div", { class: "weights" }, this.inputs.map((each) => each.label)), make("p", {}, reset));
  }

  weight(name, value) {
    const reach = Math.max(1, 2 * Math.abs(value));
    const shown = Number(value.toPrecision(4));
    const number = make("input", { type: "number", step: "any", value: shown, "aria-label": `weight of ${name}` });
    const slider = make("input", {
      type: "range", min: value - reach, max: value + reach, step: reach / 100, value, "aria-label": `weight of ${name}, slider`,
    });
    const said = make("span", {}, name);
    const entry = { name, value, number, slider, said, shown, label: make("label", {}, said, number, slider) };
    number.addEventListener("input", () => {
      slider.value = number.value;
      this.moved(entry, Number(number.value));
    });
    slider.addEventListener("input", () => {
      number.value = Number(Number(slider.value).toPrecision(4));
      this.moved(entry, Number(slider.value));
    });
    return entry;
  }

  moved(entry, value) {
    if (Number.isFinite(value)) this.weights[entry.name] = value;
    entry.said.classList.add("moved");
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.again(), 200);
  }

  reset() {
    this.weights = {};
    for (const each of this.inputs) {
      each.number.value = each.shown;
      each.slider.value = each.value;
      each.said.classList.remove("moved");
    }
    this.again();
  }

  again() {
    if (!wanted) return;
    const some = panels.filter((panel) => panel === this || panel.answered !== wanted);
    attemptAll(() => showThose(some)).then(keepShown);
  }

  /** Ask for what is wanted, with the weights as they are now; the answer counts unless something else has been asked since. */
  async translate(question) {
    const isLast = this.newest();
    const { text, nbest } = question;
    const answer = await ask("/translate", { system: this.at, text, nbest, details: true, weights: this.weights });
    if (!isLast()) return;
    if (!Object.keys(this.weights).length) this.own = { text, answer };
    else if (this.own === null || this.own.text !== text) {
      this.own = { text, answer: await ask("/translate", { system: this.at, text }) };
    }
    if (!isLast()) return;
    Object.assign(this, { answer, answered: question });
  }

  clear() {
    Object.assign(this, { answer: null, answered: null });
    this.output.replaceChildren();
    this.details.replaceChildren();
  }

  show() {
    if (!this.answer) return;
    if (!this.answer.source.length) {
      this.output.replaceChildren(make("p", { class: "soft" }, "The text has no words."));
      this.details.replaceChildren();
      return;
    }
    const others = panels.filter((panel) => panel !== this && panel.answer);
    const beside = others.length ? others[0].answer.translation : this.own.answer.translation;
    const moved = Object.keys(this.weights).length > 0;
    const own = this.own.answer;
    const same = own.translation === this.answer.translation;
    this.output.replaceChildren(
      make("p", { class: "answer" }, marked(this.answer.translation, beside)),
      make("p", { class: "soft" }, `score ${this.answer.score.toFixed(4)}`.replace("-", "−")),
      moved ? make("p", {}, same ? "The weights of the system give the same." : ["With the weights of the system: ", words(own.translation)]) : "",
    );
    const open = [...this.details.querySelectorAll("details")].map((each) => each.open);
    this.details.replaceChildren(this.list(), this.derivation(), this.tried());
    [...this.details.querySelectorAll("details")].forEach((each, k) => {
      if (open.length) each.open = open[k] ?? false;
    });
  }

  list() {
    const names = Object.keys(this.answer.features);
    const rows = (this.answer.nbest ?? []).map((each) =>
      [words(each.translation), short(each.score), ...names.map((name) => short(each.features[name]))]);
    return make("details", { open: "", class: "answers" }, make("summary", {}, `${rows.length} best`),
      rows.length ? table(["translation", "score", ...names], rows) : make("p", { class: "soft" }, "none"));
  }

  derivation() {
    const { derivation, picture: drawn } = this.answer;
    if (!derivation || !derivation.nodes.length) return "";
    const scores = new Map(derivation.nodes.map((node, at) => [at, node]));
    const branch = (at) => {
      const node = scores.get(at);
      const inside = node.children.length ? make("ul", {}, node.children.map(branch)) : null;
      const numbers = make("span", { class: "soft" }, ` ${signed(node.score)}, words ${node.span.join("–")}`);
      const tip = `used in ${(100 * node.posterior).toFixed(1)} % of the weight of all derivations that were kept`;
      return make("li", { title: tip }, sides(node.shown), numbers, inside);
    };
    return make("details", { open: "" }, make("summary", {}, "Derivation"),
      make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": "picture of the derivation" }, picture(drawn, "derivation")),
      make("ul", { class: "tree" }, branch(0)));
  }

  tried() {
    const { spans, source } = this.answer;
    if (!spans || !spans.length) return "";
    const rules = make("div");
    const chosen = make("select", { "aria-label": "words" }, spans.map((each, at) =>
      make("option", { value: at }, `${each.span.join("–")}: ${source.slice(...each.span).join(" ")}`)));
    const show = () => {
      const span = spans[Number(chosen.value)];
      rules.replaceChildren(
        make("p", { class: "soft" }, `${counted(span.matching, "rule")} ${span.matching === 1 ? "matches" : "match"}, ${span.kept} kept by the search` +
          (span.kept > span.rules.length ? `, of which the ${span.rules.length} most probable are listed.` : ".")),
        table(["rule", "probability", "score"], span.rules.map((each) => [sides(each.shown), share(each.posterior), signed(each.score)])));
    };
    chosen.addEventListener("change", show);
    show();
    return make("details", {}, make("summary", {}, "What was tried where"), make("p", {}, chosen), rules);
  }
}

/** The words of a text, those that another has not marked. */
function marked(text, other) {
  const line = words("");
  const known = new Map();
  for (const word of other.split(" ")) known.set(word, (known.get(word) ?? 0) + 1);
  text.split(" ").forEach((word, at) => {
    const left = known.get(word) ?? 0;
    known.set(word, left - 1);
    line.append(at ? " " : "", left > 0 ? word : make("mark", {}, word));
  });
  return line;
}
