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
const MARKUP_ELEMENTS = { strong: "strong", emphasis: "em", deleted: "del", code: "code" };

/**
 * A text with marked spans. It is cut into blocks that the browser lays out only when they
 * come near the screen, and a change of marks repaints only the blocks it touches.
 *
 * With a layout (see text_layout.py) a Markdown text is shown as people read it, or raw. Both
 * are the same characters at the same offsets; the punctuation of Markdown is hidden by style.
 *
 * A mark is {start, end, ...}; dress(node, marks here, {start, begins, ends}) returns the nodes
 * that show one stretch covered by the same marks; `begins` and `ends` are the marks of which it
 * is the first or the last visible stretch.
 */
class TextPane {
  constructor(text, dress, layout = null) {
    this.text = visible(text);
    this.dress = dress;
    this.layout = layout;
    this.layers = new Map();
    this.wide = []; // code point index of every character that takes two units
    if (/[\ud800-\udbff][\udc00-\udfff]/.test(text)) {
      let point = 0;
      for (const character of text) {
        if (character.length === 2) this.wide.push(point);
        point += 1;
      }
    }
    this.node = element("div", { class: "text", dir: "auto" });
    this.show(layout !== null);
  }

  /** A span in code points as offsets of the JavaScript string. */
  units([from, to]) {
    const unit = (point) => point + firstPlace(this.wide.length, (at) => this.wide[at] >= point);
    return { start: unit(from), end: unit(to) };
  }

  /** Shows the text as Markdown or raw. */
  show(rendered) {
    this.rendered = rendered && this.layout !== null;
    this.node.classList.toggle("rendered", this.rendered);
    this.blocks = [];
    const nodes = this.rendered
      ? this.layout.map((block) => this.build(block))
      : TextPane.cut(this.text).map(([from, to]) => this.leaf("div", from, to));
    this.blocks.sort((one, other) => one.start - other.start);
    for (const [layer, marks] of this.layers) this.place(layer, marks);
    this.blocks.forEach((block, at) => this.fill(block, at));
    this.node.replaceChildren(...nodes);
  }

  /** A stretch that is painted as one: an element with its part of the text. */
  leaf(tag, start, end, markup = [], attributes = {}) {
    const node = element(tag, { class: "block", ...attributes });
    if (this.text.length > LONG_TEXT && tag === "div") {
      // A rough height to scroll by until the block has been laid out: 26 px per line of 70.
      node.style.containIntrinsicSize = `auto ${Math.ceil((end - start) / 70) * 26}px`;
      node.classList.add("late");
    }
    this.blocks.push({ start, end, node, markup, marks: new Map() });
    return node;
  }

  /** The element of one block of the layout. */
  build([kind, from, to, level, quoted, marks, rows]) {
    const { start, end } = this.units([from, to]);
    const markup = (found) => found.map(([low, high, name]) => ({ ...this.units([low, high]), name }));
    if (kind === "table") {
      const cell = (tag) => ([, low, high, , , inner]) => {
        const place = this.units([low, high]);
        return this.leaf(tag, place.start, place.end, markup(inner));
      };
      const lines = rows.map((cells, at) =>
        element("tr", {}, ...cells.map(cell(at ? "td" : "th"))),
      );
      const outer = `md-table${quoted ? " quoted" : ""}`;
      return element("div", { class: outer }, element("table", {}, ...lines));
    }
    const bullet = kind === "item" && !/^\d+[.)]/.test(this.text.slice(start, end));
    const names =
      `block md-${kind} depth-${Math.min(level, 6)}` +
      (quoted ? " quoted" : "") +
      (bullet ? " bullet" : "");
    if (kind === "rule") return element("hr", { class: names });
    const heading = kind === "heading" ? { role: "heading", "aria-level": Math.min(6, level + 3) } : {};
    return this.leaf("div", start, end, markup(marks), { class: names, ...heading });
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
    this.layers.set(layer, marks);
    this.place(layer, marks);
    const focused = this.node.contains(document.activeElement)
      ? document.activeElement.dataset.at
      : undefined;
    this.blocks.forEach((block, at) => {
      if (touched.has(block) || block.marks.has(layer)) this.fill(block, at);
    });
    if (focused !== undefined) this.node.querySelector(`[data-at="${focused}"]`)?.focus();
  }

  /** Gives the marks of a layer to the blocks that they touch. */
  place(layer, marks) {
    for (const mark of marks) {
      let at = firstPlace(this.blocks.length, (place) => this.blocks[place].end > mark.start);
      for (; at < this.blocks.length && this.blocks[at].start < mark.end; at += 1) {
        const here = this.blocks[at].marks;
        if (here.has(layer)) here.get(layer).push(mark);
        else here.set(layer, [mark]);
      }
    }
  }

  fill(block, at) {
    const stretches = this.stretches(block, [...block.marks.values()].flat());
    const [first, last] = [new Map(), new Map()];
    stretches.forEach(({ here }, place) => {
      for (const mark of here) {
        if (!first.has(mark)) first.set(mark, place);
        last.set(mark, place);
      }
    });
    const before = this.blocks[at - 1]?.end ?? 0;
    const after = this.blocks[at + 1]?.start ?? this.text.length;
    const nodes = stretches.flatMap(({ start, end, names, here }, place) => {
      const node = this.styled(names, start, end);
      if (!here.length) return [node];
      const begins = here.filter((mark) => first.get(mark) === place && mark.start >= before);
      const ends = here.filter((mark) => last.get(mark) === place && mark.end <= after);
      return this.dress(node, here, { start, begins, ends });
    });
    block.node.replaceChildren(...nodes);
  }

  /** The parts of a block that the same marks cover, with the names of their Markdown marks. */
  stretches(block, marks) {
    const all = [...marks, ...block.markup];
    const edges = new Map([[block.start, []], [block.end, []]]);
    all.forEach((mark, index) => {
      for (const offset of [mark.start, mark.end]) {
        const at = Math.min(block.end, Math.max(offset, block.start));
        if (!edges.has(at)) edges.set(at, []);
        edges.get(at).push({ index, opens: offset === mark.start });
      }
    });
    const places = [...edges.keys()].sort((one, other) => one - other);
    const open = new Set();
    return places.slice(0, -1).map((start, at) => {
      for (const { index, opens } of edges.get(start)) {
        if (opens) open.add(index);
        else open.delete(index);
      }
      const covering = [...open].sort((one, other) => one - other);
      const names = covering.filter((index) => index >= marks.length).map((index) => all[index].name);
      const here = covering.filter((index) => index < marks.length).map((index) => all[index]);
      return { start, end: places[at + 1], names, here: names.includes("syntax") ? [] : here };
    });
  }

  /** The text of a stretch in the elements of its Markdown marks. */
  styled(names, start, end) {
    let node = document.createTextNode(this.text.slice(start, end));
    for (const name of names) {
      node = element(MARKUP_ELEMENTS[name] ?? "span", { class: `md-${name}` }, node);
    }
    return node;
  }
}
