/** A running check, and a report with the ways to take it along. */

import { again, build, capital, choice, notice, plural, symbol, visible } from "./api.js";

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
    this.say(queued ? `Waiting: ${plural(queued, "check")} before this one` : "Started");
  }

  advance({ phase, done, of, seconds_left: left }) {
    this.progress.max = of || 1;
    this.progress.value = done;
    const rest = left == null ? "" : `, about ${duration(left)} left`;
    const words = { extract: "Finding the claims", convert: "Converting the verifier, which is done once" };
    const judging = `Judging: ${this.settled()} settled`;
    this.say((words[phase] ?? (phase === "verify" ? judging : "Looking for the passages")) + rest);
  }

  settled() {
    return `${this.states.filter(Boolean).length} of ${plural(this.states.length, "claim")}`;
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
    this.title.textContent = "Not checked";
    this.phase.textContent = this.states.length ? `${this.settled()} had been settled.` : "";
    this.stop.hidden = this.progress.hidden = true;
    for (const state of this.list.querySelectorAll(".state.pending")) state.textContent = "Not judged";
    const { back, retry } = this.acts;
    this.trouble.replaceChildren(notice(fault, [again(retry), { label: "Back to the texts", act: back }]));
  }
}

/**
 * A report on the page: the view that the server made, with export buttons. `formats[name]()`
 * returns a form of the report (a text; a Blob for PDF), `id` is set if it is stored.
 */
export class Outcome {
  constructor(host, { report, view, formats, id, storeError }, { status, actions, remove, review }) {
    Object.assign(this, { formats, status, review });
    this.stem = `halldetect-${report.verdict}${id ? `-${id}` : ""}`;
    const offered = Object.keys(FORMATS).filter((value) => formats[value]);
    this.format = choice(offered.map((value) => [value, FORMATS[value][0]]), { "aria-label": "Format" });
    const copy = textButton({ class: "quiet" }, () => this.take("copy"), "Copy");
    this.format.addEventListener("change", () => {
      copy.disabled = this.format.value === "pdf";
    });
    const load = textButton({ class: "quiet" }, () => this.take("download"), "Download");
    const along = { class: "group", role: "group", "aria-label": "Take the report along" };
    this.trouble = element("div", { class: "notices" });
    const root = element("div", { class: "report-view" }, ...build(view));
    const tools = [element("div", { class: "group" }, ...actions), element("div", along, this.format, copy, load, remove)];
    root.querySelector(".head").after(element("div", { class: "tools" }, ...tools), this.trouble);
    host.replaceChildren(root);
    if (storeError) {
      const text = `The report was not kept: ${visible(storeError.message)}.`;
      this.trouble.append(element("section", { class: "notice mild", role: "status" }, text));
    }
    this.view = new ReportView(root);
    review?.attach(this.view, this.trouble);
    root.querySelector("h1").setAttribute("tabindex", "-1");
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
