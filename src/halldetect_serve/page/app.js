/**
 * The page: the current view, the rights of the token, and a check from start to report.
 *
 * The report's own script loads before this one; its names (element, textButton, stored,
 * SYMBOLS, ReportView...) are used here. The address names the view: nothing,
 * `?view=history`, `?view=result`, `?view=comparison`, `?view=repair` or `?report=ID`; the
 * fragment belongs to the report.
 */

import { Api, Fault, again, askToken, build, capital, confirmed, find, notice, onPlainClick, visible } from "./api.js";
import { CheckForm } from "./check_form.js";
import { History, Review } from "./history.js";
import { Outcome, Watch, copied } from "./views.js";

const RESULTS_KEY = "halldetect-results";
const VIEWS = ["check", "watch", "report", "comparison", "repair", "history"];
const WANTS_TOKEN = "This server wants a token. It is kept until you close this tab.";
const REFUSED = "The server did not accept the token.";

class App {
  constructor() {
    this.api = new Api();
    this.session = { data: null };
    // By name of the view (result, comparison, repair), what the server sent; kept over a reload.
    this.results = JSON.parse(stored(() => sessionStorage.getItem(RESULTS_KEY)) ?? "{}");
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
    else if (this.results[view]) this.showResult(view, this.results[view]);
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
    let [name, found] = ["result", null];
    if (request.a === undefined && !repair) {
      const on = { progress: (data) => watch.advance(data) };
      for (const event of ["accepted", "claims", "verdict"]) on[event] = (data) => watch[event](data);
      found = await this.api.check(request, on, signal);
    } else {
      name = repair ? "repair" : "comparison";
      watch.say(repair ? "Repairing the response" : "Checking both responses");
      const body = JSON.stringify(request);
      found = await this.api.json(repair ? "v1/repair" : "v1/compare", { method: "POST", body, signal });
    }
    if (this.watch !== watch) return;
    // The report of a conversation has its turns, but not the messages as they were typed.
    if (request.conversation) {
      const [documents, names] = [(one) => one.text ?? one, (one) => one.id ?? ""].map((part) => request.source.map(part));
      found.texts = { documents, document_names: names, response: request.response };
    }
    this.results[name] = found;
    const id = found.stored?.id;
    if (!id) stored(() => sessionStorage.setItem(RESULTS_KEY, JSON.stringify({ [name]: found })));
    this.arrive(id ? `./?report=${encodeURIComponent(id)}` : `./?view=${name}`);
  }

  /** Shows the result, unless the reader has opened another view meanwhile. */
  arrive(address) {
    this.watch = null;
    if (this.shown === "") return void this.go(address);
    this.ready = address;
    this.status("The check is done: see Check");
  }

  async showStored(id) {
    const known = this.results.result;
    if (known?.stored?.id === id) return void this.showOutcome(known);
    const path = `v1/reports/${encodeURIComponent(id)}`;
    try {
      const [report, { view }] = await Promise.all([this.api.json(path), this.api.json(`${path}/view`)]);
      if (new URLSearchParams(location.search).get("report") === id) {
        this.showOutcome({ report, view, stored: { id } });
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

  /** Returns a button that fills the form with texts. */
  refill(label, texts) {
    const act = async () => {
      if (!(await this.form.replace(texts, "Replace the texts of the form?", "Replace"))) return;
      this.go("./");
    };
    return textButton({ class: "quiet" }, act, label);
  }

  /** Returns the buttons above a result. */
  actions(texts) {
    return [this.refill("New check", { documents: [], response: "" }), this.refill("Edit the texts", texts)];
  }

  showOutcome({ report, view, html, markdown, texts, stored: kept, store_error: storeError }) {
    this.outcome?.leave();
    const id = kept?.id;
    const path = `v1/reports/${encodeURIComponent(id)}`;
    const formats = {
      json: () => (id ? this.api.text(path) : `${JSON.stringify(report, null, 2)}\n`),
      html: () => html ?? this.api.text(`${path}.html`),
      markdown: () => markdown ?? this.api.text(`${path}.md`),
    };
    if (id && this.session.data.pdf) formats.pdf = async () => (await this.api.ask(`${path}.pdf`)).blob();
    const actions = this.actions(texts ?? report).slice(0, report.messages && !texts ? 1 : 2);
    if (report.verdict === "hallucinated" && !report.messages && this.may("check")) {
      actions.push(textButton({ class: "quiet" }, () => this.repair(report), "Repair"));
    }
    const status = (text) => this.status(text);
    const open = (other) => this.go(`./?report=${encodeURIComponent(other)}`);
    const remove =
      id && this.may("admin") ? textButton({ class: "quiet danger" }, () => this.remove(id), "Delete") : null;
    const review =
      id && this.may("read") ? new Review(this.api, id, { status, open, mayWrite: this.may("check") }) : null;
    find("report").hidden = false; // the view measures itself while it is built
    const shown = { report, view, formats, id, storeError };
    this.outcome = new Outcome(find("report"), shown, { status, actions, remove, review });
    this.show("report", capital(report.verdict));
  }

  /** Repairs the response of a report, with the options of the form. */
  async repair(report) {
    if (!(await this.form.replace(report, "Replace the texts of the form?", "Replace"))) return;
    this.go("./");
    const { store, include, ...request } = this.form.request() ?? {};
    if (request.source) this.check(request, { repair: true });
  }

  /** Shows a comparison or a repair. */
  showResult(name, { view, a, b, repair }) {
    const actions = this.actions(a ? { ...a, second: b.response } : repair.original);
    if (repair && repair.text !== null) {
      const { original, text } = repair;
      const copy = async () => {
        this.status((await copied(text)) ? "New text copied" : "The browser did not allow copying");
      };
      actions.push(this.refill("Use the new text", { ...original, response: text }));
      actions.push(textButton({ class: "quiet" }, copy, "Copy the new text"));
    }
    const [title, ...rest] = build(view);
    find(name).replaceChildren(title, element("div", { class: "actions" }, ...actions), ...rest);
    this.show(name, capital(name));
  }

  async remove(id) {
    if (!(await confirmed("Delete this report for good?", "Delete"))) return;
    try {
      await this.api.ask(`v1/reports/${encodeURIComponent(id)}`, { method: "DELETE" });
    } catch (fault) {
      this.outcome?.trouble.replaceChildren(notice(fault));
      return;
    }
    if (this.results.result?.stored?.id === id) this.results.result = null;
    this.status("Report deleted");
    this.go("./?view=history");
  }
}

new App().start();
