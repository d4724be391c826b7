"use strict";

const SYMBOLS = { contradicted: "✗", unsupported: "?", unclear: "~", uncheckable: "–", supported: "✓" };
const VERDICT_SYMBOLS = { hallucinated: "✗", abstained: "○", uncheckable: "–", faithful: "✓" };
const STATE_ORDER = ["contradicted", "unsupported", "unclear", "uncheckable", "supported"];
const THEME_KEY = "halldetect-theme";
const QUOTE_LIMIT = 700;
// A browser takes a minute to lay out thousands of cards.
const PAGE_CARDS = 100;

function capital(word) {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function decimal(value) {
  return value === null || value === undefined ? "n/a" : value.toFixed(2).replace("-", "\u2212");
}

function plural(count, one, many) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

function worst(states) {
  return STATE_ORDER.find((state) => states.includes(state));
}

function symbol(text) {
  return element("span", { class: "symbol", "aria-hidden": "true" }, text);
}

/** A button that turns the page dark or light and remembers it; it follows the system. */
function themeSwitch() {
  const page = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (page.dataset.theme ? page.dataset.theme === "dark" : system.matches);
  const label = () => {
    button.textContent = dark() ? "Light theme" : "Dark theme";
  };
  const button = textButton({ class: "theme" }, () => {
    page.dataset.theme = dark() ? "light" : "dark";
    stored(() => localStorage.setItem(THEME_KEY, page.dataset.theme));
    label();
  });
  const chosen = stored(() => localStorage.getItem(THEME_KEY));
  if (chosen === "dark" || chosen === "light") page.dataset.theme = chosen;
  system.addEventListener("change", label);
  label();
  return button;
}

/** Uses the storage of the browser; a file opened from a disk may have none. */
function stored(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

/** One claim of the list: a heading that opens, and the detail it opens. */
class ClaimCard {
  constructor(report, index, pick) {
    this.claim = report.claims[index];
    this.view = report.view.claims[index];
    const { status, support, error, text } = this.claim;
    const kind = error ? element("span", { class: "kind" }, visible(error.kind)) : null;
    const figure = element("span", { class: "support" }, element("small", {}, "support"), decimal(support));
    this.button = textButton(
      { "aria-expanded": "false", "aria-controls": `detail-${index + 1}` },
      () => pick(index),
      element("span", { class: "number", "aria-hidden": "true" }, String(index + 1)),
      element(
        "span",
        { class: "heading" },
        element("span", { class: `state ${status}` }, symbol(SYMBOLS[status]), capital(status), kind),
        element("span", { class: "said", dir: "auto" }, visible(text)),
      ),
      support === null ? null : figure,
    );
    this.detail = element("div", { id: `detail-${index + 1}`, class: "detail", hidden: true });
    const id = `card-${index + 1}`;
    this.node = element("li", { class: `card ${status}`, id }, element("h3", {}, this.button), this.detail);
  }

  /** Shows or hides the detail; `quote` is the text of the passage, `go` leads to it. */
  open(on, quote, where, go) {
    if (on && !this.detail.hasChildNodes()) this.detail.append(...this.contents(quote, where, go));
    this.detail.hidden = !on;
    this.button.setAttribute("aria-expanded", String(on));
    this.node.classList.toggle("open", on);
  }

  contents(quote, where, go) {
    const { reason, span_reason: placeless, status } = this.claim;
    const lines = [`${capital(this.view.meaning)}.`];
    if (reason) lines.push(`${capital(visible(reason))}.`);
    if (placeless) lines.push(`No place in the response: ${visible(placeless)}.`);
    const nodes = [element("p", { class: `remarks ${status}`, dir: "auto" }, lines.join(" "))];
    const items = this.view.explanations.map((line) => element("li", { dir: "auto" }, visible(line)));
    if (items.length) nodes.push(element("ul", { class: "explanations" }, ...items));
    if (!quote) return nodes;
    const shown = quote.length > QUOTE_LIMIT ? `${quote.slice(0, QUOTE_LIMIT)} …` : quote;
    const head = element(
      "header",
      {},
      element("h4", {}, this.view.label),
      element("span", { class: "where" }, where),
      textButton({ class: "show" }, go, "Show in source"),
    );
    const body = element("blockquote", { dir: "auto" }, element("span", { class: "focus" }, shown));
    const label = { class: "evidence decisive", "aria-label": this.view.label };
    return [...nodes, element("section", label, head, body)];
  }
}

/** The interactive view of one report, built into `root` from the payload alone. */
class ReportView {
  /** `foot(index)` makes what is shown below a claim, such as buttons to decide on it. */
  constructor(root, report, foot = null) {
    Object.assign(this, { root, report, foot });
    this.selected = this.filter = null;
    this.cards = new Map();
    this.ends = new AbortController();
    const names = report.document_names;
    this.name = (place) =>
      (names[place] ? visible(names[place]) : null) ??
      (report.documents.length === 1 ? "Source" : `Document ${place + 1}`);
    this.status = (index) => report.claims[index].status;
    const source = (...stretch) => this.dressSource(...stretch);
    this.panes = report.documents.map((text) => new TextPane(text, source));
    const response = (...stretch) => this.dressResponse(...stretch);
    this.response = new TextPane(report.response, response);
    this.passages = report.claims.map((claim, index) => {
      const found = report.view.claims[index].passage;
      return found && { place: found[0], ...this.panes[found[0]].units(found.slice(1)), index };
    });
    root.replaceChildren(this.head(), this.columns(), this.facts());
    const spans = report.claims.map(({ span }) => span && this.response.units([span.start, span.end]));
    this.response.paint("claims", spans.flatMap((span, index) => (span ? [{ ...span, index }] : [])));
    this.panes.forEach((pane, place) =>
      pane.paint("uses", this.passages.filter((found) => found?.place === place)),
    );
    this.listen();
    this.list(0);
    this.follow();
    const [first] = report.view.order;
    const fails = first !== undefined && this.status(first) !== "supported";
    if (this.selected === null && fails) this.select(first, { quiet: true });
  }

  /** Removes the view, so that the page can show another report. */
  leave() {
    this.ends.abort();
    this.root.replaceChildren();
  }

  /** The verdict, its sentence, the question, and the score against the threshold. */
  head() {
    const { verdict, view, question } = this.report;
    const line = (text) => (text ? element("p", { class: "question", dir: "auto" }, visible(text)) : null);
    return element(
      "header",
      { class: "head" },
      element("div", { class: "bar-top" }, element("p", { class: "brand" }, "HallDetect report"), themeSwitch()),
      element("h1", { class: `verdict ${verdict}` }, symbol(VERDICT_SYMBOLS[verdict]), capital(verdict)),
      element("p", { class: "summary", dir: "auto" }, visible(view.summary)),
      line(question && `Question: ${question}`),
      line(capital(view.score_line)),
      line(view.citation_line && capital(view.citation_line)),
      line(view.paper),
    );
  }

  columns() {
    const { claims, provenance, view } = this.report;
    this.chips = element("div", { class: "chips", role: "group", "aria-label": "Show claims" });
    for (const state of [null, ...STATE_ORDER]) {
      const count = claims.filter(({ status }) => !state || status === state).length;
      if (!count) continue;
      const label = { class: `chip ${state ?? "all"}`, "aria-pressed": String(!state) };
      const name = state ? [symbol(SYMBOLS[state]), capital(state)] : ["All"];
      const figure = element("span", { class: "count" }, String(count));
      this.chips.append(textButton(label, () => this.show(state), ...name, figure));
    }
    this.cardList = element("ol", { class: "cards" });
    this.pages = element("nav", { class: "pages", "aria-label": "Pages of claims" });
    const notes = [...view.unchecked, ...provenance.notes.map((note) => `Note: ${note}`)].map((note) =>
      element("p", { class: "note", dir: "auto" }, visible(note)),
    );
    this.below = element("div", { class: "list" }, this.cardList, this.pages, ...notes);
    const title = claims.length ? plural(claims.length, "claim", "claims") : "No claims";
    return element(
      "main",
      { class: "columns" },
      element(
        "div",
        { class: "left" },
        element(
          "section",
          { class: "panel response", "aria-label": "Response" },
          element("header", {}, element("h2", {}, "Response")),
          this.response.node,
        ),
        element(
          "section",
          { class: "claims", "aria-label": "Claims" },
          element("header", {}, element("h2", {}, title), this.chips),
          this.below,
        ),
      ),
      this.sourcePanel(),
    );
  }

  sourcePanel() {
    const label = { role: "group", "aria-label": "Text of the source", tabindex: "0" };
    this.scroller = element("div", { class: "scroller", ...label });
    const jumps = element("nav", { "aria-label": "Documents" });
    this.panes.forEach((pane, place) => {
      const size = element("small", {}, plural(pane.text.length, "character", "characters"));
      const heading = this.panes.length > 1 ? element("h3", {}, this.name(place), size) : null;
      const section = element("section", { class: "document" }, heading, pane.node);
      this.scroller.append(section);
      const go = () => section.scrollIntoView({ block: "start" });
      jumps.append(textButton({ "aria-label": `Go to ${this.name(place)}` }, go, String(place + 1)));
    });
    return element(
      "section",
      { class: "panel source", "aria-label": "Source" },
      element("header", {}, element("h2", {}, "Source"), this.panes.length > 1 ? jumps : null),
      this.scroller,
    );
  }

  facts() {
    const { view } = this.report;
    const rows = view.facts.flatMap(([name, value]) => [
      element("dt", {}, visible(name)),
      element("dd", {}, visible(value)),
    ]);
    const title = element("summary", {}, "How it was made");
    return element("footer", {}, element("details", { class: "facts" }, title, element("dl", {}, ...rows)));
  }

  dressResponse(text, marks, { start, begins, ends }) {
    const claims = marks.map((mark) => mark.index);
    const label = claims.map((index) => `claim ${index + 1}, ${this.status(index)}`).join("; ");
    return this.button(`claim ${worst(claims.map(this.status))}`, text, claims, label, { start, begins, ends });
  }

  dressSource(text, marks, { start, begins, ends }) {
    const uses = marks.filter((mark) => mark.index !== undefined);
    const focus = marks.length > uses.length;
    const state = focus ? this.status(this.selected) : worst(uses.map((mark) => this.status(mark.index)));
    const names = `passage use ${focus ? "focus " : ""}${state}`;
    if (!uses.length) return [element("span", { class: names }, text)];
    const claims = uses.map((mark) => mark.index);
    const label = `used by claim ${claims.map((index) => index + 1).join(", ")}`;
    const mine = (found) => found.filter((mark) => uses.includes(mark));
    return this.button(names, text, claims, label, { start, begins: mine(begins), ends: mine(ends) });
  }

  /** A marked stretch that leads to its claims, with their numbers after it. */
  button(names, text, claims, label, { start, begins, ends }) {
    const attributes = {
      class: names,
      role: "button",
      "data-at": start,
      "data-claims": claims.join(" "),
      tabindex: begins.length ? "0" : "-1", // one tab stop per claim: where it begins
    };
    const node = element("span", attributes, text, element("span", { class: "unseen" }, ` (${label})`));
    const numbers = ends.map(({ index }) =>
      element(
        "sup",
        { class: this.status(index), "aria-hidden": "true", "data-claims": index },
        `${SYMBOLS[this.status(index)]}${index + 1}`,
      ),
    );
    return [node, ...numbers];
  }

  listen() {
    const { signal } = this.ends;
    const pick = ({ target }) => {
      const mark = target.closest("[data-claims]");
      if (!mark || String(document.getSelection())) return; // the reader may be copying
      const claims = mark.dataset.claims.split(" ").map(Number);
      // A stretch shared by several claims goes through them one by one.
      this.select(claims[(claims.indexOf(this.selected) + 1) % claims.length]);
    };
    for (const { node } of [this.response, ...this.panes]) {
      node.addEventListener("click", pick);
      node.addEventListener("keydown", (event) => {
        if (event.key !== "Enter" && event.key !== " ") return;
        event.preventDefault();
        pick(event);
      });
    }
    const step = (event) => {
      const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape" && this.selected !== null) this.select(null);
      if (!way || !event.target.closest?.(".card h3")) return;
      event.preventDefault();
      const next = this.shown[this.shown.indexOf(this.selected) + way];
      if (next === undefined) return;
      this.select(next);
      this.card(next).button.focus({ preventScroll: true });
    };
    document.addEventListener("keydown", step, { signal });
    window.addEventListener("hashchange", () => this.follow(), { signal });
  }

  card(index) {
    if (!this.cards.has(index)) {
      const toggle = (at) => this.select(this.selected === at ? null : at);
      const card = new ClaimCard(this.report, index, toggle);
      if (this.foot) card.detail.before(this.foot(index));
      this.cards.set(index, card);
    }
    return this.cards.get(index);
  }

  /** Lists a page of the claims that the filter lets through. */
  list(from) {
    this.shown = this.report.view.order.filter((at) => !this.filter || this.status(at) === this.filter);
    this.from = from;
    const to = Math.min(from + PAGE_CARDS, this.shown.length);
    this.cardList.replaceChildren(...this.shown.slice(from, to).map((at) => this.card(at).node));
    const all = plural(this.shown.length, "claim", "claims");
    const place = `${(from + 1).toLocaleString("en")} to ${to.toLocaleString("en")} of ${all}`;
    const turn = (name, at, off) =>
      textButton({ disabled: off }, () => (this.list(at), this.cardList.scrollIntoView()), name);
    this.pages.replaceChildren(
      turn("Previous", from - PAGE_CARDS, from === 0),
      element("span", { role: "status" }, place),
      turn("Next", to, to === this.shown.length),
    );
    this.pages.hidden = this.shown.length <= PAGE_CARDS;
  }

  /** Opens a claim, or closes the open one; `quiet` neither scrolls nor changes the address. */
  select(index, { quiet = false } = {}) {
    if (this.selected !== null) this.card(this.selected).open(false);
    this.selected = index;
    this.dressState();
    if (!quiet) setAddress(index === null ? location.pathname + location.search : `#claim-${index + 1}`);
    const passage = index === null ? null : this.passages[index];
    this.panes.forEach((pane, place) =>
      pane.paint("selected", passage?.place === place ? [{ start: passage.start, end: passage.end }] : []),
    );
    if (index === null) return;
    if (this.filter && this.status(index) !== this.filter) this.show(null);
    const page = this.shown.indexOf(index);
    if (page < this.from || page >= this.from + PAGE_CARDS) this.list(page - (page % PAGE_CARDS));
    const quote = this.report.view.claims[index]?.quote ?? "";
    const card = this.card(index);
    card.open(true, quote, passage ? this.name(passage.place) : "", () => this.bringPassage());
    if (quiet) return;
    card.node.scrollIntoView({ block: "nearest" });
    // Side by side, the passage comes into view as well; on a phone only its card.
    if (getComputedStyle(this.scroller).overflowY === "auto") this.bringPassage();
  }

  bringPassage(tries = 6) {
    const node = this.scroller.querySelector(".focus");
    node?.scrollIntoView({ block: "center" });
    // Blocks on the way get their true height a frame later; look again.
    if (node && tries) requestAnimationFrame(() => this.bringPassage(tries - 1));
  }

  /** Shows the claims of one state, or all of them. */
  show(state) {
    this.filter = state;
    for (const chip of this.chips.children) {
      chip.setAttribute("aria-pressed", String(chip.classList.contains(state ?? "all")));
    }
    this.list(0);
    if (state && this.selected !== null && this.status(this.selected) !== state) this.select(null);
    else this.dressState();
  }

  /** Marks in the response which claims the filter leaves out, and which one is open. */
  dressState() {
    this.root.classList.toggle("choosing", this.selected !== null);
    for (const node of this.response.node.querySelectorAll("[data-claims]")) {
      const claims = node.dataset.claims.split(" ").map(Number);
      const out = this.filter && !claims.some((index) => this.status(index) === this.filter);
      node.classList.toggle("faded", Boolean(out));
      node.classList.toggle("selected", node.tagName !== "SUP" && claims.includes(this.selected));
    }
  }

  /** Goes to the claim the address names. */
  follow() {
    const match = /^#claim-(\d+)$/.exec(location.hash);
    const index = match ? Number(match[1]) - 1 : -1;
    if (this.report.claims[index] && index !== this.selected) this.select(index);
  }
}

function setAddress(address) {
  try {
    history.replaceState(history.state, "", address);
  } catch {
    // a page inside a sandboxed frame has no address of its own
  }
}

// In a report file the data is in the page; elsewhere the page makes its own ReportView.
const embedded = document.getElementById("payload");
if (embedded) {
  const live = document.getElementById("live");
  const page = document.documentElement;
  live.hidden = false;
  page.classList.add("live");
  try {
    new ReportView(live, JSON.parse(embedded.textContent));
  } catch (error) {
    // The static page says the same and is better than half a view.
    live.hidden = true;
    page.classList.remove("live");
    throw error;
  }
}
