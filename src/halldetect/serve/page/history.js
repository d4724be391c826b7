/** The reports that are kept: newest first, to open or to delete. */

import { confirmed } from "./dialogs.js";
import { notice } from "./notices.js";

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

export class History {
  /** `open(id)` shows a report; `status(text)` speaks aloud. */
  constructor(host, { api, session, open, status }) {
    Object.assign(this, { host, api, session, open, status });
    this.title = element("h1", { tabindex: "-1" }, "History");
    this.verdict = element(
      "select",
      {},
      element("option", { value: "" }, "All verdicts"),
      ...Object.keys(VERDICT_SYMBOLS).map((name) =>
        element("option", { value: name }, capital(name)),
      ),
    );
    this.verdict.addEventListener("change", () => this.show());
    this.empty = textButton({ class: "quiet danger" }, () => this.removeAll(), "Delete all");
    this.trouble = element("div");
    this.rows = element("tbody");
    const heads = ["Checked", "Verdict", "Score", "Claims", "Response", "Seconds"];
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
          ...heads.map((name) => element("th", { scope: "col" }, name)),
          element("th", { scope: "col" }, element("span", { class: "unseen" }, "Delete")),
        ),
      ),
      this.rows,
    );
    this.more = textButton({ class: "quiet", hidden: true }, () => this.load(), "Show more");
    this.none = element("p", { class: "plain", hidden: true });
    host.replaceChildren(
      element(
        "header",
        { class: "view-head" },
        this.title,
        element("label", {}, element("span", { class: "unseen" }, "Show"), this.verdict),
        this.empty,
      ),
      this.trouble,
      element("div", { class: "panel table" }, this.table),
      this.none,
      element("div", { class: "actions" }, this.more),
    );
  }

  async show() {
    this.rows.replaceChildren();
    this.next = null;
    await this.load();
  }

  get mayDelete() {
    return this.session.data.scopes.includes("admin");
  }

  async load() {
    const query = new URLSearchParams({ limit: PAGE });
    if (this.next) query.set("before", this.next);
    if (this.verdict.value) query.set("verdict", this.verdict.value);
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
    this.table.parentElement.hidden = !some;
    this.none.hidden = some || failed;
    this.none.textContent = this.verdict.value
      ? `No report that is ${this.verdict.value}.`
      : "Nothing is kept yet. Tick “Keep in the history” when you check.";
    this.empty.hidden = !(some && this.mayDelete) || Boolean(this.verdict.value);
  }

  row(report) {
    const { id, created, verdict, score, claims, seconds, question } = report;
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
    const row = element(
      "tr",
      { "data-id": id },
      element("td", { class: "when" }, when(created)),
      element("td", {}, verdictMark(verdict)),
      element("td", { class: "figure", "data-name": "score" }, decimal(score)),
      element("td", { class: "tallies" }, ...(counts.length ? counts : ["none"])),
      element("td", { class: "excerpt" }, link, asked),
      element("td", { class: "figure", "data-name": "seconds" }, seconds.toFixed(1)),
    );
    const remove = textButton(
      { class: "remove", "aria-label": `Delete the report on: ${link.textContent}` },
      () => this.remove(id, row),
      "Delete",
    );
    row.append(element("td", { class: "end" }, this.mayDelete ? remove : ""));
    return row;
  }

  async remove(id, row) {
    if (!(await confirmed("Delete this report for good?", "Delete"))) return;
    try {
      await this.api.ask(`v1/reports/${encodeURIComponent(id)}`, { method: "DELETE" });
    } catch (fault) {
      if (fault.code !== "not_found") return void this.fail(fault);
    }
    const next = row.nextElementSibling ?? row.previousElementSibling;
    row.remove();
    this.settle();
    this.status("Report deleted");
    (next?.querySelector(".remove") ?? this.title).focus();
  }

  async removeAll() {
    if (!(await confirmed("Delete all reports for good?", "Delete all"))) return;
    try {
      const { deleted } = await this.api.json("v1/reports", { method: "DELETE" });
      this.status(`${plural(deleted, "report", "reports")} deleted`);
      await this.show();
      this.title.focus();
    } catch (fault) {
      this.fail(fault);
    }
  }
}
