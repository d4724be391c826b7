/** The form of a check: turns texts and options into a request, or names what is missing. */

import { confirmed, find, plural, visible } from "./api.js";

/** Counts Unicode code points, as the server does. */
function lengthOf(text) {
  return text.length - (text.match(/[\ud800-\udbff][\udc00-\udfff]/g)?.length ?? 0);
}

/** Tells whether a text is a conversation: a JSON list of messages with roles. */
function isConversation(text) {
  if (!text.trimStart().startsWith("[")) return false;
  try {
    const messages = JSON.parse(text);
    return messages.length > 0 && messages.every((message) => typeof message?.role === "string");
  } catch {
    return false;
  }
}

const size = (text) => (text ? plural(lengthOf(text), "character") : "");

export class CheckForm {
  /** `submit(request)` sends a request; `status(text)` announces a text. */
  constructor({ api, session, submit, status }) {
    Object.assign(this, { api, session, status });
    this.node = find("check-form");
    this.response = find("response");
    this.second = find("response-b");
    this.documents = []; // {node, area, title, count, remove, name}
    this.fill({ documents: [], response: "" });
    const on = (id, kind, act) => find(id).addEventListener(kind, act);
    on("check-form", "submit", (event) => {
      event.preventDefault();
      const request = this.request();
      if (request) submit(request);
    });
    on("check-form", "keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.node.requestSubmit();
    });
    on("check-form", "input", ({ target }) => {
      this.complain(target.closest("[data-drop]")?.dataset.drop ?? "threshold", "");
      this.label();
    });
    on("compare", "click", () => {
      this.compareTwo(find("second").hidden);
      if (!find("second").hidden) this.second.focus();
    });
    on("add-document", "click", () => this.addDocument("").focus());
    on("example", "click", () => this.example());
    on("clear", "click", async () => {
      if (!(await this.replace({ documents: [], response: "" }, "Delete your texts?", "Delete"))) return;
      this.documents[0].area.focus();
    });
    // A file dropped outside the fields must not replace the page.
    for (const kind of ["dragover", "drop"]) {
      document.addEventListener(kind, (event) => {
        if (event.dataTransfer.types.includes("Files")) event.preventDefault();
      });
    }
    this.takeFiles("source", find("source-files"));
    this.takeFiles("response", find("response-file"));
  }

  /** Reads files dropped on a field or chosen with an input; the server extracts their text. */
  takeFiles(field, input) {
    const read = async (files) => {
      const refused = [];
      for (const file of field === "source" ? files : files.slice(0, 1)) {
        const path = `v1/read?name=${encodeURIComponent(file.name)}&evidence=${field === "source"}`;
        try {
          const { text } = await this.api.json(path, { method: "POST", body: file });
          if (field === "source") this.addDocument(text, file.name);
          else if (await this.mayReplace(this.response.value, `Replace the response by ${file.name}?`)) {
            this.response.value = text;
          }
          this.status(`${file.name} read`);
        } catch (fault) {
          refused.push(fault.message || fault.title);
        }
      }
      this.label();
      this.complain(field, refused.length ? `${visible(refused.join("; "))}.` : "");
    };
    input.addEventListener("change", () => {
      read([...input.files]);
      input.value = ""; // so that the same file can be chosen again
    });
    this.node.querySelector(`[data-drop=${field}]`).addEventListener("drop", (event) => {
      const files = [...event.dataTransfer.files];
      if (files.length) read(files); // the field handles dragged text
    });
  }

  /** Resolves to true if there is nothing to lose, or the reader agrees to lose it. */
  async mayReplace(typed, question, yes = "Replace") {
    return !typed.trim() || confirmed(visible(question), yes);
  }

  /** Fills the form, but asks first if texts would be lost that were not checked. */
  async replace(texts, question, yes) {
    const typed = this.typed();
    const lost = typed === this.known ? "" : typed;
    const agreed = await this.mayReplace(lost, question, yes);
    if (agreed) this.fill(texts);
    return agreed;
  }

  /** Returns all texts of the form as one. */
  typed() {
    return [...this.documents.map(({ area }) => area), this.response, this.second, find("question")]
      .map((area) => area.value)
      .join("\n");
  }

  /** Adds a document; a file fills an empty field before it adds a new one. */
  addDocument(text, name = "") {
    let field = text && this.documents.find(({ area }) => !area.value.trim());
    if (!field) {
      field = this.documentField();
      this.documents.push(field);
      find("documents").append(field.node);
    }
    field.area.value = text;
    field.name = name;
    this.label();
    return field.area;
  }

  documentField() {
    const title = element("span", { class: "title" });
    const count = element("small", { class: "count" });
    const drop = async () => {
      if (!(await this.mayReplace(field.area.value, `Remove ${title.textContent}?`, "Remove"))) return;
      this.documents = this.documents.filter((other) => other !== field);
      field.node.remove();
      this.label();
      this.documents.at(-1).area.focus();
    };
    const remove = textButton({ class: "remove" }, drop, "Remove");
    const area = element("textarea", {
      dir: "auto",
      spellcheck: "false",
      placeholder: "Paste the text the response should rest on, or drop files",
      "aria-describedby": "source-error",
    });
    const row = element("div", { class: "document-row" }, title, count, remove);
    const field = { area, title, count, remove, name: "", node: element("div", { class: "box grow" }, row, area) };
    return field;
  }

  /** Names the documents and counts the characters. */
  label() {
    const many = this.documents.length > 1;
    this.documents.forEach(({ area, title, count, remove, name }, place) => {
      const label = many ? `Document ${place + 1}` : "Source";
      title.textContent = name ? `${label}: ${visible(name)}` : label;
      title.classList.toggle("unseen", !many && !name);
      area.setAttribute("aria-label", title.textContent);
      count.textContent = size(area.value);
      remove.hidden = !many;
      remove.setAttribute("aria-label", `Remove ${title.textContent}`);
    });
    find("response-count").textContent = size(this.response.value);
  }

  async example() {
    try {
      const { source, response, question } = await this.api.json("static/example.json");
      const texts = { documents: source, response, question };
      if (await this.replace(texts, "Replace your texts by the example?", "Replace")) find("submit").focus();
    } catch {
      this.complain("source", "The example could not be loaded: the server cannot be reached.");
    }
  }

  /** Opens or closes the field for a second response. */
  compareTwo(on) {
    find("second").hidden = find("letter-a").hidden = !on;
    find("compare").setAttribute("aria-pressed", String(on));
    find("submit").textContent = on ? "Compare" : "Check";
    find("store").disabled = on; // a comparison is not stored
  }

  fill({ documents, document_names: names, response, second = "", question }) {
    this.documents = [];
    find("documents").replaceChildren();
    for (const [place, text] of (documents.length ? documents : [""]).entries()) {
      this.addDocument(text, names?.[place] ?? "");
    }
    this.response.value = response;
    this.second.value = second;
    this.compareTwo(Boolean(second));
    find("question").value = question ?? "";
    for (const field of ["source", "response", "threshold"]) this.complain(field, "");
    this.label();
    this.known = this.typed();
  }

  /** Offers the verifiers of the server and its threshold. */
  async offer() {
    const { storage, scopes } = this.session.data;
    find("store-label").hidden = !(storage && scopes.includes("check"));
    try {
      const { verifiers, defaults } = await this.api.json("v1/models");
      const label = (name) => (name === defaults.verifier ? `Default (${name})` : name);
      const option = ({ name, description }) =>
        element("option", { value: name, title: description }, label(name));
      find("verifier").replaceChildren(...verifiers.map(option));
      find("threshold").placeholder = defaults.threshold;
    } catch {
      // Without the read scope the list is not available; the server uses its default.
    }
  }

  /** Shows an error below a field; an empty text clears it. */
  complain(field, text) {
    find(`${field}-error`).textContent = text;
    find(`${field}-error`).hidden = !text;
    const input = field === "source" ? this.documents[0].area : find(field);
    if (text) input.setAttribute("aria-invalid", "true");
    else input.removeAttribute("aria-invalid");
    return input;
  }

  /** Returns the first invalid field and its error, or null. */
  problem(source, both, request) {
    const { limits } = this.session.data;
    const long = source.reduce((sum, document) => sum + lengthOf(document.text ?? document), 0);
    const tooLong = (what, length, most) =>
      length > most &&
      `The ${what} has ${length.toLocaleString("en")} characters; this server takes ${most.toLocaleString("en")}.`;
    const responses = both ? [this.response.value, this.second.value] : [this.response.value];
    const { threshold } = request;
    const valid = find("threshold").validity.valid && (threshold === null || (threshold >= 0 && threshold <= 1));
    const bytes = new Blob([JSON.stringify(request)]).size;
    const most = `${(limits.max_body_bytes / 1e6).toLocaleString("en")} MB`;
    const found = [
      ["source", !source.length && !request.conversation && "Paste a source, or drop a file here."],
      ["source", tooLong("source", long, limits.max_source)],
      ["response", !responses[0].trim() && "Paste the response to check."],
      ["response", both && !responses[1].trim() && "Paste the second response as well."],
      ...responses.map((text) => ["response", tooLong("response", lengthOf(text), limits.max_response)]),
      ["threshold", !valid && "The threshold is a number between 0 and 1."],
      ["source", bytes > limits.max_body_bytes && `The texts are larger than the ${most} this server takes.`],
    ];
    return found.find(([, text]) => text) ?? null;
  }

  /** Returns the request, or shows what is missing and returns null. */
  request() {
    const source = this.documents
      .filter(({ area }) => area.value.trim())
      .map(({ area, name }) => (name ? { id: name, text: area.value } : area.value));
    const both = !find("second").hidden;
    const threshold = find("threshold").value.trim();
    const response = this.response.value;
    const question = find("question").value.trim() || null;
    const request = {
      source,
      question,
      verifier: find("verifier").value || null,
      threshold: threshold === "" ? null : Number(threshold),
      ...(both
        ? { a: response, b: this.second.value }
        : { response, store: find("store").checked, include: ["view", "markdown", "html"] }),
      ...(!both && find("words").checked && { words: true }),
      ...(!both && find("missing").checked && question && { missing: true }),
      ...(!both && isConversation(response) && { conversation: true }),
    };
    const problem = this.problem(source, both, request);
    for (const field of ["source", "response", "threshold"]) this.complain(field, "");
    if (problem) {
      if (problem[0] === "threshold") find("options").open = true;
      this.complain(...problem).focus();
      return null;
    }
    this.known = this.typed();
    return request;
  }
}
