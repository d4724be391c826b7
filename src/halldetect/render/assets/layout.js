"use strict";

const VERDICT_SYMBOLS = { hallucinated: "✗", abstained: "○", uncheckable: "–", faithful: "✓" };

function plural(count, one, many) {
  return `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
}

function characters(text) {
  return plural(text.length, "character", "characters");
}

function textButton(attributes, onClick, ...children) {
  const button = element("button", { type: "button", ...attributes }, ...children);
  button.addEventListener("click", onClick);
  return button;
}

/** The verdict, its sentence, the question, and the score against the threshold. */
function verdictHead(report, themeButton) {
  const { verdict, view, question } = report;
  return element(
    "header",
    { class: "head" },
    element(
      "div",
      { class: "bar-top" },
      element("p", { class: "brand" }, "HallDetect report"),
      themeButton,
    ),
    element(
      "div",
      { class: "verdict-head" },
      element(
        "div",
        {},
        element(
          "h1",
          { class: `verdict ${verdict}` },
          element("span", { class: "symbol", "aria-hidden": "true" }, VERDICT_SYMBOLS[verdict]),
          capital(verdict),
        ),
        element("p", { class: "summary", dir: "auto" }, visible(view.summary)),
        view.citation_line
          ? element("p", { class: "question" }, capital(visible(view.citation_line)))
          : null,
        question
          ? element(
              "p",
              { class: "question", dir: "auto" },
              element("span", {}, "Question "),
              visible(question),
            )
          : null,
      ),
      report.score === null ? null : gauge(report),
    ),
  );
}

function gauge(report) {
  const { verdict, view, score, threshold, scoring } = report;
  const { fed_score: fed, calibrated_score: calibrated } = report;
  const post = Math.min(0.992, Math.max(0, threshold - 0.004));
  return element(
    "div",
    { class: "gauge" },
    element(
      "p",
      { class: "figures" },
      element("strong", {}, decimal(score)),
      " score",
      element("span", { class: "against" }, `threshold ${decimal(threshold)}`),
    ),
    bar(
      [["track", 0, 1], [`fill ${verdict}`, 0, score], [`post ${score > threshold ? "inside" : ""}`, post, 0.008]],
      capital(view.score_line),
    ),
    element(
      "p",
      { class: "ends", "aria-hidden": "true" },
      element("span", {}, "0 faithful"),
      element("span", {}, "hallucinated 1"),
    ),
    element(
      "p",
      { class: "both" },
      `Scoring: ${visible(scoring)}. FED ${decimal(fed)}, calibrated ${decimal(calibrated)}.`,
    ),
  );
}

/** One chip per state that occurs, and one for all; `pick(state or null)` is called. */
function filterChips(claims, pick) {
  const group = element("div", { class: "chips", role: "group", "aria-label": "Show claims" });
  const add = (state, label, count) =>
    group.append(
      textButton(
        { class: `chip ${state ?? "all"}`, "aria-pressed": String(state === null) },
        () => pick(state),
        state ? element("span", { class: "symbol", "aria-hidden": "true" }, SYMBOLS[state]) : null,
        label,
        element("span", { class: "count" }, String(count)),
      ),
    );
  add(null, "All", claims.length);
  for (const state of STATE_ORDER) {
    const count = claims.filter((claim) => claim.status === state).length;
    if (count) add(state, capital(state), count);
  }
  return group;
}

function shortcutSwitch(input) {
  const keys = [["j", "next claim"], ["k", "previous"], ["Esc", "close"]];
  return element(
    "label",
    { class: "shortcuts" },
    input,
    "Keyboard ",
    ...keys.flatMap(([key, does]) => [element("kbd", {}, key), ` ${does} `]),
  );
}

/** A button that names a claim and leads to it. */
function claimLink(report, index, long, onClick) {
  const { status, text } = report.claims[index];
  return textButton(
    { class: `to-claim ${status}` },
    onClick,
    element("span", { class: "symbol", "aria-hidden": "true" }, SYMBOLS[status]),
    String(index + 1),
    element("span", long ? { class: "said", dir: "auto" } : { class: "unseen" },
      ` ${capital(status)}: ${visible(text)}`),
  );
}

/** What the strip above the source says: the claims a passage belongs to, a way to each. */
function foundLines(report, { title, long, short, go, close }) {
  const link = (wide) => (index) => claimLink(report, index, wide, () => go(index));
  const lines = [textButton({ class: "close", "aria-label": "Close" }, close, "×")];
  if (long.length) lines.push(element("p", {}, title), ...long.map(link(true)));
  if (short.length) {
    const text = "In a window that was best at some scale for claim ";
    lines.push(element("p", {}, text, ...short.map(link(false))));
  }
  if (lines.length === 1) lines.push(element("p", {}, "No claim rests on this passage."));
  return lines;
}

function factsFoot({ cost, provenance }) {
  const table = (rows) =>
    element(
      "dl",
      {},
      ...rows.flatMap(([name, value]) => [
        element("dt", {}, visible(name)),
        element("dd", {}, visible(value)),
      ]),
    );
  return element(
    "footer",
    {},
    element(
      "details",
      { class: "facts" },
      element("summary", {}, "Cost and provenance"),
      element("h3", {}, "Cost"),
      table(cost),
      element("h3", {}, "Provenance"),
      table(provenance),
    ),
  );
}

/** The claims of the marks, as small numbers after the text. */
function references(marks, statusOf) {
  return marks.map(({ index }) =>
    element(
      "sup",
      { class: statusOf(index), "aria-hidden": "true", "data-claims": index },
      `${SYMBOLS[statusOf(index)]}${index + 1}`,
    ),
  );
}

/** A button that shows Markdown as people read it or raw; none for plain texts. */
function rawSwitch(name, panes, after) {
  if (!panes.some((pane) => pane.layout)) return null;
  const button = textButton(
    { class: "raw", "aria-pressed": "false", "aria-label": `Raw text of the ${name}` },
    () => {
      const raw = button.getAttribute("aria-pressed") === "false";
      button.setAttribute("aria-pressed", String(raw));
      for (const pane of panes) pane.show(!raw);
      after();
    },
    "Raw text",
  );
  return button;
}
