// What all views share: elements, questions, texts of any direction.

const SVG = "http://www.w3.org/2000/svg";

/** An element; text among the content is text, whatever it looks like. */
export function make(tag, attributes = {}, ...content) {
  return filled(document.createElement(tag), attributes, content);
}

/** The same of a picture. */
export function draw(tag, attributes = {}, ...content) {
  return filled(document.createElementNS(SVG, tag), attributes, content);
}

function filled(element, attributes, content) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value);
  }
  element.append(...content.flat(3).filter((each) => each !== null && each !== undefined));
  return element;
}

export const find = (name) => document.getElementById(name);

/** Words of some language, which do not turn what stands beside them. */
export const words = (text) => make("bdi", { dir: "auto" }, text);

/** "source → target", each side in its own direction. */
export function sides(shown) {
  const at = shown.indexOf(" → ");
  return make("span", { class: "rule" }, words(shown.slice(0, at)), " → ", words(shown.slice(at + 3)));
}

const LEAST_WIDTH = 480;
const LEAST_SCALE = 0.65;  // Letters of 14 pixels are 9 then.

/** A picture of the server's, as an element: as wide as there is room, and no narrower than can be read; then it scrolls. */
export function picture(text, label) {
  const found = new DOMParser().parseFromString(text, "image/svg+xml").documentElement;
  const element = document.importNode(found, true);
  element.setAttribute("role", "img");
  element.setAttribute("aria-label", label);
  element.style.maxWidth = "100%";
  element.style.height = "auto";
  const width = parseFloat(element.getAttribute("width"));
  element.style.minWidth = `${Math.max(Math.min(width, LEAST_WIDTH), LEAST_SCALE * width)}px`;
  return element;
}

/** A share from 0 to 1, with a bar behind it. */
export function share(value) {
  const shown = value > 0.9995 && value < 1 ? "≈100" : value > 0 && value < 0.001 ? "<0.1" : (100 * value).toFixed(1);
  const element = make("span", { class: "share" }, `${shown}%`);
  element.style.setProperty("--of", `${100 * value}%`);
  return element;
}

/** A table that scrolls by itself; cells of `text` columns are words, the others numbers. */
export function table(header, rows, text = 1) {
  const kind = (column) => (column < text ? {} : { class: "number" });
  const head = make("tr", {}, header.map((cell, at) => make("th", { scope: "col", ...kind(at) }, cell)));
  const body = rows.map((row) => make("tr", {}, row.map((cell, at) => make("td", kind(at), cell))));
  return make("div", { class: "scroll", tabindex: "0", role: "region", "aria-label": header[0] },
    make("table", {}, make("thead", {}, head), make("tbody", {}, body)));
}

export const signed = (value) => (value < 0 ? "−" : "+") + Math.abs(value).toFixed(3);

/** A number in few letters. */
export function short(value) {
  if (Number.isInteger(value)) return String(value).replace("-", "−");
  return (Math.abs(value) >= 1000 ? value.toFixed(0) : value.toPrecision(4)).replace("-", "−");
}

/** "1 pair", "2 pairs". */
export const counted = (number, name) => `${number.toLocaleString("en")} ${name}${number === 1 ? "" : "s"}`;

const WORK = {
  "/pair": "the pair", "/forest": "the phrase", "/steps": "the steps", "/pairs": "the list of pairs",
  "/grammar": "the rules", "/shapes": "the shapes", "/rule": "the sentences of the rule", "/translate": "the translation",
};
const COMPILING = "what does this is being compiled for this machine: once after an installation or an update, for a minute or so. " +
  "What has been answered before, is answered meanwhile";
let said = "";
const waiting = new Set();

/** The answer to a question; what is wrong is an Error with one line. */
export async function ask(path, question) {
  const own = { text: "" };
  waiting.add(own);
  const say = (text) => {
    own.text = text;
    refresh();
  };
  const slow = setTimeout(() => say(`working on ${WORK[path]} …`), 400);
  const slower = setInterval(async () => {
    if (await isCompiling()) say(`working on ${WORK[path]} … ${COMPILING}`);
  }, 2500);
  try {
    const response = await fetch(path, {
      method: "POST",
      headers: { "Content-Type": "application/json" },
      body: JSON.stringify(question),
    });
    const answer = await response.json();
    if (!response.ok) throw new Error(answer.error);
    return answer;
  } catch (error) {
    throw error instanceof TypeError ? new Error("the program that serves this page has stopped") : error;
  } finally {
    clearTimeout(slow);
    clearInterval(slower);
    waiting.delete(own);
    refresh();
  }
}

async function isCompiling() {
  try {
    return (await (await fetch("/about")).json()).compiling;
  } catch {
    return false;  // The question itself is told that nobody answers.
  }
}

/** Say something above the page; nothing takes it away. */
export function tell(text) {
  said = text;
  refresh();
}

/** What is to be said, or else which question has been waiting longest, and why. */
function refresh() {
  const status = find("status");
  const text = said || ([...waiting].find((each) => each.text)?.text ?? "");
  if (status.textContent !== text) status.textContent = text;
  status.classList.toggle("busy", !said);
}

/** Run something that asks; what is wrong is told. Whether nothing was. */
export async function attempt(action) {
  try {
    tell("");
    await action();
    return true;
  } catch (error) {
    tell(error.message);
    return false;
  }
}

/** As `attempt`, but where that fails, what is shown answers something else: `clear` takes it away. */
export function attemptOr(clear) {
  const newest = latest();
  return (action) => attempt(async () => {
    const isLast = newest();
    try {
      await action();
    } catch (error) {
      if (isLast()) clear();
      throw error;
    }
  });
}

/** Only the last of several calls goes on: what is drawn is what was asked last. */
export function latest() {
  let last = 0;
  return () => {
    last += 1;
    const own = last;
    return () => own === last;
  };
}
