/**
 * The page: the current view, the rights of the token, and a check from start to report.
 *
 * The report's own scripts load before this one; their names (element, textButton, visible,
 * TextPane, ReportView...) are used here. The address names the view: nothing,
 * `?view=history`, `?view=result`, `?view=comparison`, `?view=repair` or `?report=ID`; the
 * fragment belongs to the report.
 */

import { Api, Fault, again, askToken, confirmed, find, notice, onPlainClick } from "./api.js";
import { CheckForm } from "./check_form.js";
import { History, Review } from "./history.js";
import { Outcome, Watch, comparisonView, copied, repairView } from "./views.js";

const VIEWS = ["check", "watch", "report", "comparison", "repair", "history"];
const WANTS_TOKEN = "This server wants a token. It is kept until you close this tab.";
const REFUSED = "The server did not accept the token.";

class App {
  constructor() {
    this.api = new Api();
    this.session = { data: null };
    this.results = {}; // by name of the view: result, comparison, repair
    const shared = { api: this.api, session: this.session, status: (text) => this.status(text) };
    const open = (id) => this.go(`./?report=${encodeURIComponent(id)}`);
    this.form = new CheckForm({ ...shared, submit: (request) => this.check(request) });
    this.history = new History(find("history"), { ...shared, open });
    document.querySelector(".app-tools").append(themeSwitch());
    for (const link of document.querySelectorAll(".app-bar nav a")) {
      onPlainClick(link, () => this.go(link.getAttribute("href")));
    }
    find("token-button").addEventListener("click", () => this.unlock(WANTS_TOKEN));
    window.addEventListener("popstate", () => {
      if (location.search !== this.shown) this.route();
    });
  }

  async start() {
    try {
      this.admit(await this.api.json("v1/session"));
    } catch (fault) {
      find("notices").replaceChildren(notice(fault, [again(() => this.start())]));
      return;
    }
    find("notices").replaceChildren();
    const { auth_required: locks, authenticated } = this.session.data;
    if (locks && !authenticated) await this.unlock(WANTS_TOKEN);
    else await this.form.offer();
    this.route();
  }

  /** Shows a message for a few seconds, also to screen readers. */
  status(text) {
    clearTimeout(this.toast);
    find("status").textContent = text;
    this.toast = setTimeout(() => find("status").replaceChildren(), 4000);
  }

  may(scope) {
    return this.session.data.scopes.includes(scope);
  }

  /** Fits the bar to the server's features and the rights of the token. */
  admit(session) {
    this.session.data = session;
    const { auth_required: locks, authenticated, token_name: name, storage } = session;
    document.querySelector("[data-view=history]").hidden = !(storage && (this.may("read") || !authenticated));
    find("token-button").hidden = !locks;
    find("token-button").textContent = authenticated ? `Token: ${visible(name ?? "in use")}` : "Enter token";
  }

  /** Asks for a token; the available features may change with it. */
  async unlock(why) {
    const accepted = await askToken(this.api, (session) => this.admit(session), why);
    await this.form.offer();
    if (accepted && this.shown !== undefined) this.route();
    return accepted;
  }

  go(address, { replace = false } = {}) {
    history[replace ? "replaceState" : "pushState"](null, "", address);
    this.route();
  }

  route() {
    if (!this.session.data) return void this.start();
    const query = new URLSearchParams(location.search);
    const [report, view] = [query.get("report"), query.get("view")];
    this.shown = location.search;
    if (report) this.showStored(report);
    else if (view === "history") this.showHistory();
    else if (view === "result" && this.results.result) this.showOutcome(this.results.result);
    else if (view === "comparison" && this.results.comparison) this.showComparison();
    else if (view === "repair" && this.results.repair) this.showRepair();
    else if (view) this.go("./", { replace: true });
    else this.showCheck();
  }

  /** Shows one view, hides the others, and moves the focus to its heading. */
  show(name, title) {
    if (name !== "report") {
      this.outcome?.leave();
      this.outcome = null;
    }
    for (const view of VIEWS) find(view).hidden = view !== name;
    const current = { watch: "check" }[name] ?? name;
    for (const link of document.querySelectorAll(".app-bar nav a")) {
      if (link.dataset.view === current) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    document.title = `${title}: HallDetect`;
    if (this.begun) {
      scrollTo(0, 0);
      find(name).querySelector("h1")?.focus({ preventScroll: true });
    }
    this.begun = true;
  }

  showCheck() {
    const { ready } = this;
    this.ready = null;
    if (ready) this.go(ready, { replace: true });
    else this.show(this.watch ? "watch" : "check", this.watch ? "Checking" : "Check");
  }

  async showHistory() {
    this.show("history", "History");
    await this.history.show();
  }

  /** Checks or repairs a response, or compares two (`a` and `b`); cancels a running check. */
  async check(request, { repair = false } = {}) {
    this.cancel?.();
    this.watch = this.ready = null;
    if (this.shown !== "") this.go("./"); // the token was requested in another view
    const ends = new AbortController();
    this.cancel = () => ends.abort();
    const back = () => {
      this.watch = null;
      this.showCheck();
      find("response").focus();
    };
    const retry = () => this.check(request, { repair });
    const watch = new Watch(find("watch"), { cancel: this.cancel, back, retry });
    this.watch = watch;
    this.show("watch", "Checking");
    try {
      await this.run(request, repair, watch, ends.signal);
    } catch (error) {
      if (this.watch !== watch && error instanceof Fault) return; // a newer check cancelled this one
      const fault = error instanceof Fault ? error : new Fault({ code: "page", message: error.message });
      if (fault.code === "cancelled") return void back();
      watch.fail(fault);
      if (this.shown !== "") this.status("The check failed: see Check");
      if (fault.code === "unauthorized" && (await this.unlock(REFUSED))) retry();
    }
  }

  async run(request, repair, watch, signal) {
    const two = request.a !== undefined;
    if (!two && !repair) {
      const on = Object.fromEntries(
        ["accepted", "claims", "verdict"].map((name) => [name, (data) => watch[name](data)]),
      );
      const found = await this.api.check(request, { ...on, progress: (data) => watch.advance(data) }, signal);
      if (this.watch === watch) this.finish(found);
      return;
    }
    watch.say(two ? "Checking both responses" : "Repairing the response");
    const name = two ? "comparison" : "repair";
    const body = JSON.stringify(request);
    const found = await this.api.json(two ? "v1/compare" : "v1/repair", { method: "POST", body, signal });
    if (this.watch !== watch) return;
    this.results[name] = found;
    this.arrive(`./?view=${name}`);
  }

  finish({ report, view, markdown, html, stored, store_error: storeError }) {
    const id = stored?.id ?? null;
    const formats = {
      json: () => `${JSON.stringify(report, null, 2)}\n`,
      html: () => html,
      markdown: () => markdown,
      ...this.pdfOf(id),
    };
    this.results.result = { payload: view, formats, id, storeError };
    this.arrive(id ? `./?report=${encodeURIComponent(id)}` : "./?view=result");
  }

  /** Returns the PDF of a stored report, if the server can create it. */
  pdfOf(id) {
    if (!id || !this.session.data.pdf) return {};
    return { pdf: async () => (await this.api.ask(`v1/reports/${encodeURIComponent(id)}.pdf`)).blob() };
  }

  /** Shows the result, unless the reader has opened another view meanwhile. */
  arrive(address) {
    this.watch = null;
    if (this.shown === "") return void this.go(address);
    this.ready = address;
    this.status("The check is done: see Check");
  }

  async showStored(id) {
    if (this.results.result?.id === id) return void this.showOutcome(this.results.result);
    const path = `v1/reports/${encodeURIComponent(id)}`;
    try {
      const { view } = await this.api.json(`${path}/view`);
      const formats = {
        json: () => this.api.text(path),
        html: () => this.api.text(`${path}.html`),
        markdown: () => this.api.text(`${path}.md`),
        ...this.pdfOf(id),
      };
      if (new URLSearchParams(location.search).get("report") === id) {
        this.showOutcome({ payload: view, formats, id });
      }
    } catch (fault) {
      const ways = [again(() => this.route()), { label: "New check", act: () => this.go("./") }];
      const title = element("h1", { tabindex: "-1" }, "Report");
      const main = element("main", { class: "view" }, title, notice(fault, ways));
      this.outcome?.leave();
      this.outcome = null;
      find("report").replaceChildren(main);
      this.show("report", "Report");
      if (fault.code === "unauthorized") await this.unlock(REFUSED);
    }
  }

  /** Returns the buttons above a result; `texts` refill the form. */
  actions(texts) {
    const again = (filled) => () => {
      this.go("./");
      this.form.fill(filled);
    };
    const button = (label, filled) => textButton({ class: "quiet" }, again(filled), label);
    return [button("New check", { documents: [], response: "" }), button("Edit the texts", texts)];
  }

  showOutcome(result) {
    this.outcome?.leave();
    const { payload, id } = result;
    const actions = this.actions(payload);
    if (payload.verdict === "hallucinated" && this.may("check")) {
      actions.push(textButton({ class: "quiet" }, () => this.repair(payload), "Repair"));
    }
    const remove =
      id && this.may("admin") ? textButton({ class: "quiet danger" }, () => this.remove(id), "Delete") : null;
    const status = (text) => this.status(text);
    const review =
      id && this.may("read") ? new Review(this.api, id, { status, mayWrite: this.may("check") }) : null;
    find("report").hidden = false; // the view measures itself while it is built
    this.outcome = new Outcome(find("report"), result, { status, actions, remove, review });
    this.show("report", capital(payload.verdict));
  }

  /** Repairs the response of a report, with the options of the form. */
  repair(payload) {
    this.go("./");
    this.form.fill(payload);
    const { store, include, ...request } = this.form.request() ?? {};
    if (request.source) this.check(request, { repair: true });
  }

  showComparison() {
    const { view, a, b } = this.results.comparison;
    find("comparison").replaceChildren(...comparisonView(view, this.actions({ ...a, second: b.response })));
    this.show("comparison", "Comparison");
  }

  showRepair() {
    const { view, repair } = this.results.repair;
    const { original, text } = repair;
    const actions = this.actions(original);
    if (text !== null) {
      const [, use] = this.actions({ ...original, response: text });
      use.textContent = "Use the new text";
      const copy = async () => {
        this.status((await copied(text)) ? "New text copied" : "The browser did not allow copying");
      };
      actions.push(use, textButton({ class: "quiet" }, copy, "Copy the new text"));
    }
    find("repair").replaceChildren(...repairView(view, actions));
    this.show("repair", "Repair");
  }

  async remove(id) {
    if (!(await confirmed("Delete this report for good?", "Delete"))) return;
    try {
      await this.api.ask(`v1/reports/${encodeURIComponent(id)}`, { method: "DELETE" });
    } catch (fault) {
      this.outcome?.trouble.replaceChildren(notice(fault));
      return;
    }
    if (this.results.result?.id === id) this.results.result = null;
    this.status("Report deleted");
    this.go("./?view=history");
  }
}

new App().start();
