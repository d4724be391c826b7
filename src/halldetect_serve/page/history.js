/** The reports that are kept, newest first: to find, to open, to export or to delete. */

import { confirmed } from "./dialogs.js";
import { notice } from "./notices.js";
import { saveFile } from "./outcome.js";

const PAGE = 50;
// As many characters of a response the server sends with a row.
const EXCERPT = 120;

export function when(created) {
  const time = new Date(created);
  const text = time.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "short" });
  return element("time", { datetime: created, title: created }, text);
}

/** A verdict with its mark, coloured like everywhere else. */
export function verdictMark(verdict) {
  const symbol = element(
    "span",
    { class: "symbol", "aria-hidden": "true" },
    VERDICT_SYMBOLS[verdict],
  );
  return element("span", { class: `state ${verdict}` }, symbol, capital(verdict));
}

/** The beginning of a response, as a way to its report. */
export function reportLink({ id, excerpt }, open) {
  const text = visible(excerpt).trim() || "(no text)";
  const more = [...excerpt].length >= EXCERPT ? "…" : "";
  const link = element(
    "a",
    { href: `./?report=${encodeURIComponent(id)}`, dir: "auto" },
    text + more,
  );
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    open(id);
  });
  return link;
}

const FILTERS = [
  ["", "All reports"],
  ["verdict=hallucinated", "Hallucinated"],
  ["verdict=faithful", "Faithful"],
  ["verdict=abstained", "Abstained"],
  ["verdict=uncheckable", "Uncheckable"],
  ["state=contradicted", "With a contradicted claim"],
  ["state=unsupported", "With an unsupported claim"],
  ["reviewed=true", "Reviewed"],
  ["reviewed=false", "Not reviewed"],
];
const TYPING_MS = 300;

function labelled(text, input, shown = false) {
  return element("label", {}, element("span", shown ? {} : { class: "unseen" }, text), input);
}

export class History {
  /** `open(id)` shows a report; `status(text)` speaks aloud. */
  constructor(host, { api, session, open, status }) {
    Object.assign(this, { host, api, session, open, status });
    this.title = element("h1", { tabindex: "-1" }, "History");
    this.trouble = element("div");
    this.rows = element("tbody");
    this.more = textButton({ class: "quiet", hidden: true }, () => this.load(), "Show more");
    this.none = element("p", { class: "plain", hidden: true });
    host.replaceChildren(
      element("header", { class: "view-head" }, this.title, ...this.exports()),
      this.filters(),
      this.trouble,
      element("div", { class: "panel table" }, this.makeTable()),
      this.none,
      element("div", { class: "actions" }, this.more),
    );
  }

  /** What is looked for. */
  filters() {
    this.search = element("input", { type: "search", placeholder: "Search responses, questions and notes" });
    this.kind = element("select", {}, ...FILTERS.map(([value, name]) => element("option", { value }, name)));
    this.since = element("input", { type: "date" });
    this.until = element("input", { type: "date" });
    this.search.addEventListener("input", () => {
      clearTimeout(this.typing);
      this.typing = setTimeout(() => this.show(), TYPING_MS);
    });
    for (const field of [this.kind, this.since, this.until]) {
      field.addEventListener("change", () => this.show());
    }
    return element(
      "form",
      { class: "filters", role: "search" },
      labelled("Search", this.search),
      labelled("Show", this.kind),
      labelled("From", this.since, true),
      labelled("to", this.until, true),
    );
  }

  exports() {
    this.export = element(
      "select",
      { "aria-label": "Export" },
      element("option", { value: "" }, "Export …"),
      element("option", { value: "reports" }, "Reports as JSON lines"),
      element("option", { value: "labelled" }, "Decisions as a labelled dataset"),
    );
    this.export.addEventListener("change", () => this.save(this.export.value));
    this.remove = textButton({ class: "quiet danger" }, () => this.removeChosen(), "Delete");
    return [this.export, this.remove];
  }

  makeTable() {
    this.every = element("input", { type: "checkbox", "aria-label": "Choose all that are shown" });
    this.every.addEventListener("change", () => {
      for (const box of this.boxes()) box.checked = this.every.checked;
      this.settle();
    });
    const heads = ["Checked", "Verdict", "Score", "Claims", "Response", "Review"];
    this.table = element(
      "table",
      { class: "past" },
      element("caption", { class: "unseen" }, "Reports, newest first"),
      element(
        "thead",
        {},
        element(
          "tr",
          {},
          element("th", { scope: "col", class: "choose" }, this.every),
          ...heads.map((name) => element("th", { scope: "col" }, name)),
        ),
      ),
      this.rows,
    );
    return this.table;
  }

  boxes() {
    return [...this.rows.querySelectorAll("input[type=checkbox]")];
  }

  /** The query of the filters, as the server reads it. */
  query() {
    const query = new URLSearchParams(this.kind.value);
    const search = this.search.value.trim();
    if (search) query.set("search", search);
    if (this.since.value) query.set("since", this.since.value);
    if (this.until.value) query.set("until", this.until.value);
    return query;
  }

  async show() {
    this.rows.replaceChildren();
    this.every.checked = false;
    this.next = null;
    // What they would act on is not known before the rows are there.
    for (const control of [this.export, this.remove, this.more]) control.hidden = true;
    await this.load();
  }

  get mayDelete() {
    return this.session.data.scopes.includes("admin");
  }

  async load() {
    const query = this.query();
    query.set("limit", PAGE);
    if (this.next) query.set("before", this.next);
    const turn = (this.turn = (this.turn ?? 0) + 1);
    let page;
    try {
      page = await this.api.json(`v1/reports?${query}`);
    } catch (fault) {
      if (turn === this.turn) this.fail(fault);
      return;
    }
    if (turn !== this.turn) return; // another choice was made meanwhile
    this.trouble.replaceChildren();
    this.rows.append(...page.reports.map((report) => this.row(report)));
    this.next = page.next;
    this.more.hidden = !this.next;
    this.settle();
  }

  fail(fault) {
    this.trouble.replaceChildren(
      notice(fault, [{ label: "Try again", act: () => this.show(), wait: fault.retryAfter ?? 0 }]),
    );
    this.settle();
  }

  settle() {
    const some = this.rows.children.length > 0;
    const failed = this.trouble.hasChildNodes();
    const chosen = this.boxes().filter((box) => box.checked).length;
    const filtered = this.query().size > 0;
    this.table.parentElement.hidden = !some;
    this.none.hidden = some || failed;
    this.none.textContent = filtered
      ? "No report fits."
      : "Nothing is kept yet. Tick “Keep in the history” when you check.";
    this.export.hidden = !some;
    this.remove.hidden = !(some && this.mayDelete);
    this.remove.textContent = chosen
      ? `Delete ${plural(chosen, "report", "reports")}`
      : filtered
        ? "Delete all that fit"
        : "Delete all";
    this.every.hidden = !this.mayDelete;
  }

  row(report) {
    const { id, created, verdict, score, claims, question, review } = report;
    const counts = STATE_ORDER.filter((state) => claims[state]).map((state) =>
      element(
        "span",
        { class: `tally ${state}`, title: `${claims[state]} ${state}` },
        element("span", { "aria-hidden": "true" }, SYMBOLS[state]),
        String(claims[state]),
        element("span", { class: "unseen" }, ` ${state} `),
      ),
    );
    const link = reportLink(report, this.open);
    const asked = question ? element("small", { dir: "auto" }, visible(question)) : null;
    const box = element("input", {
      type: "checkbox",
      value: id,
      "aria-label": `Choose the report on: ${link.textContent}`,
    });
    box.addEventListener("change", () => this.settle());
    return element(
      "tr",
      { "data-id": id },
      element("td", { class: "choose" }, this.mayDelete ? box : ""),
      element("td", { class: "when" }, when(created)),
      element("td", {}, verdictMark(verdict)),
      element("td", { class: "figure", "data-name": "score" }, decimal(score)),
      element("td", { class: "tallies" }, ...(counts.length ? counts : ["none"])),
      element("td", { class: "excerpt" }, link, asked),
      element("td", { class: "reviewed" }, ...reviewed(review)),
    );
  }

  /** Deletes what is ticked, or everything that the filters let through. */
  async removeChosen() {
    const chosen = this.boxes().filter((box) => box.checked);
    const query = chosen.length ? new URLSearchParams(chosen.map((box) => ["id", box.value])) : this.query();
    const what = chosen.length
      ? plural(chosen.length, "report", "reports")
      : query.size
        ? "all reports that fit the filters, also those not shown yet,"
        : "all reports";
    if (!(await confirmed(`Delete ${what} for good?`, "Delete"))) return;
    try {
      const { deleted } = await this.api.json(`v1/reports?${query}`, { method: "DELETE" });
      this.status(`${plural(deleted, "report", "reports")} deleted`);
      await this.show();
      this.title.focus();
    } catch (fault) {
      this.fail(fault);
    }
  }

  async save(form) {
    this.export.value = "";
    if (!form) return;
    const query = this.query();
    query.set("form", form);
    try {
      const text = await this.api.text(`v1/reports/export?${query}`);
      const lines = text.split("\n").filter(Boolean).length;
      if (!lines) return void this.status("Nothing to export: decide on claims of a report first");
      saveFile(`halldetect-${form}.jsonl`, text, "application/x-ndjson");
      this.status(`${plural(lines, "row", "rows")} exported`);
    } catch (fault) {
      this.fail(fault);
    }
  }
}

/** What was said of a report, in a few words. */
function reviewed(review) {
  if (!review) return [];
  const parts = [];
  if (review.agree) parts.push(`${review.agree} agreed`);
  if (review.disagree) parts.push(`${review.disagree} disagreed`);
  const words = parts.join(", ") || "noted";
  return [words, review.note ? element("small", { dir: "auto" }, visible(review.note)) : null];
}
