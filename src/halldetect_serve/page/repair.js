/** A repaired response: deletions and insertions, both texts side by side, and why. */

/** The view of a repair, as the server sends it; `actions` are buttons above it. */
export function repairView({ headline, failed, summary, pieces, before, after, changes, response }, actions) {
  const title = element("h1", { class: failed ? "repaired failed" : "repaired", tabindex: "-1" }, headline);
  const nodes = [
    element("div", { class: "actions" }, ...actions),
    title,
    element("p", { class: "lead", dir: "auto" }, visible(summary)),
  ];
  if (pieces.length) {
    const columns = [text("Before", before), text("After", after)];
    nodes.push(text("Changes in the text", pieces), element("div", { class: "repair-columns" }, ...columns));
  } else {
    nodes.push(text("Response", [{ kind: "same", text: response }]));
  }
  if (changes.length) {
    const list = element("ol", {}, ...changes.map(change));
    nodes.push(element("section", { class: "changes" }, element("h2", {}, "Why"), list));
  }
  return { title, nodes };
}

function text(title, pieces) {
  return element(
    "section",
    { class: "panel repair-text", "aria-label": title },
    element("h2", {}, title),
    element("div", { class: "repair-prose", dir: "auto" }, ...marked(pieces)),
  );
}

function change({ action, pieces, remarks }) {
  return element(
    "li",
    { class: `panel ${action}` },
    element("p", { class: "action" }, capital(action)),
    element("p", { class: "repair-prose", dir: "auto" }, ...marked(pieces)),
    element("ul", {}, ...remarks.map((remark) => element("li", { dir: "auto" }, visible(remark)))),
  );
}

function marked(pieces) {
  const tags = { deleted: "del", inserted: "ins", same: "span" };
  return pieces.map(({ kind, text: said }) => element(tags[kind], {}, visible(said)));
}
