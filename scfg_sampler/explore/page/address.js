// What the address holds: the view, and what is shown there, to be reloaded, gone back to, and sent to others.
//
// It comes from anywhere: what it has is text, to be looked for or told, and what cannot be is passed over.

/** The views, and what the address may say of each. */
const FIELDS = new Map([
  ["pairs", ["run", "number", "source", "target", "alignment", "words"]],
  ["grammar", ["of", "source", "target", "shape"]],
  ["translation", ["text", "nbest"]],
  ["programs", []],
]);
export const VIEWS = [...FIELDS.keys()];

const MOST_TOLD = 3;
let current = "";
let known = location.hash;  // As it was last read or written here. The browser's buttons change it, and tell of it later.

/** The view that the address names, or ""; what it says of it, by name; and what is wrong with it, as texts. */
export function read() {
  const [, name, query] = location.hash.match(/^#?([^?]*)\??([^]*)$/);
  const view = FIELDS.has(name) ? name : "";
  known = location.hash;
  const wrong = location.hash && !view ? [`there is no view ${quoted(name)}`] : [];
  const fields = new Map();
  for (const [key, value] of view ? new URLSearchParams(query) : []) {
    if (!FIELDS.get(view).includes(key)) wrong.push(`there is no field ${quoted(key)}`);
    else if (fields.has(key)) wrong.push(`${key} is given twice`);
    else fields.set(key, value);
  }
  return { view, fields, wrong };
}

/** The whole number that a field holds; if it holds none within bounds, another, and that is told. */
export function whole(fields, name, [least, most], otherwise, wrong) {
  const given = fields.get(name);
  if (given === undefined) return otherwise;
  if (/^\d{1,15}$/.test(given) && least <= Number(given) && Number(given) <= most) return Number(given);
  wrong.push(`${name} is ${quoted(given)}, and must be from ${least} to ${most}`);
  return otherwise;
}

/** One line on what is wrong. */
export function passedOver(wrong) {
  const more = wrong.length > MOST_TOLD ? [`and ${wrong.length - MOST_TOLD} more`] : [];
  return `Passed over in the address: ${[...wrong.slice(0, MOST_TOLD), ...more].join("; ")}`;
}

const quoted = (text) => JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}…` : text);

/** Which view is shown: what others keep is not of interest. */
export function enter(view) {
  current = view;
}

/** Whether two views say the same; null says nothing. */
export const isSame = (view, fields, others) => others !== null && written(view, fields) === written(view, others);

/**
 * Have the address hold what a view shows; the button Back leads to what was shown before, if that was said.
 *
 * Not while an address is followed: it is replaced then, or Back would lead to it again and again.
 */
export function keep(view, fields) {
  if (view !== current || fields === null || written(view, fields) === location.hash) return;
  if ([`#${view}`, ""].includes(location.hash)) replace(view, fields);
  else write("pushState", view, fields);
}

/** The same, in place of what the address held. */
export function replace(view, fields) {
  if (view === current) write("replaceState", view, fields ?? {});
}

/** Write an address, unless another is there that is still to be followed: writing over it would undo the button Back. */
function write(how, view, fields) {
  if (location.hash !== known) return;
  history[how](null, "", written(view, fields));
  known = location.hash;
}

function written(view, fields) {
  const given = Object.entries(fields).filter(([, value]) => value !== "" && value !== undefined);
  return `#${view}${given.length ? "?" : ""}${new URLSearchParams(given)}`;
}
