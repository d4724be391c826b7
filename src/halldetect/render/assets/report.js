"use strict";

/** The interactive view of one report, built into `root` from the payload alone. */
class ReportView {
  constructor(root, report) {
    this.root = root;
    this.report = report;
    this.selected = null;
    this.filter = null;
    this.ends = new AbortController();
    const { document_names: names } = report;
    this.name = (place) =>
      (names[place] ? visible(names[place]) : null) ??
      (report.documents.length === 1 ? "Source" : `Document ${place + 1}`);
    this.status = (index) => report.claims[index].status;
    const { layout } = report.view;
    this.panes = report.documents.map(
      (text, place) =>
        new TextPane(text, (...stretch) => this.dressSource(...stretch), layout.documents[place]),
    );
    this.response = new TextPane(
      report.response,
      (...stretch) => this.dressResponse(...stretch),
      layout.response,
    );
    this.cards = new CardList(report, (index) =>
      this.select(this.selected === index ? null : index),
    );
    this.index();
    root.replaceChildren(
      verdictHead(report, themeSwitch()),
      this.columns(),
      factsFoot(report.view),
    );
    this.response.paint("claims", this.responseMarks());
    this.panes.forEach((pane, place) => pane.paint("uses", this.sourceMarks(place)));
    this.listen();
    this.follow();
  }

  /** Removes the view, so that the page can show another report. */
  leave() {
    this.ends.abort();
    this.root.replaceChildren();
  }

  /** Where each claim's evidence lies, in units of the panes' strings. */
  index() {
    this.uses = this.report.claims.map((claim, index) => {
      const view = this.report.view.claims[index];
      const all = [...evidencesOf(claim, view), ...scalesOf(claim, view)];
      return all.map(({ key, evidence, focus }) => {
        const pane = this.panes[evidence.document];
        const span = pane.units([evidence.span.start, evidence.span.end]);
        const inner = focus ? pane.units(focus) : span;
        return { index, key, place: evidence.document, window: span, focus: inner };
      });
    });
  }

  use(index, key) {
    return this.uses[index].find((use) => use.key === key) ?? null;
  }

  decisive(index) {
    return this.use(index, this.report.view.claims[index].decisive);
  }

  columns() {
    const { claims, provenance } = this.report;
    this.chips = filterChips(claims, (state) => this.show(state));
    this.shortcuts = element("input", { type: "checkbox", checked: true });
    this.list = element(
      "div",
      { class: "list" },
      this.cards.node,
      this.cards.pages,
      claims.length ? shortcutSwitch(this.shortcuts) : null,
      ...provenance.notes.map((note) =>
        element("p", { class: "note", dir: "auto" }, `Note: ${visible(note)}`),
      ),
    );
    return element(
      "main",
      { class: "columns" },
      element(
        "div",
        { class: "left" },
        element(
          "section",
          { class: "panel response", "aria-label": "Response" },
          element(
            "header",
            {},
            element("h2", {}, "Response"),
            rawSwitch("response", [this.response], () => this.dressResponseState()),
          ),
          this.response.node,
        ),
        element(
          "section",
          { class: "claims", "aria-label": "Claims" },
          element(
            "header",
            {},
            element("h2", {}, claims.length ? plural(claims.length, "claim", "claims") : "No claims"),
            claims.length ? this.chips : null,
          ),
          this.list,
        ),
      ),
      this.sourcePanel(),
    );
  }

  sourcePanel() {
    this.found = element("div", { class: "found", role: "status", hidden: true });
    const label = { role: "group", "aria-label": "Text of the source", tabindex: "0" };
    this.scroller = element("div", { class: "scroller", ...label });
    const many = this.panes.length > 1;
    const jumps = element("nav", { "aria-label": "Documents" });
    this.panes.forEach((pane, place) => {
      const name = this.name(place);
      const heading = element("h3", {}, name, element("small", {}, characters(pane.text)));
      const section = element("section", { class: "document" }, many ? heading : null, pane.node);
      this.scroller.append(section);
      const go = () => bring(this.scroller, section, 0);
      jumps.append(textButton({ "aria-label": `Go to ${name}` }, go, String(place + 1)));
    });
    const total = element("small", {}, characters(this.panes[0]?.text ?? ""));
    return element(
      "section",
      { class: "panel source", "aria-label": "Source" },
      element(
        "header",
        {},
        element("h2", {}, "Source"),
        many ? jumps : total,
        rawSwitch("source", this.panes, () => {}),
      ),
      this.found,
      this.scroller,
    );
  }

  responseMarks() {
    return this.report.claims.flatMap(({ span }, index) =>
      span ? [{ ...this.response.units([span.start, span.end]), index }] : [],
    );
  }

  sourceMarks(place) {
    return this.report.claims.flatMap((_, index) => {
      const use = this.decisive(index);
      return use?.place === place ? [{ ...use.focus, index, layer: "use" }] : [];
    });
  }

  dressResponse(text, marks, { start, end, begins, ends }) {
    const claims = marks.map((mark) => mark.index);
    const label = claims.map((index) => `claim ${index + 1}, ${this.status(index)}`).join("; ");
    const node = element(
      "span",
      {
        class: `claim ${worst(claims.map(this.status))}`,
        role: "button",
        "aria-pressed": "false",
        "data-at": start,
        "data-length": end - start,
        "data-claims": claims.join(" "),
        // One tab stop per claim: where it begins.
        tabindex: begins.length ? "0" : "-1",
      },
      text,
      element("span", { class: "unseen" }, ` (${label})`),
    );
    return [node, ...references(ends, this.status)];
  }

  dressSource(text, marks, { start, end, begins, ends }) {
    const uses = marks.filter((mark) => mark.layer === "use");
    const classes = ["passage"];
    if (uses.length) classes.push("use", worst(uses.map((mark) => this.status(mark.index))));
    if (marks.some((mark) => mark.layer === "window")) classes.push("window");
    if (marks.some((mark) => mark.layer === "focus")) {
      classes.splice(1, 2, "use", "focus", this.status(this.selected));
    }
    const attributes = { class: classes.join(" "), "data-at": start, "data-length": end - start };
    if (!uses.length) return [element("span", attributes, text)];
    const numbers = uses.map((mark) => mark.index + 1).join(", ");
    const node = element(
      "span",
      { ...attributes, role: "button", tabindex: begins.length ? "0" : "-1" },
      text,
      element("span", { class: "unseen" }, ` (used by claim ${numbers})`),
    );
    return [node, ...references(ends.filter((mark) => uses.includes(mark)), this.status)];
  }

  listen() {
    const { signal } = this.ends;
    const pick = ({ target }) => {
      const mark = target.closest("[data-claims]");
      if (!mark) return;
      const claims = mark.dataset.claims.split(" ").map(Number);
      // A stretch shared by several claims goes through them one by one.
      this.select(claims[(claims.indexOf(this.selected) + 1) % claims.length]);
    };
    this.response.node.addEventListener("click", pick);
    this.response.node.addEventListener("keydown", (event) => press(event, pick));
    this.panes.forEach((pane, place) => {
      pane.node.addEventListener("click", (event) => {
        if (String(document.getSelection())) return; // the reader is copying
        const mark = event.target.closest("[data-at]");
        const at = pane.offsetAt(event.clientX, event.clientY) ?? Number(mark?.dataset.at ?? NaN);
        if (!Number.isNaN(at)) this.lookUp(place, at);
      });
      pane.node.addEventListener("keydown", (event) =>
        press(event, ({ target }) => this.lookUp(place, Number(target.dataset.at))),
      );
    });
    document.addEventListener("keydown", (event) => this.key(event), { signal });
    window.addEventListener("hashchange", () => this.follow(), { signal });
  }

  key(event) {
    const { target, key } = event;
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented) return;
    if (target.closest?.("input:not([type=checkbox]), textarea, select")) return;
    const onClaim = Boolean(target.closest?.(".card h3, .response"));
    const letters = this.shortcuts.checked;
    if ((letters && key === "j") || (onClaim && key === "ArrowDown")) this.step(1);
    else if ((letters && key === "k") || (onClaim && key === "ArrowUp")) this.step(-1);
    else if (key === "Escape" && !this.found.hidden) this.found.hidden = true;
    else if (key === "Escape" && this.selected !== null) this.select(null);
    else return;
    event.preventDefault();
  }

  /** Moves to the next claim the filter lets through. */
  step(way) {
    const next = this.cards.neighbour(this.selected, way);
    if (next === undefined) return;
    this.select(next);
    this.cards.card(next).button.focus({ preventScroll: true });
  }

  select(index) {
    if (this.selected !== null) this.cards.card(this.selected).close();
    this.selected = index;
    this.found.hidden = true;
    this.dressSelected();
    this.root.classList.toggle("choosing", index !== null);
    setAddress(index === null ? location.pathname + location.search : `#claim-${index + 1}`);
    if (index === null) {
      this.panes.forEach((pane) => pane.paint("selected", []));
      return;
    }
    if (this.filter && this.status(index) !== this.filter) this.show(null);
    const card = this.cards.card(index);
    this.cards.reveal(index);
    card.open(this.panes, this.name, (key) => this.point(key, true));
    // Side by side, everything about a claim comes into view; one below the other, only its card.
    this.point(this.report.view.claims[index].decisive, scrolls(this.scroller));
    bring(this.list, card.node, 0);
    if (scrolls(this.response.node)) {
      bring(this.response.node, this.response.node.querySelector(".selected"), null);
    }
  }

  /** Marks one evidence of the selected claim in the source and, if asked, goes there. */
  point(key, go) {
    const use = this.use(this.selected, key);
    this.cards.card(this.selected).showing(key);
    this.panes.forEach((pane, place) => {
      const here = use?.place === place;
      const marks = here
        ? [{ ...use.window, layer: "window" }, { ...use.focus, layer: "focus" }]
        : [];
      pane.paint("selected", marks);
    });
    if (!use || !go) return;
    if (!scrolls(this.scroller)) this.tell("Shown for", [this.selected], []);
    bring(this.scroller, this.panes[use.place].node.querySelector(".focus"), 1 / 3);
  }

  /** Which claims rest on this place of the source? */
  lookUp(place, at) {
    const covers = (span) => span.start <= at && at < span.end;
    const here = this.uses.flat().filter((use) => use.place === place && covers(use.window));
    const decides = here
      .filter((use) => use === this.decisive(use.index) && covers(use.focus))
      .map((use) => use.index);
    const reads = [...new Set(here.map((use) => use.index))].filter((i) => !decides.includes(i));
    this.tell("This passage decides", decides, reads);
  }

  /** Says in the source which claims a passage belongs to, with a way to each. */
  tell(title, long, short) {
    const go = (index) => {
      this.select(index);
      this.cards.card(index).button.focus({ preventScroll: true });
    };
    const close = () => {
      this.found.hidden = true;
    };
    this.found.replaceChildren(...foundLines(this.report, { title, long, short, go, close }));
    this.found.hidden = false;
  }

  show(state) {
    this.filter = state;
    for (const chip of this.chips.children) {
      chip.setAttribute("aria-pressed", String(chip.classList.contains(state ?? "all")));
    }
    this.cards.show(state);
    this.dressResponseState();
    if (state && this.selected !== null && this.status(this.selected) !== state) this.select(null);
  }

  /** Marks in the response which claims the filter leaves out, and which one is chosen. */
  dressResponseState() {
    const states = this.report.claims.map(({ status }) => status);
    for (const node of this.response.node.querySelectorAll("[data-claims]")) {
      const claims = node.dataset.claims.split(" ");
      const left = this.filter && !claims.some((index) => states[index] === this.filter);
      node.classList.toggle("faded", Boolean(left));
    }
    this.dressSelected();
  }

  /** Marks in the response which claim is chosen. */
  dressSelected() {
    const mark = (nodes, on) => {
      for (const node of nodes) {
        node.classList.toggle("selected", on);
        node.setAttribute("aria-pressed", String(on));
      }
    };
    mark(this.response.node.querySelectorAll(".selected"), false);
    mark(this.response.node.querySelectorAll(`.claim[data-claims~="${this.selected}"]`), true);
  }

  /** Goes to the claim the address names. */
  follow() {
    const match = /^#claim-(\d+)$/.exec(location.hash);
    const index = match ? Number(match[1]) - 1 : -1;
    if (this.report.claims[index] && index !== this.selected) this.select(index);
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
