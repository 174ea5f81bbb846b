// The grid of a pair: the server draws cells and words, phrases are laid over them here.

import { draw } from "./common.js";

export class Grid {
  /** `choose(i, j)` is called for the cell that is clicked, or where Enter or Space is pressed. */
  constructor(host, choose) {
    this.host = host;
    this.choose = choose;
    this.at = 0;
  }

  /** Show a pair, as /pair answers. */
  show(pair) {
    const refocus = this.host.contains(document.activeElement);
    this.pair = pair;
    const parsed = new DOMParser().parseFromString(pair.grid, "image/svg+xml").documentElement;
    this.svg = document.importNode(parsed, true);
    this.svg.setAttribute("role", "group");
    this.cells = [...this.svg.querySelectorAll(".cell")];
    this.at = Math.min(this.at, Math.max(0, this.cells.length - 1));
    this.cells.forEach((cell, at) => this.prepare(cell, at));
    this.layers = { shades: draw("g"), boxes: draw("g"), marks: draw("g") };
    this.svg.append(this.layers.shades, this.layers.boxes, this.layers.marks);
    this.svg.addEventListener("click", (event) => this.clicked(event.target));
    this.svg.addEventListener("keydown", (event) => this.pressed(event));
    this.host.replaceChildren(this.svg);
    if (refocus && this.cells.length) this.cells[this.at].focus();
  }

  prepare(cell, at) {
    const [i, j] = this.place(at);
    const state = cell.classList.contains("linked") ? "linked" : "not linked";
    cell.setAttribute("tabindex", at === this.at ? "0" : "-1");
    cell.setAttribute("role", "button");
    cell.setAttribute("aria-label", `${this.pair.source[i]} – ${this.pair.target[j]}, ${i}-${j}, ${state}`);
  }

  place(at) {
    const width = this.pair.source.length;
    return [at % width, Math.floor(at / width)];
  }

  clicked(target) {
    const cell = target.closest(".cell");
    if (!cell) return;
    this.focus(this.cells.indexOf(cell));
    this.choose(...this.place(this.at));
  }

  focus(at) {
    this.cells[this.at].setAttribute("tabindex", "-1");
    this.at = at;
    this.cells[at].setAttribute("tabindex", "0");
    this.cells[at].focus();
  }

  pressed(event) {
    const [i, j] = this.place(this.at);
    const [width, height] = [this.pair.source.length, this.pair.target.length];
    const moves = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
    if (event.key in moves) {
      const [x, y] = [i + moves[event.key][0], j + moves[event.key][1]];
      if (x >= 0 && x < width && y >= 0 && y < height) this.focus(y * width + x);
    } else if (event.key === "Enter" || event.key === " ") {
      this.choose(i, j);
    } else if (event.key === "Home") {
      this.focus(j * width);
    } else if (event.key === "End") {
      this.focus(j * width + width - 1);
    } else {
      return;
    }
    event.preventDefault();
  }

  /** How often rules begin at phrases, in the states of the run: the more often, the stronger. */
  shades(phrases) {
    const whole = this.cells.length;
    const area = ({ source, target }) => (source[1] - source[0]) * (target[1] - target[0]);
    this.layers.shades.replaceChildren(...phrases.filter((phrase) => area(phrase) < whole).map((phrase) => {
      const shade = this.rectangle(phrase, "shade", 0.5);
      shade.setAttribute("fill-opacity", (0.25 * phrase.cut).toFixed(3));
      return shade;
    }));
  }

  /** The phrases at which rules begin. */
  boxes(places) {
    const all = places.map((place, at) => this.rectangle(place, "node", inset(place, places, at)));
    this.layers.boxes.replaceChildren(...all);
  }

  /** Phrases in other colours: [place, class]. */
  marks(places) {
    this.layers.marks.replaceChildren(...places.map(([place, kind]) => this.rectangle(place, kind, 1)));
  }

  rectangle(place, kind, by) {
    const first = this.cells[place.target[0] * this.pair.source.length + place.source[0]];
    const [x, y, size] = ["x", "y", "width"].map((name) => Number(first.getAttribute(name)));
    return draw("rect", {
      class: kind,
      x: x + by,
      y: y + by,
      width: (place.source[1] - place.source[0]) * size - 2 * by,
      height: (place.target[1] - place.target[0]) * size - 2 * by,
      rx: 3,
    });
  }
}

/** How far a box stands back, so that it does not cover the sides of those around it. */
function inset(place, places, at) {
  const around = places.filter((other, k) => k !== at && holds(other, place) && meets(other, place));
  return 1 + 2 * Math.min(2, around.length);
}

export function holds(outer, inner) {
  return ["source", "target"].every((side) => outer[side][0] <= inner[side][0] && inner[side][1] <= outer[side][1]);
}

function meets(one, other) {
  return ["source", "target"].some((side) => one[side][0] === other[side][0] || one[side][1] === other[side][1]);
}
