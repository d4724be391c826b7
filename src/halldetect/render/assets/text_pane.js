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

/** Turns offsets counted in Unicode code points into offsets of JavaScript strings. */
class Offsets {
  constructor(text) {
    this.wide = []; // code point index of every character that takes two units
    if (!/[\ud800-\udbff][\udc00-\udfff]/.test(text)) return;
    let point = 0;
    for (const character of text) {
      if (character.length === 2) this.wide.push(point);
      point += 1;
    }
  }

  units(point) {
    let low = 0;
    let high = this.wide.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.wide[middle] < point) low = middle + 1;
      else high = middle;
    }
    return point + low;
  }
}

const LONG_TEXT = 30000;

/**
 * A text with marked spans. It is cut into blocks that the browser lays out only when they
 * come near the screen, and a change of marks repaints only the blocks it touches.
 *
 * A mark is {start, end, ...}; dress(text node, marks here, start, end) returns the nodes
 * that show one stretch covered by the same marks.
 */
class TextPane {
  constructor(text, dress) {
    this.text = visible(text);
    this.offsets = new Offsets(text);
    this.dress = dress;
    this.layers = new Map();
    this.node = element("div", { class: "text", dir: "auto" });
    const long = this.text.length > LONG_TEXT;
    this.blocks = TextPane.cut(this.text).map(([start, end]) => {
      const node = element("div", { class: "block" }, this.text.slice(start, end));
      // A rough height to scroll by until the block has been laid out: 26 px per line of 70.
      if (long) node.style.containIntrinsicSize = `auto ${Math.ceil((end - start) / 70) * 26}px`;
      if (long) node.classList.add("late");
      node.dataset.start = String(start);
      this.node.append(node);
      return { start, end, node };
    });
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

  units(span) {
    return { start: this.offsets.units(span[0]), end: this.offsets.units(span[1]) };
  }

  /** Replaces one layer of marks. */
  paint(layer, marks) {
    const touched = [...(this.layers.get(layer) ?? []), ...marks];
    this.layers.set(layer, marks);
    const focused = this.node.contains(document.activeElement)
      ? document.activeElement.dataset.at
      : undefined;
    for (const block of this.blocks) {
      if (touched.some((mark) => mark.start < block.end && mark.end > block.start)) {
        this.fill(block);
      }
    }
    if (focused !== undefined) this.node.querySelector(`[data-at="${focused}"]`)?.focus();
  }

  fill(block) {
    const marks = [...this.layers.values()]
      .flat()
      .filter((mark) => mark.start < block.end && mark.end > block.start);
    const cuts = new Set([block.start, block.end]);
    for (const mark of marks) {
      cuts.add(Math.max(mark.start, block.start));
      cuts.add(Math.min(mark.end, block.end));
    }
    const places = [...cuts].sort((one, other) => one - other);
    const nodes = [];
    for (let index = 0; index + 1 < places.length; index += 1) {
      const [start, end] = [places[index], places[index + 1]];
      const here = marks.filter((mark) => mark.start <= start && mark.end >= end);
      const text = document.createTextNode(this.text.slice(start, end));
      if (here.length) nodes.push(...this.dress(text, here, start, end));
      else nodes.push(text);
    }
    block.node.replaceChildren(...nodes);
  }

  /** The offset under a point of the window, or null. */
  offsetAt(x, y) {
    let node = null;
    let offset = 0;
    if (document.caretPositionFromPoint) {
      const caret = document.caretPositionFromPoint(x, y);
      if (caret) [node, offset] = [caret.offsetNode, caret.offset];
    } else if (document.caretRangeFromPoint) {
      const range = document.caretRangeFromPoint(x, y);
      if (range) [node, offset] = [range.startContainer, range.startOffset];
    }
    const owner = node?.nodeType === Node.TEXT_NODE ? node.parentElement : null;
    const block = owner?.closest(".block");
    if (!block || !this.node.contains(block)) return null;
    const holder = owner.closest("[data-at]");
    if (holder) return Number(holder.dataset.at) + offset;
    // Plain text: count what precedes it in its block, references left out.
    let before = Number(block.dataset.start);
    for (const child of block.childNodes) {
      if (child === node) return before + offset;
      if (child.nodeType === Node.TEXT_NODE) before += child.data.length;
      else if (child.dataset.length) before += Number(child.dataset.length);
    }
    return null;
  }
}
