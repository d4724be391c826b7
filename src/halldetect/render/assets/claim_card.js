"use strict";

const SYMBOLS = { contradicted: "✗", unsupported: "?", uncheckable: "–", supported: "✓" };
const STATE_ORDER = ["contradicted", "unsupported", "uncheckable", "supported"];
const QUOTE_CONTEXT = 110;
const QUOTE_LIMIT = 700;

function capital(word) {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

function decimal(value) {
  if (value === null || value === undefined) return "n/a";
  return value.toFixed(2).replace("-", "\u2212");
}

function worst(states) {
  return STATE_ORDER.find((state) => states.includes(state));
}

/** A horizontal bar of [class, share] parts; attributes only, so no style is needed. */
function bar(parts, label) {
  const space = "http://www.w3.org/2000/svg";
  const svg = document.createElementNS(space, "svg");
  svg.setAttribute("class", "bar");
  svg.setAttribute("viewBox", "0 0 100 4");
  svg.setAttribute("preserveAspectRatio", "none");
  if (label) {
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", label);
  } else {
    svg.setAttribute("aria-hidden", "true");
  }
  for (const [name, from, width] of parts) {
    const part = document.createElementNS(space, "rect");
    part.setAttribute("class", name);
    part.setAttribute("x", String(from * 100));
    part.setAttribute("width", String(Math.max(0, width) * 100));
    part.setAttribute("height", "4");
    svg.append(part);
  }
  return svg;
}

function chanceBar({ entailment, neutral, contradiction }) {
  const against = contradiction ?? 0;
  return bar([
    ["entails", 0, entailment],
    ["neutral", entailment, neutral],
    ["contradicts", entailment + neutral, against],
  ]);
}

function chances(probabilities) {
  const entry = (name, kind, value) =>
    element(
      "span",
      { class: `chance ${kind}` },
      element("span", { class: "name" }, name),
      element("span", { class: "value" }, value),
    );
  const { entailment, neutral, contradiction } = probabilities;
  return element(
    "div",
    { class: "chances" },
    chanceBar(probabilities),
    entry("entails", "entails", decimal(entailment)),
    entry("neutral", "neutral", decimal(neutral)),
    contradiction === null
      ? element("span", { class: "chance" }, "contradiction not judged by this verifier")
      : entry("contradicts", "contradicts", decimal(contradiction)),
  );
}

/** The proving sentence of an evidence with a little of what stands around it. */
function quotation(pane, evidence, focus) {
  const window_ = pane.units([evidence.span.start, evidence.span.end]);
  const inner = focus ? pane.units(focus) : window_;
  const from = Math.max(window_.start, inner.start - QUOTE_CONTEXT);
  const to = Math.min(window_.end, inner.end + QUOTE_CONTEXT);
  const cut = (start, end) => (start < end ? pane.readable(start, end) : "");
  let before = cut(from, inner.start);
  let after = cut(inner.end, to);
  let middle = cut(inner.start, inner.end);
  if (from > window_.start) before = before.replace(/^\S*\s/, "… ");
  if (to < window_.end) after = after.replace(/\s\S*$/, " …");
  // Between two blocks of Markdown no character is left that separates them.
  if (/\S$/.test(before)) before += " ";
  if (/^[\p{L}\p{N}]/u.test(after)) after = ` ${after}`;
  if (middle.length > QUOTE_LIMIT) middle = `${middle.slice(0, QUOTE_LIMIT)} …`;
  return element(
    "blockquote",
    { dir: "auto" },
    element("span", { class: "around" }, before),
    element("span", { class: "focus" }, middle),
    element("span", { class: "around" }, after),
  );
}

/** The evidences of a claim: key, title, evidence, focus; the decisive one first. */
function evidencesOf(claim, view) {
  const pair = [
    { key: "entailing", title: "Best support" },
    { key: "contradicting", title: "Strongest contradiction" },
  ];
  if (view.decisive === "contradicting") pair.reverse();
  return pair
    .filter(({ key }) => claim[key] !== null)
    .map(({ key, title }) => ({ key, title, evidence: claim[key], focus: view[key] }));
}

/** The best window of each scale; one that wins at several scales is told once. */
function scalesOf(claim, view) {
  const rows = new Map();
  claim.by_scale.forEach((evidence, index) => {
    const { document: place, span } = evidence;
    const same = `${place}:${span.start}:${span.end}`;
    if (!rows.has(same)) {
      rows.set(same, { key: `scale-${index}`, evidence, focus: view.by_scale[index] });
    }
  });
  return [...rows.values()];
}

/** One claim of the list: a heading that opens, and the detail it opens. */
class ClaimCard {
  constructor(report, index) {
    this.index = index;
    this.report = report;
    this.claim = report.claims[index];
    this.view = report.view.claims[index];
    const { status, support, error } = this.claim;
    this.button = element(
      "button",
      { type: "button", "aria-expanded": "false", "aria-controls": `detail-${index + 1}` },
      element("span", { class: "number", "aria-hidden": "true" }, String(index + 1)),
      element(
        "span",
        { class: "heading" },
        element(
          "span",
          { class: `state ${status}` },
          element("span", { class: "symbol", "aria-hidden": "true" }, SYMBOLS[status]),
          capital(status),
          error ? element("span", { class: "kind" }, visible(error.kind)) : null,
        ),
        element("span", { class: "said", dir: "auto" }, visible(this.claim.text)),
      ),
      support === null
        ? null
        : element("span", { class: "support" }, element("small", {}, "support"), decimal(support)),
    );
    this.detail = element("div", { id: `detail-${index + 1}`, class: "detail", hidden: true });
    this.node = element(
      "li",
      { class: `card ${status}`, id: `card-${index + 1}` },
      element("h3", {}, this.button),
      this.detail,
    );
  }

  /** Shows the detail; `show(key)` is called when the reader asks for an evidence. */
  open(panes, name, show) {
    if (!this.detail.hasChildNodes()) this.detail.append(...this.contents(panes, name, show));
    this.detail.hidden = false;
    this.button.setAttribute("aria-expanded", "true");
    this.node.classList.add("open");
  }

  /** Adds something that is always shown below the claim, such as buttons to decide on it. */
  addFoot(node) {
    this.detail.before(node);
  }

  close() {
    this.detail.hidden = true;
    this.button.setAttribute("aria-expanded", "false");
    this.node.classList.remove("open");
  }

  /** Marks which evidence the source shows now. */
  showing(key) {
    for (const button of this.detail.querySelectorAll("button[data-key]")) {
      button.setAttribute("aria-pressed", String(button.dataset.key === key));
      button.closest(".evidence, tr").classList.toggle("shown", button.dataset.key === key);
    }
  }

  contents(panes, name, show) {
    const found = evidencesOf(this.claim, this.view);
    return [
      this.remarks(),
      this.explanations(),
      ...found.map((item) => this.evidence(item, panes, name, show)),
      this.scales(panes, name, show),
    ].filter(Boolean);
  }

  remarks() {
    const { reason, span_reason: placeless, origin, fed_score: fed, status } = this.claim;
    const lines = [`${capital(this.view.meaning)}.`];
    if (reason) lines.push(`${capital(visible(reason))}.`);
    if (fed !== null) lines.push(`FED score ${decimal(fed)}.`);
    if (origin === "restored") {
      lines.push("The extractor had left out some or all of it.");
    }
    if (placeless) lines.push(`No place in the response: ${visible(placeless)}.`);
    return element("p", { class: `remarks ${status}`, dir: "auto" }, lines.join(" "));
  }

  /** How the claim was read, and what the source says of its parts. */
  explanations() {
    const lines = this.view.explanations;
    if (!lines.length) return null;
    const items = lines.map((line) => element("li", { dir: "auto" }, line));
    return element("ul", { class: "explanations" }, ...items);
  }

  evidence({ key, title, evidence, focus }, panes, name, show) {
    const decisive = key === this.view.decisive;
    const button = element(
      "button",
      { type: "button", class: "show", "data-key": key, "aria-pressed": "false" },
      element("span", { class: "off" }, "Show in source"),
      element("span", { class: "on" }, "● Shown in source"),
    );
    button.addEventListener("click", () => show(key));
    return element(
      "section",
      { class: `evidence ${key}${decisive ? " decisive" : ""}`, "aria-label": title },
      element(
        "header",
        {},
        element("h4", {}, decisive ? this.view.label : title),
        element(
          "span",
          { class: "where" },
          `${name(evidence.document)} · m = ${evidence.scales.join(", ")}`,
        ),
        button,
      ),
      quotation(panes[evidence.document], evidence, focus),
      chances(evidence.probabilities),
    );
  }

  scales(panes, name, show) {
    const rows = scalesOf(this.claim, this.view);
    if (!rows.length) return null;
    const body = element("tbody");
    for (const { key, evidence } of rows) {
      const { entailment, neutral, contradiction } = evidence.probabilities;
      const label = `m = ${evidence.scales.join(", ")}`;
      const button = element(
        "button",
        {
          type: "button",
          "data-key": key,
          "aria-pressed": "false",
          "aria-label": `Show the best window at ${label} in the source`,
        },
        label,
      );
      button.addEventListener("click", () => show(key));
      body.append(
        element(
          "tr",
          {},
          element("th", { scope: "row" }, button),
          element("td", { class: "size" }, `${name(evidence.document)}, ${size(evidence)}`),
          element("td", { class: "mix" }, chanceBar(evidence.probabilities)),
          element("td", { class: "figure entails" }, decimal(entailment)),
          element("td", { class: "figure" }, decimal(neutral)),
          element("td", { class: "figure contradicts" }, decimal(contradiction)),
        ),
      );
    }
    const heads = [
      ["Scale", null],
      ["Window", null],
      ["", "Shares"],
      ["P(E)", "Probability that it entails the claim"],
      ["P(N)", "Probability that it leaves the claim open"],
      ["P(C)", "Probability that it contradicts the claim"],
    ];
    return element(
      "section",
      { class: "scales" },
      element("h4", {}, "Best window at each scale"),
      element(
        "table",
        {},
        element(
          "thead",
          {},
          element(
            "tr",
            {},
            ...heads.map(([text, label]) =>
              element("th", { scope: "col", title: label, "aria-label": label }, text),
            ),
          ),
        ),
        body,
      ),
    );
  }
}

function size(evidence) {
  const length = evidence.span.end - evidence.span.start;
  return `${length.toLocaleString("en")} characters`;
}
