/** A report on the page: the shared report view, and ways to take it along. */

import { notice, remark } from "./notices.js";

const FORMATS = {
  json: { name: "JSON", type: "application/json" },
  html: { name: "HTML", type: "text/html" },
  markdown: { name: "Markdown", type: "text/markdown" },
  pdf: { name: "PDF for an audit", type: "application/pdf" },
};
const SUFFIX = { json: "json", html: "html", markdown: "md", pdf: "pdf" };

/**
 * What there is to show: `payload` for the view, `formats[name]()` for the forms of the
 * report (texts; PDF is a Blob), `id` if it is kept.
 */
export class Outcome {
  constructor(host, { payload, formats, id, storeError }, { status, actions, review = null }) {
    this.formats = formats;
    this.status = status;
    this.stem = `halldetect-${payload.verdict}${id ? `-${id}` : ""}`;
    this.format = element(
      "select",
      { "aria-label": "Format" },
      ...Object.entries(FORMATS)
        .filter(([value]) => formats[value])
        .map(([value, { name }]) => element("option", { value }, name)),
    );
    const copy = textButton({ class: "quiet" }, () => this.take(this.copy), "Copy");
    this.format.addEventListener("change", () => {
      copy.disabled = this.format.value === "pdf";
    });
    this.trouble = element("div", { class: "notices" });
    const root = element("div", { class: "report-view" });
    host.replaceChildren(
      element(
        "div",
        { class: "tools" },
        element("div", { class: "group" }, ...actions),
        element(
          "div",
          { class: "group", role: "group", "aria-label": "Take the report along" },
          this.format,
          copy,
          textButton({ class: "quiet" }, () => this.take(this.download), "Download"),
        ),
      ),
      this.trouble,
      root,
    );
    if (storeError) {
      this.trouble.append(remark(`The report was not kept: ${visible(storeError.message)}.`));
    }
    this.view = new ReportView(root, payload);
    this.review = review;
    review?.attach(this.view, this.trouble);
    this.heading = root.querySelector("h1");
    this.heading.setAttribute("tabindex", "-1");
  }

  /** Calls the method `act(content, format)`; another format may be chosen meanwhile. */
  async take(act) {
    const chosen = this.format.value;
    if (chosen === "pdf") this.status("The PDF is being made");
    try {
      await act.call(this, await this.formats[chosen](), chosen);
    } catch (fault) {
      this.trouble.replaceChildren(notice(fault));
    }
  }

  async copy(text, format) {
    const { name } = FORMATS[format];
    this.status((await copied(text)) ? `${name} copied` : "The browser did not allow copying");
  }

  download(content, format) {
    const name = `${this.stem}.${SUFFIX[format]}`;
    saveFile(name, content, FORMATS[format].type);
    this.status(`${name} downloaded`);
  }

  leave() {
    this.review?.leave();
    this.view.leave();
  }
}

/** Gives the reader a file. */
export function saveFile(name, content, type) {
  const address = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: address, download: name }).click();
  setTimeout(() => URL.revokeObjectURL(address), 10000);
}

/** Puts a text into the clipboard; whether the browser allowed it. */
export async function copied(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Without TLS there is no clipboard interface; the old way still works.
    const area = element("textarea", { class: "unseen", "aria-hidden": "true" });
    area.value = text;
    document.body.append(area);
    area.select();
    const done = document.execCommand("copy");
    area.remove();
    return done;
  }
}
