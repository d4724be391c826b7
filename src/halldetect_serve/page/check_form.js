/** The form of a check: texts and options in, a request out, or a word on what is missing. */

import { Documents, lengthOf, readText, takeFiles } from "./documents.js";

const find = (id) => document.getElementById(id);
const SCORING_NOTES = {
  calibrated: "as good as the worst claim",
  fed: "the paper's: geometric mean over the claims",
};

export class CheckForm {
  /** `submit(request)` is called with what the server wants; `status(text)` speaks aloud. */
  constructor({ api, session, submit, status }) {
    this.api = api;
    this.session = session;
    this.status = status;
    this.node = find("check-form");
    this.response = find("response");
    this.documents = new Documents(find("documents"), () => this.complain("source", ""));
    this.node.addEventListener("submit", (event) => {
      event.preventDefault();
      const request = this.request();
      if (request) submit(request);
    });
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.node.requestSubmit();
    });
    this.response.addEventListener("input", () => this.count());
    this.second = find("response-b");
    this.second.addEventListener("input", () => this.complain("response", ""));
    find("compare").addEventListener("click", () => {
      this.compareTwo(find("second").hidden);
      if (!find("second").hidden) this.second.focus();
    });
    find("threshold").addEventListener("input", () => this.complain("threshold", ""));
    find("add-document").addEventListener("click", () => this.documents.add("").focus());
    find("example").addEventListener("click", () => this.example());
    find("clear").addEventListener("click", () => {
      this.fill({ documents: [], response: "" });
      this.documents.first().focus();
    });
    for (const name of ["question", "extractor", "verifier", "scoring", "threshold", "exact"]) {
      find(name).addEventListener("change", () => this.describe());
    }
    this.dropping();
    this.count();
  }

  dropping() {
    // A file dropped beside the fields must not replace the page.
    for (const kind of ["dragover", "drop"]) {
      document.addEventListener(kind, (event) => {
        if (event.dataTransfer.types.includes("Files")) event.preventDefault();
      });
    }
    takeFiles(this.node.querySelector("[data-drop=source]"), find("source-files"), (files) =>
      this.read(files, "source", (text, name) => this.documents.add(text, name)),
    );
    takeFiles(this.node.querySelector("[data-drop=response]"), find("response-file"), (files) =>
      this.read(files.slice(0, 1), "response", (text) => {
        this.response.value = text;
        this.count();
      }),
    );
  }

  async read(files, field, put) {
    const refused = [];
    for (const file of files) {
      try {
        put(await readText(file), file.name);
        this.status(`${file.name} read`);
      } catch (error) {
        refused.push(error.message);
      }
    }
    this.complain(field, refused.length ? `${visible(refused.join("; "))}.` : "");
  }

  async example() {
    const before = this.response.value;
    try {
      const { source, response, question } = await this.api.json("static/example.json");
      if (this.response.value !== before) return; // the reader has begun to write
      this.fill({ documents: source, response, question });
      find("submit").focus();
    } catch {
      this.complain("source", "The example could not be loaded: the server cannot be reached.");
    }
  }

  /** Whether there is a field for a second response. */
  compareTwo(on) {
    find("second").hidden = !on;
    find("compare").setAttribute("aria-pressed", String(on));
    find("submit").textContent = on ? "Compare" : "Check";
    find("store").disabled = on; // a comparison is not kept
    this.describe();
  }

  fill({ documents, document_names: names, response, question }) {
    this.documents.set(documents, names);
    this.response.value = response;
    this.second.value = "";
    this.compareTwo(false);
    find("question").value = question ?? "";
    this.describe();
    this.count();
  }

  count() {
    const { value } = this.response;
    find("response-count").textContent = value
      ? plural(lengthOf(value), "character", "characters")
      : "";
    this.complain("response", "");
  }

  /** What can be picked, once the server has said so; until then its defaults stand. */
  async offer() {
    const { storage, scopes } = this.session.data;
    find("store-label").hidden = !(storage && scopes.includes("check"));
    if (find("store-label").hidden) find("store").checked = false;
    let known = null;
    try {
      known = await this.api.json("v1/models");
    } catch {
      // a token that may check but not read: the defaults are not known here
    }
    this.models = known;
    for (const role of ["extractor", "verifier"]) {
      const standard = known?.default[role];
      const names = (known?.[`${role}s`] ?? []).map(({ name }) => name);
      const label = standard ? `Default (${standard})` : "Default";
      const others = names.filter((name) => name !== standard);
      options(find(role), [["", label], ...others.map((name) => [name, name])]);
    }
    const scoring = find("scoring");
    const chosen = scoring.value;
    options(scoring, known ? known.scorings.map((name) => [name, name]) : [["", "Default"]]);
    if (known) scoring.value = known.scorings.includes(chosen) ? chosen : known.defaults.scoring;
    if (!find("threshold").value) find("threshold").value = known?.defaults.threshold ?? "";
    this.describe();
  }

  describe() {
    for (const role of ["extractor", "verifier"]) {
      const name = find(role).value || this.models?.default[role];
      const entry = this.models?.[`${role}s`].find((item) => item.name === name);
      find(`${role}-note`).textContent = entry?.description ?? "";
    }
    find("scoring-note").textContent = SCORING_NOTES[find("scoring").value] ?? "";
    find("options-summary").textContent = this.changed();
  }

  /** What is chosen, so that nothing is set behind closed options without a word. */
  changed() {
    const standard = this.models?.defaults;
    const threshold = find("threshold").value;
    return [
      find("question").value.trim() && "question",
      find("extractor").value,
      find("verifier").value && `verifier ${find("verifier").value}`,
      standard && find("scoring").value !== standard.scoring && find("scoring").value,
      standard && threshold !== String(standard.threshold) && `threshold ${threshold}`,
      find("exact").checked && "every pair",
    ]
      .filter(Boolean)
      .join(", ");
  }

  /** Says what is wrong with a field, or with an empty text that nothing is. */
  complain(field, text) {
    const place = find(`${field}-error`);
    place.textContent = text;
    place.hidden = !text;
    const input = field === "source" ? this.documents?.first() : find(field);
    if (text) input.setAttribute("aria-invalid", "true");
    else input?.removeAttribute("aria-invalid");
  }

  /** The request, or null after saying what is missing and going there. */
  request() {
    const { limits } = this.session.data;
    const documents = this.documents.sources();
    const response = this.response.value;
    const both = !find("second").hidden;
    const threshold = find("threshold").value.trim();
    const cut = threshold === "" ? null : Number(threshold);
    const long = documents.reduce((sum, document) => sum + lengthOf(document.text ?? document), 0);
    const problems = [
      ["source", !documents.length && "Paste a source, or drop a text file here."],
      ["source", long > limits.max_source && tooLong("source", long, limits.max_source)],
      ["response", !response.trim() && "Paste the response to check."],
      ["response", tooLongResponse(response, limits.max_response)],
      ["response", both && !this.second.value.trim() && "Paste the second response as well."],
      ["response", both && tooLongResponse(this.second.value, limits.max_response)],
      [
        "threshold",
        (!find("threshold").validity.valid || !(cut === null || (cut >= 0 && cut <= 1))) &&
          "The threshold is a number between 0 and 1.",
      ],
    ].filter(([, text]) => text);
    for (const field of ["source", "response", "threshold"]) this.complain(field, "");
    for (const [field, text] of problems) this.complain(field, text);
    if (problems.length) {
      const [field] = problems[0];
      if (field === "threshold") find("options").open = true;
      (field === "source" ? this.documents.first() : find(field)).focus();
      return null;
    }
    const request = {
      source: documents,
      question: find("question").value.trim() || null,
      extractor: find("extractor").value || null,
      verifier: find("verifier").value || null,
      scoring: find("scoring").value || null,
      threshold: cut,
      exact: find("exact").checked || null,
      ...(both
        ? { a: response, b: this.second.value }
        : { response, store: find("store").checked, include: ["view", "markdown", "html"] }),
    };
    const bytes = new Blob([JSON.stringify(request)]).size;
    if (bytes > limits.max_body_bytes) {
      const most = `${(limits.max_body_bytes / 1e6).toLocaleString("en")} MB`;
      this.complain("source", `The texts are larger than the ${most} this server takes.`);
      this.documents.first().focus();
      return null;
    }
    return request;
  }
}

function tooLong(what, length, most) {
  const count = length.toLocaleString("en");
  return `The ${what} has ${count} characters; this server takes ${most.toLocaleString("en")}.`;
}

function tooLongResponse(text, most) {
  const length = lengthOf(text);
  return length > most && tooLong("response", length, most);
}

function options(select, pairs) {
  const before = select.value;
  select.replaceChildren(...pairs.map(([value, label]) => element("option", { value }, label)));
  if (pairs.some(([value]) => value === before)) select.value = before;
}
