// The views, and which of them is shown.

import { enter, isSame, passedOver, read, replace, VIEWS } from "./address.js";
import { attempt, find, latest, make, tell } from "./common.js";
import { startPairs } from "./pairs.js";
import { startRules } from "./rules.js";
import { startTranslations } from "./translations.js";

const newShown = latest();

attempt(async () => {
  const about = await (await fetch("/about")).json();
  const names = [...new Set([...about.runs, ...about.systems].map((each) => each.name))];
  find("names").textContent = names.join(" and ");
  document.title = `Explore ${names.join(" and ")}`;
  find("curl").textContent = example(about);
  const { open, ...pairs } = startPairs(about, () => {
    uncover("pairs", about);
    find("pairs").scrollIntoView();
  });
  const programs = { shown: () => ({}), restore: async () => true };
  const views = { pairs, grammar: startRules(about, open), translation: startTranslations(about), programs };
  addEventListener("hashchange", () => show(views, about));
  addEventListener("paste", tellOfLines);
  show(views, about);
});

function example(about) {
  const asked = about.systems.length
    ? ["translate", { text: "…", nbest: 5 }]
    : ["steps", { number: 0, sweeps: 3, seed: 1 }];
  return `curl -H 'Content-Type: application/json' ${location.origin}/${asked[0]} -d '${JSON.stringify(asked[1])}'`;
}

/** A field takes one line: of more that are pasted, the browser makes one. */
function tellOfLines(event) {
  const lines = (event.clipboardData?.getData("text") ?? "").split(/[\r\n]+/).filter((line) => line.trim());
  if (lines.length > 1 && event.target.matches("input")) {
    tell(`${lines.length} lines were pasted, and are one line here: a field takes one sentence`);
  }
}

/** Show what the address says: a view, by default the first there is something in, as it was left unless more is said. */
async function show(views, about) {
  const isLast = newShown();
  const { view, fields, wrong } = read();
  const chosen = view || (about.runs.length ? "pairs" : "translation");
  const { shown, restore } = views[chosen];
  uncover(chosen, about);
  const isThere = shown() !== null && (!fields.size || isSame(chosen, Object.fromEntries(fields), shown()));
  if (isThere) tell("");
  else if (!(await restore(fields, wrong))) return;
  if (!isLast()) return;
  replace(chosen, shown());
  if (wrong.length) tell(passedOver(wrong));
}

/** Show a view, whatever is in it. */
function uncover(chosen, about) {
  enter(chosen);
  for (const view of VIEWS) {
    find(view).hidden = view !== chosen;
    const link = document.querySelector(`nav a[href="#${view}"]`);
    if (view === chosen) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  if (chosen === "translation" && !about.systems.length && !find("no-system")) {
    const text = "There is no system here. Start explore with a directory that scfg-decoder bundle wrote, beside the run.";
    find("systems").before(make("p", { class: "note", id: "no-system" }, text));
    find("translate").hidden = true;
  }
}
