// The views, and which of them is shown.

import { attempt, find, make, tell } from "./common.js";
import { startPairs } from "./pairs.js";
import { startRules } from "./rules.js";
import { startTranslations } from "./translations.js";

const VIEWS = ["pairs", "grammar", "translation", "programs"];

attempt(async () => {
  const about = await (await fetch("/about")).json();
  const names = [...new Set([...about.runs, ...about.systems].map((each) => each.name))];
  find("names").textContent = names.join(" and ");
  document.title = `Explore ${names.join(" and ")}`;
  find("curl").textContent = example(about);
  const pairs = startPairs(about, () => go("pairs"));
  startRules(about, pairs);
  startTranslations(about);
  addEventListener("hashchange", () => show(about));
  addEventListener("paste", tellOfLines);
  show(about);
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

function go(view) {
  if (location.hash === `#${view}`) find(view).scrollIntoView();
  else location.hash = view;
}

/** Show the view that the address names; by default the first there is something in. */
function show(about) {
  const named = location.hash.slice(1);
  const chosen = VIEWS.includes(named) ? named : about.runs.length ? "pairs" : "translation";
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
  document.dispatchEvent(new CustomEvent("shown", { detail: chosen }));
}
