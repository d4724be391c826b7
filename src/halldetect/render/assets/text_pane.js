"use strict";

/** Builds an element; attribute values and children are data, never markup. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function textButton(attributes, onClick, ...children) {
  const button = element("button", { type: "button", ...attributes }, ...children);
  button.addEventListener("click", onClick);
  return button;
}

/** Makes controls, bidi overrides and lone surrogates visible, one character for one. */
const UNSAFE =
  /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu;
function visible(text) {
  return text
    .replace(UNSAFE, (mark) => {
      const code = mark.charCodeAt(0);
      if (code < 0x20) return String.fromCharCode(0x2400 + code);
      return code === 0x7f ? "\u2421" : "\ufffd";
    })
    .replace(/\r(?!\n)/g, "\n");
}

/** The first place from 0 to `count` at which `holds` is true; it stays true from there on. */
function firstPlace(count, holds) {
  let [low, high] = [0, count];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (holds(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

const LONG_TEXT = 30000;

/**
 * A text with marked spans. It is cut into blocks that the browser lays out only when they
 * come near the screen, and a change of marks repaints only the blocks it touches.
 *
 * A mark is {start, end, ...}; dress(node, marks here, {start, begins, ends}) returns the nodes
 * that show one stretch covered by the same marks; `begins` and `ends` are the marks of which it
 * is the first or the last stretch.
 */
class TextPane {
  constructor(text, dress) {
    this.text = visible(text);
    this.dress = dress;
    this.wide = []; // code point index of every character that takes two units
    if (/[\ud800-\udbff][\udc00-\udfff]/.test(text)) {
      let point = 0;
      for (const character of text) {
        if (character.length === 2) this.wide.push(point);
        point += 1;
      }
    }
    this.node = element("div", { class: "text", dir: "auto" });
    this.blocks = TextPane.cut(this.text).map(([start, end]) => this.block(start, end));
    this.blocks.forEach((block) => this.fill(block));
    this.node.append(...this.blocks.map(({ node }) => node));
  }

  /** A span in code points as offsets of the JavaScript string. */
  units([from, to]) {
    const unit = (point) => point + firstPlace(this.wide.length, (at) => this.wide[at] >= point);
    return { start: unit(from), end: unit(to) };
  }

  /** A stretch that is painted as one: an element with its part of the text. */
  block(start, end) {
    const node = element("div", { class: "block" });
    if (this.text.length > LONG_TEXT) {
      // A rough height to scroll by until the block has been laid out: 26 px per line of 70.
      node.style.containIntrinsicSize = `auto ${Math.ceil((end - start) / 70) * 26}px`;
      node.classList.add("late");
    }
    return { start, end, node, marks: new Map() };
  }

  /** Blocks of a few thousand characters, ended at a line, else at a space, else anywhere. */
  static cut(text, size = 3000) {
    const blocks = [];
    let start = 0;
    while (text.length - start > size) {
      const limit = start + size;
      let end = text.lastIndexOf("\n", limit - 1) + 1;
      if (end <= start + size / 4) end = text.lastIndexOf(" ", limit - 1) + 1;
      if (end <= start) {
        const unit = text.charCodeAt(limit);
        end = unit >= 0xdc00 && unit <= 0xdfff ? limit + 1 : limit;
      }
      blocks.push([start, end]);
      start = end;
    }
    if (start < text.length || !blocks.length) blocks.push([start, text.length]);
    return blocks;
  }

  /** Replaces one layer of marks. */
  paint(layer, marks) {
    const touched = new Set(this.blocks.filter((block) => block.marks.delete(layer)));
    for (const mark of marks) {
      let at = firstPlace(this.blocks.length, (place) => this.blocks[place].end > mark.start);
      for (; at < this.blocks.length && this.blocks[at].start < mark.end; at += 1) {
        const here = this.blocks[at].marks;
        if (here.has(layer)) here.get(layer).push(mark);
        else here.set(layer, [mark]);
        touched.add(this.blocks[at]);
      }
    }
    const focused = this.node.contains(document.activeElement)
      ? document.activeElement.dataset.at
      : undefined;
    touched.forEach((block) => this.fill(block));
    if (focused !== undefined) this.node.querySelector(`[data-at="${focused}"]`)?.focus();
  }

  fill(block) {
    const nodes = TextPane.stretches(block).flatMap(({ start, end, here }) => {
      const node = document.createTextNode(this.text.slice(start, end));
      if (!here.length) return [node];
      const begins = here.filter((mark) => mark.start === start);
      const ends = here.filter((mark) => mark.end === end);
      return this.dress(node, here, { start, begins, ends });
    });
    block.node.replaceChildren(...nodes);
  }

  /** The parts of a block that the same marks cover. */
  static stretches(block) {
    const marks = [...block.marks.values()].flat();
    const edges = new Map([[block.start, []], [block.end, []]]);
    for (const mark of marks) {
      for (const offset of [mark.start, mark.end]) {
        const at = Math.min(block.end, Math.max(offset, block.start));
        if (!edges.has(at)) edges.set(at, []);
        edges.get(at).push({ mark, opens: offset === mark.start });
      }
    }
    const places = [...edges.keys()].sort((one, other) => one - other);
    const open = new Set();
    return places.slice(0, -1).map((start, at) => {
      for (const { mark, opens } of edges.get(start)) {
        if (opens) open.add(mark);
        else open.delete(mark);
      }
      return { start, end: places[at + 1], here: marks.filter((mark) => open.has(mark)) };
    });
  }
}
