/** The views of a result: a running check, a report, a comparison, a repair. */

import { again, choice, notice } from "./api.js";

const FORMATS = {
  json: ["JSON", "application/json", "json"],
  html: ["HTML", "text/html", "html"],
  markdown: ["Markdown", "text/markdown", "md"],
  pdf: ["PDF", "application/pdf", "pdf"],
};
const NEWS_MS = 1500;

function duration(seconds) {
  return seconds < 90 ? `${Math.max(1, Math.round(seconds))} s` : `${Math.round(seconds / 60)} min`;
}

/** A running check: its claims and their states as they arrive. */
export class Watch {
  constructor(host, { cancel, back, retry }) {
    this.acts = { back, retry };
    this.states = [];
    const parts = { title: "h1", phase: ".phase", stop: "button", progress: "progress" };
    Object.assign(parts, { spoken: "[role=status]", trouble: ".trouble", list: ".cards" });
    for (const [name, selector] of Object.entries(parts)) this[name] = host.querySelector(selector);
    this.title.textContent = "Checking";
    this.progress.removeAttribute("value");
    this.stop.hidden = this.progress.hidden = false;
    this.stop.onclick = cancel;
    for (const part of [this.spoken, this.trouble, this.list]) part.replaceChildren();
    this.say("Sending the texts");
  }

  say(text) {
    this.phase.textContent = text;
    // A screen reader gets only the latest step now and then, not every one.
    this.timer ??= setTimeout(() => {
      this.timer = null;
      this.spoken.textContent = this.phase.textContent;
    }, this.spoken.textContent ? NEWS_MS : 0);
  }

  accepted({ queued }) {
    this.say(queued ? `Waiting: ${plural(queued, "check", "checks")} before this one` : "Started");
  }

  advance({ phase, done, of, seconds_left: left }) {
    this.progress.max = of || 1;
    this.progress.value = done;
    const rest = left == null ? "" : `, about ${duration(left)} left`;
    const words = { extract: "Finding the claims", convert: "Converting the verifier, which is done once" };
    const settled = this.states.filter(Boolean).length;
    const judging = `Judging: ${settled} of ${plural(this.states.length, "claim", "claims")} settled`;
    this.say((words[phase] ?? (phase === "verify" ? judging : "Looking for the passages")) + rest);
  }

  claims({ claims }) {
    this.states = claims.map(() => null);
    this.list.replaceChildren(
      ...claims.map(({ text }, index) => {
        const number = element("span", { class: "number", "aria-hidden": "true" }, String(index + 1));
        const state = element("span", { class: "state pending" }, "Judging");
        const said = element("span", { class: "said", dir: "auto" }, visible(text));
        const heading = element("div", { class: "heading" }, state, said);
        return element("li", { class: "card pending" }, element("div", { class: "row" }, number, heading));
      }),
    );
  }

  verdict({ place, claim: { status } }) {
    this.states[place] = status;
    const card = this.list.children[place];
    card.className = `card ${status}`;
    const state = card.querySelector(".state");
    state.className = `state ${status}`;
    state.replaceChildren(symbol(SYMBOLS[status]), capital(status));
  }

  /** Stops with an error; the texts stay in the form. */
  fail(fault) {
    const settled = this.states.filter(Boolean).length;
    this.title.textContent = "Not checked";
    this.phase.textContent = this.states.length
      ? `${settled} of ${plural(this.states.length, "claim", "claims")} had been settled.`
      : "";
    this.stop.hidden = this.progress.hidden = true;
    for (const state of this.list.querySelectorAll(".state.pending")) state.textContent = "Not judged";
    const { back, retry } = this.acts;
    this.trouble.replaceChildren(notice(fault, [again(retry), { label: "Back to the texts", act: back }]));
  }
}

/**
 * A report on the page: the shared report view with export buttons. `formats[name]()` returns a
 * form of the report (a text; a Blob for PDF), `id` is set if it is stored.
 */
export class Outcome {
  constructor(host, { payload, formats, id, storeError }, { status, actions, remove, review }) {
    Object.assign(this, { formats, status, review });
    this.stem = `halldetect-${payload.verdict}${id ? `-${id}` : ""}`;
    const offered = Object.keys(FORMATS).filter((value) => formats[value]);
    this.format = choice(offered.map((value) => [value, FORMATS[value][0]]), { "aria-label": "Format" });
    const copy = textButton({ class: "quiet" }, () => this.take("copy"), "Copy");
    this.format.addEventListener("change", () => {
      copy.disabled = this.format.value === "pdf";
    });
    const load = textButton({ class: "quiet" }, () => this.take("download"), "Download");
    const along = { class: "group", role: "group", "aria-label": "Take the report along" };
    this.trouble = element("div", { class: "notices" });
    const root = element("div", { class: "report-view" });
    const tools = [element("div", { class: "group" }, ...actions), element("div", along, this.format, copy, load, remove)];
    host.replaceChildren(element("div", { class: "tools" }, ...tools), this.trouble, root);
    if (storeError) {
      const text = `The report was not kept: ${visible(storeError.message)}.`;
      this.trouble.append(element("section", { class: "notice mild", role: "status" }, text));
    }
    this.view = new ReportView(root, payload, review ? (index) => review.choice(index + 1) : null);
    review?.attach(this.view.below, this.trouble);
    this.heading = root.querySelector("h1");
    this.heading.setAttribute("tabindex", "-1");
  }

  async take(how) {
    const [name, type, suffix] = FORMATS[this.format.value];
    if (suffix === "pdf") this.status("The PDF is being made");
    try {
      const content = await this.formats[this.format.value]();
      if (how === "download") {
        saveFile(`${this.stem}.${suffix}`, content, type);
        this.status(`${this.stem}.${suffix} downloaded`);
      } else {
        this.status((await copied(content)) ? `${name} copied` : "The browser did not allow copying");
      }
    } catch (fault) {
      this.trouble.replaceChildren(notice(fault));
    }
  }

  leave() {
    this.review?.leave();
    this.view.leave();
  }
}

/** Downloads a file. */
export function saveFile(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** Copies a text to the clipboard; browsers require TLS or localhost. */
export async function copied(text) {
  return (await navigator.clipboard?.writeText(text).then(() => true, () => false)) ?? false;
}

/** Shows two responses to one source side by side. */
export function comparisonView({ headline, sides, groups }, actions) {
  const rows = groups.flatMap(({ text, rows: found }) => [
    element("h2", {}, text),
    ...found.map(([a, b]) => element("div", { class: "compared" }, statement(a, "A"), statement(b, "B"))),
  ]);
  return [
    element("div", { class: "actions" }, ...actions),
    element("h1", { tabindex: "-1" }, headline),
    element("div", { class: "compared" }, ...sides.map(side)),
    element("section", { class: "relation" }, ...rows),
  ];
}

function side({ name, verdict, symbol: mark, summary, score_line: score, response }) {
  const text = { class: "said", dir: "auto", tabindex: "0", role: "group", "aria-label": `Text of response ${name}` };
  return element(
    "section",
    { class: "panel side", "aria-label": `Response ${name}` },
    element("p", { class: "letter" }, `Response ${name}`),
    element("p", { class: `verdict ${verdict}` }, symbol(mark), capital(verdict)),
    element("p", { class: "summary", dir: "auto" }, visible(summary)),
    element("p", { class: "score" }, capital(score)),
    element("div", text, visible(response)),
  );
}

function statement(claim, name) {
  if (!claim) return element("div", { class: "panel statement absent" }, `No such claim in ${name}.`);
  const { status, symbol: mark, kind, text, label, place, quote } = claim;
  const named = kind ? element("span", { class: "kind" }, visible(kind)) : null;
  return element(
    "div",
    { class: `panel statement ${status}` },
    element("p", { class: "state" }, symbol(mark), capital(status), named),
    element("p", { class: "claim-text", dir: "auto" }, visible(text)),
    element("p", { class: "where" }, visible(place ? `${label} (${place})` : label)),
    quote ? element("blockquote", { dir: "auto" }, visible(quote)) : null,
  );
}

/** Shows a repair: deletions, insertions, both texts, and the reasons. */
export function repairView({ headline, failed, summary, pieces, before, after, changes, response }, actions) {
  const text = (title, parts) =>
    element(
      "section",
      { class: "panel repair-text", "aria-label": title },
      element("h2", {}, title),
      element("div", { class: "repair-prose", dir: "auto" }, ...marked(parts)),
    );
  const columns = element("div", { class: "repair-columns" }, text("Before", before), text("After", after));
  const texts = pieces.length
    ? [text("Changes in the text", pieces), columns]
    : [text("Response", [{ kind: "same", text: response }])];
  const reasons = changes.map(({ action, pieces: parts, remarks }) =>
    element(
      "li",
      { class: `panel ${action}` },
      element("p", { class: "action" }, capital(action)),
      element("p", { class: "repair-prose", dir: "auto" }, ...marked(parts)),
      element("ul", {}, ...remarks.map((line) => element("li", { dir: "auto" }, visible(line)))),
    ),
  );
  return [
    element("div", { class: "actions" }, ...actions),
    element("h1", { class: failed ? "repaired failed" : "repaired", tabindex: "-1" }, headline),
    element("p", { class: "lead", dir: "auto" }, visible(summary)),
    ...texts,
    reasons.length
      ? element("section", { class: "changes" }, element("h2", {}, "Why"), element("ol", {}, ...reasons))
      : "",
  ];
}

function marked(pieces) {
  const tags = { deleted: "del", inserted: "ins", same: "span" };
  return pieces.map(({ kind, text }) => element(tags[kind], {}, visible(text)));
}
