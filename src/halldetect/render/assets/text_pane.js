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
const MARKUP_ELEMENTS = { strong: "strong", emphasis: "em", deleted: "del", code: "code" };

/**
 * A text with marked spans. It is cut into blocks that the browser lays out only when they
 * come near the screen, and a change of marks repaints only the blocks it touches.
 *
 * With a layout (see text_layout.py) a Markdown text is shown as people read it, or raw. Both
 * are the same characters at the same offsets; the punctuation of Markdown is hidden by style.
 *
 * A mark is {start, end, ...}; dress(node, marks here, {start, end, begins, ends}) returns the
 * nodes that show one stretch covered by the same marks; `begins` and `ends` are those of the
 * marks whose first or last visible stretch it is.
 */
class TextPane {
  constructor(text, dress, layout = null) {
    this.text = visible(text);
    this.offsets = new Offsets(text);
    this.dress = dress;
    this.layout = layout;
    this.layers = new Map();
    this.node = element("div", { class: "text", dir: "auto" });
    this.show(layout !== null);
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
    this.blocks.forEach((block, at) => {
      block.at = at;
    });
    for (const [layer, marks] of this.layers) this.place(layer, marks);
    for (const block of this.blocks) this.fill(block);
    this.node.replaceChildren(...nodes);
  }

  /** A stretch that is painted as one: an element with its part of the text. */
  leaf(tag, start, end, markup = [], attributes = {}) {
    const node = element(tag, { class: "block", "data-start": start, ...attributes });
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
    const markup = marks.map(([low, high, name]) => ({ ...this.units([low, high]), name }));
    const bullet = kind === "item" && !/^\d+[.)]/.test(this.text.slice(start, end));
    const names =
      `block md-${kind} depth-${Math.min(level, 6)}` +
      (quoted ? " quoted" : "") +
      (bullet ? " bullet" : "");
    if (kind === "rule") return element("hr", { class: names });
    if (kind === "table") {
      const cell = (tag) => ([, low, high, , , inner]) => {
        const place = this.units([low, high]);
        const found = inner.map(([one, other, name]) => ({ ...this.units([one, other]), name }));
        return this.leaf(tag, place.start, place.end, found);
      };
      const lines = rows.map((cells, place) =>
        element("tr", {}, ...cells.map(cell(place ? "td" : "th"))),
      );
      const class_ = `md-table${quoted ? " quoted" : ""}`;
      return element("div", { class: class_ }, element("table", {}, ...lines));
    }
    const heading = kind === "heading" ? { role: "heading", "aria-level": Math.min(6, level + 3) } : {};
    return this.leaf("div", start, end, markup, { class: names, ...heading });
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

  /** A stretch as one line of text, without the punctuation of Markdown. */
  readable(start, end) {
    const parts = this.blocks
      .filter((block) => block.start < end && block.end > start)
      .map((block) => {
        const hidden = block.markup.filter(({ name }) => name === "syntax");
        let [text, at] = ["", Math.max(start, block.start)];
        for (const mark of [...hidden, { start: end, end }].sort((a, b) => a.start - b.start)) {
          if (mark.end <= at && mark.start < at) continue;
          text += this.text.slice(at, Math.min(mark.start, end, block.end));
          at = Math.max(at, mark.end);
        }
        return text;
      });
    return parts.join(this.rendered ? " · " : "").replace(/\s+/g, " ");
  }

  /** Replaces one layer of marks. */
  paint(layer, marks) {
    const touched = this.blocks.filter((block) => block.marks.delete(layer));
    this.layers.set(layer, marks);
    this.place(layer, marks);
    const focused = this.node.contains(document.activeElement)
      ? document.activeElement.dataset.at
      : undefined;
    for (const block of this.blocks) {
      if (block.marks.has(layer)) touched.push(block);
    }
    for (const block of new Set(touched)) this.fill(block);
    if (focused !== undefined) this.node.querySelector(`[data-at="${focused}"]`)?.focus();
  }

  /** Gives the marks of a layer to the blocks that they touch. */
  place(layer, marks) {
    for (const mark of marks) {
      for (let at = this.firstEndingAfter(mark.start); at < this.blocks.length; at += 1) {
        const { start, marks: here } = this.blocks[at];
        if (start >= mark.end) break;
        if (here.has(layer)) here.get(layer).push(mark);
        else here.set(layer, [mark]);
      }
    }
  }

  /** The place of the first block that ends after an offset. */
  firstEndingAfter(offset) {
    let low = 0;
    let high = this.blocks.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.blocks[middle].end > offset) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  fill(block) {
    const marks = [...block.marks.values()].flat();
    const stretches = this.stretches(block, marks);
    const [first, last] = [new Map(), new Map()];
    stretches.forEach(({ here }, at) => {
      for (const mark of here) {
        if (!first.has(mark)) first.set(mark, at);
        last.set(mark, at);
      }
    });
    const nodes = stretches.flatMap(({ start, end, names, here }, at) => {
      const node = this.styled(names, start, end);
      if (!here.length) return [node];
      const begins = here.filter((mark) => first.get(mark) === at && !this.goesOn(mark, block, -1));
      const ends = here.filter((mark) => last.get(mark) === at && !this.goesOn(mark, block, 1));
      return this.dress(node, here, { start, end, begins, ends });
    });
    block.node.replaceChildren(...nodes);
  }

  /** The parts of a block that the same marks cover, with the names of their Markdown marks. */
  stretches(block, marks) {
    const edges = new Map([[block.start, []], [block.end, []]]);
    const note = (offset, change) => {
      const at = Math.min(block.end, Math.max(offset, block.start));
      if (!edges.has(at)) edges.set(at, []);
      edges.get(at).push(change);
    };
    const all = [...marks, ...block.markup];
    all.forEach((mark, index) => {
      note(mark.start, { index, opens: true });
      note(mark.end, { index, opens: false });
    });
    const places = [...edges.keys()].sort((one, other) => one - other);
    const open = new Set();
    const found = [];
    places.slice(0, -1).forEach((start, at) => {
      for (const { index, opens } of edges.get(start)) {
        if (opens) open.add(index);
        else open.delete(index);
      }
      const covering = [...open].sort((one, other) => one - other);
      const names = covering.filter((index) => index >= marks.length).map((index) => all[index].name);
      const here = covering.filter((index) => index < marks.length).map((index) => all[index]);
      found.push({ start, end: places[at + 1], names, here: names.includes("syntax") ? [] : here });
    });
    return found;
  }

  /** Whether a mark also covers the block before (way -1) or after this one. */
  goesOn(mark, block, way) {
    const other = this.blocks[block.at + way];
    if (!other) return false;
    return way < 0 ? mark.start < other.end : mark.end > other.start;
  }

  /** The text of a stretch in the elements of its Markdown marks. */
  styled(names, start, end) {
    let node = document.createTextNode(this.text.slice(start, end));
    for (const name of names) {
      const tag = MARKUP_ELEMENTS[name] ?? "span";
      node = element(tag, { class: `md-${name}` }, node);
    }
    if (!names.length) return node;
    node.dataset.at = String(start);
    node.dataset.length = String(end - start);
    return node;
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
