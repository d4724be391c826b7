/** The documents of the source: text fields, and text files read into them. */

/** The text of a file, or an error that names it: only UTF-8 and UTF-16 text can be read. */
export async function readText(file) {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const wide = { "255,254": "utf-16le", "254,255": "utf-16be" }[`${bytes[0]},${bytes[1]}`];
  try {
    const text = new TextDecoder(wide ?? "utf-8", { fatal: true }).decode(bytes);
    if (!text.includes("\0")) return text;
  } catch {
    // told below, as for a text with a NUL in it
  }
  throw new Error(`${file.name} is not a text file`);
}

/** Unicode code points, as the server counts them. */
export function lengthOf(text) {
  let pairs = 0;
  for (let at = 0; at + 1 < text.length; at += 1) {
    const high = text.charCodeAt(at);
    if (high < 0xd800 || high > 0xdbff) continue;
    const low = text.charCodeAt(at + 1);
    if (low >= 0xdc00 && low <= 0xdfff) pairs += 1;
  }
  return text.length - pairs;
}

/** Files dropped on a node or chosen with an input; `take(files)` gets them. */
export function takeFiles(node, input, take) {
  input.addEventListener("change", () => {
    take([...input.files]);
    input.value = ""; // so that the same file can be chosen again
  });
  const over = (on) => node.classList.toggle("over", on);
  node.addEventListener("dragover", (event) => {
    event.preventDefault();
    over(event.dataTransfer.types.includes("Files"));
  });
  node.addEventListener("dragleave", (event) => {
    if (!node.contains(event.relatedTarget)) over(false);
  });
  node.addEventListener("drop", (event) => {
    over(false);
    const files = [...event.dataTransfer.files];
    if (!files.length) return; // dragged text: the field takes it
    event.preventDefault();
    take(files);
  });
}

export class Documents {
  constructor(host, onChange) {
    this.host = host;
    this.onChange = onChange;
    this.fields = [];
    this.add("");
  }

  /** The documents that hold text: a text, or {id, text} where it came from a file. */
  sources() {
    return this.fields
      .filter(({ area }) => area.value.trim())
      .map(({ area, name }) => (name ? { id: name, text: area.value } : area.value));
  }

  first() {
    return this.fields[0].area;
  }

  set(texts, names = []) {
    this.fields = [];
    this.host.replaceChildren();
    (texts.length ? texts : [""]).forEach((text, place) => this.add(text, names[place] ?? ""));
  }

  /** Another document; a file fills an empty field before it opens a new one. */
  add(text, name = "") {
    const empty = text && this.fields.find(({ area }) => !area.value.trim());
    const field = empty || this.field();
    field.area.value = text;
    field.name = name;
    this.label();
    return field.area;
  }

  field() {
    const title = element("span", { class: "title" });
    const count = element("small", { class: "count" });
    const remove = textButton({ class: "remove" }, () => this.remove(field), "Remove");
    const area = element("textarea", {
      dir: "auto",
      spellcheck: "false",
      placeholder: "Paste the text the response should rest on, or drop text files",
      "aria-describedby": "source-error",
    });
    const row = element("div", { class: "document-row" }, title, count, remove);
    const field = { area, title, count, remove, name: "" };
    field.node = element("div", { class: "box grow" }, row, area);
    area.addEventListener("input", () => this.label());
    this.fields.push(field);
    this.host.append(field.node);
    return field;
  }

  remove(field) {
    const place = this.fields.indexOf(field);
    this.fields.splice(place, 1);
    field.node.remove();
    this.label();
    this.fields[Math.min(place, this.fields.length - 1)].area.focus();
  }

  label() {
    const many = this.fields.length > 1;
    this.fields.forEach(({ area, title, count, remove, name }, place) => {
      const label = many ? `Document ${place + 1}` : "Source";
      title.textContent = name ? `${label}: ${visible(name)}` : label;
      title.classList.toggle("unseen", !many && !name);
      area.setAttribute("aria-label", title.textContent);
      count.textContent = area.value ? plural(lengthOf(area.value), "character", "characters") : "";
      remove.hidden = !many;
      remove.setAttribute("aria-label", `Remove ${title.textContent}`);
    });
    this.onChange();
  }
}
