/** Many reports at a glance: how often, what kind, how slow. */

import { amountBars, percent, periods, timeChart } from "./charts.js";
import { reportLink, verdictMark, when } from "./history.js";
import { notice } from "./notices.js";

const PERIODS = [7, 30, 90, 365];

export class Dashboard {
  constructor(host, { api, open }) {
    Object.assign(this, { host, api, open });
    this.title = element("h1", { tabindex: "-1" }, "Dashboard");
    this.days = element(
      "select",
      {},
      ...PERIODS.map((days) =>
        element("option", { value: days, selected: days === 30 }, `Last ${days} days`),
      ),
    );
    this.days.addEventListener("change", () => this.show());
    this.body = element("div", { class: "board" });
    host.replaceChildren(
      element(
        "header",
        { class: "view-head" },
        this.title,
        element("label", {}, element("span", { class: "unseen" }, "Period"), this.days),
      ),
      this.body,
    );
    new ResizeObserver(() => this.draw()).observe(this.body);
  }

  async show() {
    const turn = (this.turn = (this.turn ?? 0) + 1);
    try {
      const summary = await this.api.json(`v1/reports/summary?days=${this.days.value}`);
      if (turn === this.turn) this.fill(summary);
    } catch (fault) {
      if (turn !== this.turn) return;
      this.chart = null;
      const again = { label: "Try again", act: () => this.show(), wait: fault.retryAfter ?? 0 };
      this.body.replaceChildren(notice(fault, [again]));
    }
  }

  fill(summary) {
    this.chart = null;
    if (!summary.total) {
      const text = `No report was kept in the last ${summary.days} days.`;
      this.body.replaceChildren(element("p", { class: "plain" }, text));
      return;
    }
    this.spans = periods(summary.by_day, summary.days);
    this.chart = element("div", { class: "plot" });
    this.summary =
      `Hallucination rate over the last ${summary.days} days: ` +
      `${percent(summary.hallucination_rate)} of ${plural(summary.total, "report", "reports")}.`;
    this.body.replaceChildren(
      tiles(summary),
      card("Hallucination rate over time", legend(), this.chart, dayTable(this.spans)),
      card("Claims, most frequent kind first", kinds(summary.claims)),
      Object.keys(summary.errors).length ? card("Kinds of error", kinds(summary.errors)) : "",
      card("Slowest checks", this.slowest(summary.slowest)),
    );
    this.draw();
  }

  draw() {
    const width = Math.floor(this.chart?.clientWidth ?? 0);
    if (!width || width === this.drawn?.width && this.drawn.chart === this.chart) return;
    this.drawn = { width, chart: this.chart };
    this.chart.replaceChildren(timeChart(this.spans, width, this.summary));
  }

  slowest(rows) {
    return element(
      "ol",
      { class: "slowest" },
      ...rows.map((row) => {
        const { seconds, verdict, created } = row;
        const link = reportLink(row, this.open);
        const facts = element("small", {}, verdictMark(verdict), when(created));
        const time = element("span", { class: "amount" }, `${seconds.toFixed(1)} s`);
        return element("li", {}, time, element("div", {}, link, facts));
      }),
    );
  }
}

function card(title, ...children) {
  return element("section", { class: "panel chart-card" }, element("h2", {}, title), ...children);
}

function tiles({ total, hallucination_rate: rate, seconds, verdicts }) {
  const time = (value) => (value === null ? "n/a" : `${value.toFixed(1)} s`);
  const figures = [
    ["Reports", total.toLocaleString("en"), `${verdicts.uncheckable} uncheckable`],
    ["Hallucination rate", percent(rate), `${verdicts.hallucinated} of ${verdicts.hallucinated + verdicts.faithful} judged`],
    ["Mean time", time(seconds.mean), "per check"],
    ["95th percentile", time(seconds.p95), "19 of 20 are faster"],
  ];
  return element(
    "dl",
    { class: "tiles" },
    ...figures.map(([name, value, note]) =>
      element(
        "div",
        { class: "panel" },
        element("dt", {}, name),
        element("dd", {}, value, element("small", {}, note)),
      ),
    ),
  );
}

function legend() {
  const entry = (kind) => element("span", { class: `key ${kind}` }, capital(kind));
  return element(
    "p",
    { class: "legend", "aria-hidden": "true" },
    element("span", { class: "key rate" }, "Rate"),
    ...["hallucinated", "uncheckable", "abstained", "faithful"].map(entry),
  );
}

/** The chart in figures, for who cannot see it and who wants to know exactly. */
function dayTable(spans) {
  const heads = ["Period", "Rate", "Hallucinated", "Faithful", "Abstained", "Uncheckable"];
  const rows = spans
    .filter(({ total }) => total)
    .map(({ label, rate, hallucinated, faithful, abstained, uncheckable }) =>
      element(
        "tr",
        {},
        element("th", { scope: "row" }, label),
        ...[percent(rate), hallucinated, faithful, abstained, uncheckable].map((value) =>
          element("td", { class: "figure" }, String(value)),
        ),
      ),
    );
  return element(
    "details",
    {},
    element("summary", {}, "Show as a table"),
    element(
      "table",
      { class: "figures-table" },
      element("thead", {}, element("tr", {}, ...heads.map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...rows),
    ),
  );
}

function kinds(claims) {
  const rows = Object.entries(claims).map(([kind, amount]) => ({ name: capital(kind), kind, amount }));
  return amountBars(rows.sort((one, other) => other.amount - one.amount));
}
