/** Two responses to one source, side by side. */

/** The view of a comparison, as the server sends it; `actions` are buttons above it. */
export function comparisonView({ headline, sides, groups }, actions) {
  const title = element("h1", { tabindex: "-1" }, headline);
  const nodes = [
    element("div", { class: "actions" }, ...actions),
    title,
    element("div", { class: "compared" }, ...sides.map(side)),
    ...groups.map(({ text, rows }) =>
      element(
        "section",
        { class: "relation" },
        element("h2", {}, text),
        ...rows.map(([a, b]) =>
          element("div", { class: "compared" }, statement(a, "A"), statement(b, "B")),
        ),
      ),
    ),
  ];
  return { title, nodes };
}

function side({ name, verdict, symbol, summary, score_line: score, response }) {
  return element(
    "section",
    { class: "panel side", "aria-label": `Response ${name}` },
    element("p", { class: "letter" }, `Response ${name}`),
    element(
      "p",
      { class: `verdict ${verdict}` },
      element("span", { class: "symbol", "aria-hidden": "true" }, symbol),
      capital(verdict),
    ),
    element("p", { class: "summary", dir: "auto" }, visible(summary)),
    element("p", { class: "score" }, capital(score)),
    element("div", { class: "said", dir: "auto", tabindex: "0", role: "group", "aria-label": `Text of response ${name}` }, visible(response)),
  );
}

function statement(claim, name) {
  if (!claim) return element("div", { class: "panel statement absent" }, `${name} does not say so.`);
  const { status, symbol, kind, text, label, place, quote } = claim;
  return element(
    "div",
    { class: `panel statement ${status}` },
    element(
      "p",
      { class: "state" },
      element("span", { "aria-hidden": "true" }, symbol),
      capital(status),
      kind ? element("span", { class: "kind" }, visible(kind)) : null,
    ),
    element("p", { class: "claim-text", dir: "auto" }, visible(text)),
    element("p", { class: "where" }, visible(place ? `${label} (${place})` : label)),
    quote ? element("blockquote", { dir: "auto" }, visible(quote)) : null,
  );
}
