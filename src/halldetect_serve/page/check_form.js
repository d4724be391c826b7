/** The form of a check: turns texts and options into a request, or names what is missing. */

import { confirmed, find } from "./api.js";

/** Returns the text of a UTF-8 or UTF-16 file, or throws an error that names the file. */
async function readText(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const wide = { "255,254": "utf-16le", "254,255": "utf-16be" }[`${bytes[0]},${bytes[1]}`];
  try {
    const text = new TextDecoder(wide ?? "utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // refused below because of its NUL characters
  }
  throw new Error(`${file.name} is not a text file`);
}

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

const size = (text) => (text ? plural(lengthOf(text), "character", "characters") : "");

export class CheckForm {
  /** `submit(request)` sends a request; `status(text)` announces a text. */
  constructor({ api, session, submit, status }) {
    Object.assign(this, { api, session, status });
    this.node = find("check-form");
    this.response = find("response");
    this.second = find("response-b");
    this.documents = []; // {node, area, title, count, remove, name}
    this.addDocument("");
    this.node.addEventListener("submit", (event) => {
      event.preventDefault();
      const request = this.request();
      if (request) submit(request);
    });
    this.node.addEventListener("keydown", (event) => {
      if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) this.node.requestSubmit();
    });
    this.node.addEventListener("input", ({ target }) => {
      this.complain(target.closest("[data-drop]")?.dataset.drop ?? "threshold", "");
      this.label();
    });
    find("compare").addEventListener("click", () => {
      this.compareTwo(find("second").hidden);
      if (!find("second").hidden) this.second.focus();
    });
    find("add-document").addEventListener("click", () => this.addDocument("").focus());
    find("example").addEventListener("click", () => this.example());
    find("clear").addEventListener("click", () => {
      this.fill({ documents: [], response: "" });
      this.documents[0].area.focus();
    });
    // A file dropped outside the fields must not replace the page.
    for (const kind of ["dragover", "drop"]) {
      document.addEventListener(kind, (event) => {
        if (event.dataTransfer.types.includes("Files")) event.preventDefault();
      });
    }
    this.takeFiles("source", find("source-files"), (text, name) => this.addDocument(text, name));
    this.takeFiles("response", find("response-file"), (text) => {
      this.response.value = text;
    });
  }

  /** Calls `put(text, name)` for each file dropped on a field or chosen with an input. */
  takeFiles(field, input, put) {
    const read = async (files) => {
      const refused = [];
      for (const file of field === "source" ? files : files.slice(0, 1)) {
        try {
          put(await readText(file), file.name);
          this.status(`${file.name} read`);
        } catch (error) {
          refused.push(error.message);
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
    const remove = textButton({ class: "remove" }, () => {
      this.documents = this.documents.filter((other) => other !== field);
      field.node.remove();
      this.label();
      this.documents.at(-1).area.focus();
    }, "Remove");
    const area = element("textarea", {
      dir: "auto",
      spellcheck: "false",
      placeholder: "Paste the text the response should rest on, or drop text files",
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
    const typed = this.response.value || this.documents.some(({ area }) => area.value);
    if (typed && !(await confirmed("Replace your texts by the example?", "Replace"))) return;
    try {
      const { source, response, question } = await this.api.json("static/example.json");
      this.fill({ documents: source, response, question });
      find("submit").focus();
    } catch {
      this.complain("source", "The example could not be loaded: the server cannot be reached.");
    }
  }

  /** Opens or closes the field for a second response. */
  compareTwo(on) {
    find("second").hidden = !on;
    find("compare").setAttribute("aria-pressed", String(on));
    find("submit").textContent = on ? "Compare" : "Check";
    find("store").disabled = on; // a comparison is not stored
  }

  fill({ documents, document_names: names = [], response, second = "", question }) {
    this.documents = [];
    find("documents").replaceChildren();
    for (const [place, text] of (documents.length ? documents : [""]).entries()) {
      this.addDocument(text, names[place] ?? "");
    }
    this.response.value = response;
    this.second.value = second;
    this.compareTwo(Boolean(second));
    find("question").value = question ?? "";
    for (const field of ["source", "response", "threshold"]) this.complain(field, "");
    this.label();
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
      ["source", !source.length && !request.conversation && "Paste a source, or drop a text file here."],
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
    const request = {
      source,
      question: find("question").value.trim() || null,
      verifier: find("verifier").value || null,
      threshold: threshold === "" ? null : Number(threshold),
      ...(both
        ? { a: response, b: this.second.value }
        : { response, conversation: isConversation(response), store: find("store").checked, include: ["view", "markdown", "html"] }),
    };
    const problem = this.problem(source, both, request);
    for (const field of ["source", "response", "threshold"]) this.complain(field, "");
    if (!problem) return request;
    if (problem[0] === "threshold") find("options").open = true;
    this.complain(...problem).focus();
    return null;
  }
}
