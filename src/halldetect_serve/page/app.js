/**
 * The page: which view is shown, who may do what, and a check from start to report.
 *
 * The report's own scripts are read before this one; their names (element, textButton, visible,
 * TextPane, ReportView...) are used as they are. The address says which view it is: nothing,
 * `?view=history`, `?view=dashboard`, `?view=result`, `?view=comparison`, `?view=repair` or
 * `?report=ID`; what follows a # belongs to the report.
 */

import { Api, Fault } from "./api.js";
import { CheckForm } from "./check_form.js";
import { comparisonView } from "./comparison.js";
import { Dashboard } from "./dashboard.js";
import { askToken, confirmed } from "./dialogs.js";
import { History } from "./history.js";
import { notice } from "./notices.js";
import { Outcome, copied } from "./outcome.js";
import { repairView } from "./repair.js";
import { Review } from "./review.js";
import { Watch } from "./watch.js";

const find = (id) => document.getElementById(id);
const VIEWS = ["check", "watch", "report", "comparison", "repair", "history", "dashboard"];
const WANTS_TOKEN = "This server wants a token. It is kept until you close this tab.";

/** What the server says about itself and about our token. */
class Session {
  constructor(api, onChange) {
    this.api = api;
    this.onChange = onChange;
  }

  async refresh() {
    this.take(await this.api.json("v1/session"));
  }

  take(data) {
    this.data = data;
    this.onChange();
  }

  get locked() {
    return this.data.auth_required && !this.data.authenticated;
  }
}

class App {
  constructor() {
    this.api = new Api();
    this.session = new Session(this.api, () => this.dress());
    this.status = toast(find("status"));
    const shared = { api: this.api, session: this.session, status: this.status };
    const open = (id) => this.go(`./?report=${encodeURIComponent(id)}`);
    this.form = new CheckForm({ ...shared, submit: (request) => this.check(request) });
    this.history = new History(find("history"), { ...shared, open });
    this.dashboard = new Dashboard(find("dashboard"), { ...shared, open });
    document.querySelector(".app-tools").append(themeSwitch());
    document.querySelector(".app-bar nav").addEventListener("click", (event) => {
      const link = event.target.closest("a");
      if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
      event.preventDefault();
      this.go(link.getAttribute("href"));
    });
    find("token-button").addEventListener("click", () => this.unlock(WANTS_TOKEN));
    window.addEventListener("popstate", () => {
      if (location.search !== this.shown) this.route();
    });
  }

  async start() {
    try {
      await this.session.refresh();
    } catch (fault) {
      const again = { label: "Try again", act: () => this.start(), wait: fault.retryAfter ?? 0 };
      find("notices").replaceChildren(notice(fault, [again]));
      return;
    }
    find("notices").replaceChildren();
    if (this.session.locked) await this.unlock(WANTS_TOKEN);
    else await this.form.offer();
    this.route();
  }

  /** Asks for a token; what can be picked may be other with another token. */
  async unlock(why) {
    const accepted = await askToken(this.api, this.session, why);
    await this.form.offer();
    if (accepted && this.shown !== undefined) this.route();
    return accepted;
  }

  /** Fits the bar to what the server offers. */
  dress() {
    const { auth_required: locks, authenticated, token_name: name, storage, scopes } = this.session.data;
    const reads = storage && (scopes.includes("read") || !authenticated);
    for (const view of ["history", "dashboard"]) {
      document.querySelector(`[data-view=${view}]`).hidden = !reads;
    }
    const button = find("token-button");
    button.hidden = !locks;
    button.textContent = authenticated ? `Token: ${visible(name ?? "in use")}` : "Enter token";
  }

  go(address) {
    history.pushState(null, "", address);
    this.route();
  }

  route() {
    if (!this.session.data) return void this.start();
    const query = new URLSearchParams(location.search);
    const report = query.get("report");
    const view = query.get("view");
    this.shown = location.search;
    if (report) this.showStored(report);
    else if (view === "result" && this.result) this.showOutcome(this.result);
    else if (view === "comparison" && this.comparison) this.showComparison();
    else if (view === "repair" && this.repaired) this.showRepair();
    else if (view === "history" || view === "dashboard") this.showList(view);
    else if (view) this.replace("./");
    else this.showCheck();
  }

  replace(address) {
    history.replaceState(null, "", address);
    this.route();
  }

  /** Shows one view and hides the others; the reader starts at its heading. */
  show(name, title, heading) {
    if (name !== "report") {
      this.outcome?.leave();
      this.outcome = null;
    }
    for (const view of VIEWS) find(view).hidden = view !== name;
    const current = { watch: "check", report: "", comparison: "", repair: "" }[name] ?? name;
    for (const link of document.querySelectorAll(".app-bar nav a")) {
      if (link.dataset.view === current) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${title}: HallDetect`;
    if (heading && this.begun) {
      scrollTo(0, 0);
      heading.focus({ preventScroll: true });
    }
    this.begun = true;
  }

  showCheck() {
    const { ready } = this;
    this.ready = null;
    if (ready) this.replace(ready);
    else if (this.watch) this.show("watch", "Checking", this.watch.title);
    else this.show("check", "Check", find("check").querySelector("h1"));
  }

  async showList(name) {
    this.show(name, capital(name), this[name].title);
    await this[name].show();
  }

  /** Checks a response, or compares two (`a` and `b`), or repairs one; a running check ends. */
  async check(request, { repair = false } = {}) {
    this.cancel?.();
    this.watch?.leave();
    this.watch = this.ready = null;
    if (this.shown !== "") this.go("./"); // after a token was asked for elsewhere
    const ends = new AbortController();
    this.cancel = () => ends.abort();
    const back = () => {
      this.watch = null;
      this.showCheck();
      find("response").focus();
    };
    const two = request.a !== undefined;
    const watch = new Watch(find("watch"), two ? { response: request.a } : request, {
      cancel: () => ends.abort(),
      back,
      retry: () => this.check(request, { repair }),
    });
    this.watch = watch;
    this.show("watch", "Checking", watch.title);
    const on = {
      accepted: (data) => watch.accepted(data),
      progress: (data) => watch.progressed(data),
      claims: (data) => watch.claims(data),
      verdict: (data) => watch.verdict(data),
    };
    try {
      if (two || repair) {
        watch.say(two ? "Checking both responses" : "Repairing the response");
        const path = two ? "v1/compare" : "v1/repair";
        const body = JSON.stringify(request);
        const found = await this.api.json(path, { method: "POST", body, signal: ends.signal });
        if (this.watch !== watch) return;
        this.endWatch();
        if (two) this.comparison = found;
        else this.repaired = found;
        this.arrive(`./?view=${two ? "comparison" : "repair"}`);
        return;
      }
      const found = await this.api.check(request, on, ends.signal);
      if (this.watch === watch) this.finish(found);
    } catch (error) {
      if (this.watch !== watch) {
        if (error instanceof Fault) return; // of a check that was ended by another
        throw error;
      }
      const fault = error instanceof Fault ? error : new Fault({ code: "page", message: error.message });
      if (fault.code === "cancelled") return void back();
      watch.fail(fault);
      if (this.shown !== "") this.status("The check failed: see Check");
      if (fault.code !== "unauthorized") return;
      if (await this.unlock("The server did not accept the token.")) this.check(request, { repair });
    }
  }

  endWatch() {
    this.watch.leave();
    this.watch = null;
    find("watch").replaceChildren();
  }

  /** Repairs the response of a report, with the options that are set in the form. */
  repair(payload) {
    this.go("./");
    this.form.fill(payload);
    const request = this.form.request();
    if (!request) return;
    const { store, include, ...texts } = request;
    this.check(texts, { repair: true });
  }

  showRepair() {
    const { view, repair } = this.repaired;
    const { original, text } = repair;
    const copy = async () => {
      this.status((await copied(text)) ? "New text copied" : "The browser did not allow copying");
    };
    const actions = [
      textButton({ class: "quiet" }, () => this.again(null), "New check"),
      textButton({ class: "quiet" }, () => this.again(original), "Edit the texts"),
    ];
    if (text !== null) {
      const use = () => this.again({ ...original, response: text });
      actions.push(textButton({ class: "quiet" }, use, "Use the new text"));
      actions.push(textButton({ class: "quiet" }, copy, "Copy the new text"));
    }
    const { title, nodes } = repairView(view, actions);
    find("repair").replaceChildren(...nodes);
    this.show("repair", "Repair", title);
  }

  /** Goes to what a check has found; a reader who has opened another view meanwhile stays. */
  arrive(address) {
    if (this.shown === "") return void this.go(address);
    this.ready = address;
    this.status("The check is done: see Check");
  }

  showComparison() {
    const { view, a, b } = this.comparison;
    const edit = () => {
      this.again(a);
      this.form.second.value = b.response;
      this.form.compareTwo(true);
    };
    const { title, nodes } = comparisonView(view, [
      textButton({ class: "quiet" }, () => this.again(null), "New check"),
      textButton({ class: "quiet" }, edit, "Edit the texts"),
    ]);
    find("comparison").replaceChildren(...nodes);
    this.show("comparison", "Comparison", title);
  }

  finish({ report, view, markdown, html, stored, store_error: storeError }) {
    this.endWatch();
    const formats = {
      json: () => `${JSON.stringify(report, null, 2)}\n`,
      html: () => html,
      markdown: () => markdown,
      ...this.pdfForm(() => report),
    };
    this.result = { payload: view, formats, id: stored?.id ?? null, storeError };
    const address = stored ? `./?report=${encodeURIComponent(stored.id)}` : "./?view=result";
    this.arrive(address);
  }

  /** The audit sheet of a report that is not kept, where the server can make it. */
  pdfForm(report) {
    if (!this.session.data.pdf) return {};
    const ask = () =>
      this.api.ask("v1/reports/pdf", {
        method: "POST",
        body: JSON.stringify({ report: report() }),
      });
    return { pdf: async () => (await ask()).blob() };
  }

  async showStored(id) {
    if (this.result?.id === id) return void this.showOutcome(this.result);
    const path = `v1/reports/${encodeURIComponent(id)}`;
    const asked = this.shown;
    try {
      const { view } = await this.api.json(`${path}/view`);
      if (asked !== this.shown) return;
      const formats = {
        json: () => this.api.text(path),
        html: () => this.api.text(`${path}.html`),
        markdown: () => this.api.text(`${path}.md`),
        ...(this.session.data.pdf && {
          pdf: async () => (await this.api.ask(`${path}.pdf`)).blob(),
        }),
      };
      this.showOutcome({ payload: view, formats, id });
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      if (asked !== this.shown) return;
      this.outcome?.leave();
      this.outcome = null;
      const again = { label: "Try again", act: () => this.route(), wait: fault.retryAfter ?? 0 };
      const home = { label: "New check", act: () => this.go("./") };
      const title = element("h1", { class: "unseen", tabindex: "-1" }, "Report not shown");
      find("report").replaceChildren(
        element("main", { class: "view" }, title, notice(fault, [again, home])),
      );
      this.show("report", "Report", title);
      if (fault.code === "unauthorized") await this.unlock("The server did not accept the token.");
    }
  }

  showOutcome(result) {
    this.outcome?.leave();
    const { payload, id } = result;
    const actions = [
      textButton({ class: "quiet" }, () => this.again(null), "New check"),
      textButton({ class: "quiet" }, () => this.again(payload), "Edit the texts"),
    ];
    if (payload.verdict === "hallucinated" && this.session.data.scopes.includes("check")) {
      actions.push(textButton({ class: "quiet" }, () => this.repair(payload), "Repair"));
    }
    if (id && this.session.data.scopes.includes("admin")) {
      actions.push(textButton({ class: "quiet danger" }, () => this.remove(id), "Delete"));
    }
    const host = find("report");
    host.hidden = false; // the view measures itself while it is built
    const { scopes } = this.session.data;
    const review =
      id && scopes.includes("read")
        ? new Review(this.api, id, { status: this.status, mayWrite: scopes.includes("check") })
        : null;
    this.outcome = new Outcome(host, result, { status: this.status, actions, review });
    this.show("report", capital(payload.verdict), this.outcome.heading);
  }

  /** Back to the form: with the texts of a report, or empty. */
  again(payload) {
    this.go("./");
    this.form.fill(payload ?? { documents: [], response: "" });
  }

  async remove(id) {
    if (!(await confirmed("Delete this report for good?", "Delete"))) return;
    try {
      await this.api.ask(`v1/reports/${encodeURIComponent(id)}`, { method: "DELETE" });
    } catch (fault) {
      this.outcome?.trouble.replaceChildren(notice(fault));
      return;
    }
    if (this.result?.id === id) this.result = null;
    this.status("Report deleted");
    this.go("./?view=history");
  }
}

/** Says something for a few seconds, to the eye and to a screen reader. */
function toast(node) {
  let timer;
  return (text) => {
    clearTimeout(timer);
    node.textContent = text;
    timer = setTimeout(() => node.replaceChildren(), 4000);
  };
}

new App().start();
