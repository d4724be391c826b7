/** Requests to the service, error notices, the two dialogs, and words that all views share. */

const TOKEN_KEY = "halldetect-token";
// The server sends a comment every ten seconds; after three misses the connection is dead.
const SILENCE_MS = 35000;
const TITLES = {
  cut: "The connection to the server was lost before the report arrived",
  unreachable: "The server cannot be reached",
  unauthorized: "The server wants a valid token",
  forbidden: "This token may not do that",
  rate_limited: "Too many requests with this token",
  queue_full: "The server is busy",
  invalid_request: "The server did not accept the input",
  unknown_model: "The server does not know this model",
  too_large: "The texts are too large for this server",
  pdf_unavailable: "This server cannot make PDF files",
  storage_off: "This server keeps no reports",
  store_unavailable: "The store of reports is not available",
  not_found: "There is no such report",
  page: "Something went wrong on this page",
  model_unavailable: "A model could not be loaded",
  worker_failed: "The verifier stopped while it was judging",
  deadline_exceeded: "The check took longer than the server allows",
};
const ADVICE = {
  cut: "Your texts are still here. The server may be restarting: try again in a moment.",
  unreachable: "Is it running? Your texts are still here.",
  worker_failed: "It is being started again. Your texts are still here.",
  not_found: "It may have been deleted, or it was never kept.",
};

// Controls, bidi overrides and lone surrogates; each becomes one visible character.
const UNSAFE = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu;

export const find = (id) => document.getElementById(id);

export const capital = (word) => word.charAt(0).toUpperCase() + word.slice(1);

export const plural = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;

export const symbol = (text) => element("span", { class: "symbol", "aria-hidden": "true" }, text);

export const visible = (text) => text.replace(UNSAFE, "\ufffd");

/** Builds what the server sends as a tree: texts, and elements as [tag, attributes, ...children]. */
export function build(tree) {
  return tree.map((node) => {
    if (typeof node === "string") return node;
    const [tag, attributes, ...children] = node;
    return element(tag, attributes, ...build(children));
  });
}

/** An action of a notice that tries once more. */
export const again = (act) => ({ label: "Try again", act, primary: true });

/** A select element of [value, name] pairs. */
export function choice(pairs, attributes = {}) {
  return element("select", attributes, ...pairs.map(([value, name]) => element("option", { value }, name)));
}

/** Handles a click on a link, unless it opens another tab. */
export function onPlainClick(link, act) {
  link.addEventListener("click", (event) => {
    if (event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    act();
  });
}

/** A failure: the server's own error, or one of ours (`unreachable`, `cut`, `cancelled`). */
export class Fault extends Error {
  constructor({ code, message = "", requestId = null, retryAfter = null }) {
    super(message);
    Object.assign(this, { code, requestId, retryAfter });
  }

  get title() {
    return TITLES[this.code] ?? "Something went wrong on the server";
  }

  get advice() {
    if (ADVICE[this.code] || !this.message) return ADVICE[this.code] ?? "";
    return `${capital(visible(this.message))}${/[.!?]$/.test(this.message) ? "" : "."}`;
  }
}

export class Api {
  /** The token lives as long as the tab, or as the page if storage is off. */
  constructor() {
    this.token = stored(() => sessionStorage.getItem(TOKEN_KEY));
  }

  setToken(token) {
    this.token = token;
    stored(() => (token ? sessionStorage.setItem(TOKEN_KEY, token) : sessionStorage.removeItem(TOKEN_KEY)));
  }

  async json(path, options) {
    return (await this.ask(path, options)).json();
  }

  async text(path) {
    return (await this.ask(path)).text();
  }

  /** Returns the answer or throws a Fault. Paths are relative, so any prefix works. */
  async ask(path, { method = "GET", body, signal, keepalive, token = this.token } = {}) {
    const headers = {};
    if (token) headers.Authorization = `Bearer ${token}`;
    if (typeof body === "string") headers["Content-Type"] = "application/json";
    const init = { method, headers, body, signal, keepalive, cache: "no-store", credentials: "omit" };
    const answer = await fetch(path, init).catch((error) => {
      throw interrupted(error, signal, "unreachable");
    });
    if (answer.ok) return answer;
    throw faultOf((await answer.json().catch(() => null))?.error, answer);
  }

  /** Checks one pair; calls `on[event](data)` for each event and returns the data of the last. */
  async check(request, on, signal) {
    const silence = new AbortController();
    const either = AbortSignal.any([signal, silence.signal]);
    const body = JSON.stringify(request);
    const answer = await this.ask("v1/check/stream", { method: "POST", body, signal: either });
    try {
      for await (const { name, data } of messages(answer.body, () => silence.abort())) {
        if (name === "report") return data;
        if (name === "error") throw faultOf(data.error, answer);
        on[name]?.(data);
      }
    } catch (error) {
      throw error instanceof Fault ? error : interrupted(error, signal, "cut");
    }
    throw new Fault({ code: "cut" });
  }
}

function interrupted(error, signal, code) {
  return new Fault({ code: signal?.aborted ? "cancelled" : code, message: error.message });
}

function faultOf(error, answer) {
  const seconds = Number(answer.headers.get("Retry-After"));
  return new Fault({
    code: error?.code ?? `http_${answer.status}`,
    message: error?.message ?? answer.statusText,
    requestId: error?.request_id ?? answer.headers.get("X-Request-Id"),
    retryAfter: seconds > 0 ? seconds : null,
  });
}

/** Yields server-sent events of a body; calls `onSilence` after a long silence. */
async function* messages(body, onSilence) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let timer;
  try {
    for (;;) {
      clearTimeout(timer);
      timer = setTimeout(onSilence, SILENCE_MS);
      const { value, done } = await reader.read();
      if (done) return;
      const blocks = (rest + value).split("\n\n");
      rest = blocks.pop();
      for (const block of blocks) {
        const [, name] = /^event: *(.*)$/m.exec(block) ?? [];
        const [, data] = /^data: *(.*)$/m.exec(block) ?? [];
        if (name && data) yield { name, data: JSON.parse(data) };
      }
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
}

/** A box that says what happened; `actions` are {label, act, primary}. */
export function notice(fault, actions = []) {
  const id = fault.requestId ? `Request ${visible(fault.requestId)}` : "";
  const buttons = actions.map(({ label, act, primary }) => {
    const button = textButton({ class: primary ? "primary" : "quiet" }, act, label);
    if (primary) countDown(button, label, fault.retryAfter ?? 0);
    return button;
  });
  return element(
    "section",
    { class: "notice", role: "alert", "data-code": fault.code },
    element("h2", {}, fault.title),
    element("p", { dir: "auto" }, fault.advice),
    buttons.length ? element("div", { class: "actions" }, ...buttons) : null,
    id ? element("small", {}, id) : null,
  );
}

/** Disables a button until the server accepts requests again. */
function countDown(button, label, seconds) {
  button.disabled = seconds > 0;
  button.textContent = seconds > 0 ? `${label} in ${Math.ceil(seconds)} s` : label;
  if (seconds > 0) setTimeout(() => countDown(button, label, seconds - 0.5), 500);
}

/** Shows a dialog; `submit` keeps it open by returning false. Resolves to true if confirmed. */
function ask(dialog, cancel, submit) {
  if (dialog.open) return Promise.resolve(false);
  return new Promise((resolve) => {
    const close = (answer) => {
      dialog.close();
      resolve(answer);
    };
    dialog.oncancel = () => resolve(false);
    cancel.onclick = () => close(false);
    dialog.querySelector("form").onsubmit = async (event) => {
      event.preventDefault();
      if ((await submit()) && dialog.open) close(true);
    };
    dialog.showModal();
  });
}

/** Resolves to true if the reader confirms. */
export function confirmed(question, yes) {
  find("ask-text").textContent = question;
  find("ask-yes").textContent = yes;
  const answer = ask(find("ask-dialog"), find("ask-no"), () => true);
  find("ask-no").focus();
  return answer;
}

/** Asks for a token until the server accepts one; resolves to true if it did. */
export function askToken(api, take, why) {
  const input = find("token");
  const say = (text) => {
    find("token-error").textContent = text;
    find("token-error").hidden = !text;
    input.setAttribute("aria-invalid", String(Boolean(text)));
  };
  find("token-why").textContent = why;
  find("token-forget").hidden = !api.token;
  find("token-forget").onclick = async () => {
    api.setToken(null);
    await api.json("v1/session").then(take, () => {});
    find("token-cancel").click();
  };
  input.value = "";
  say("");
  return ask(find("token-dialog"), find("token-cancel"), async () => {
    const token = input.value.trim();
    if (!/^[\x21-\x7e]+$/.test(token)) {
      return say(token ? "A token has no spaces and no special characters." : "Enter a token.");
    }
    try {
      const session = await api.json("v1/session", { token });
      if (!session.authenticated) return say("The server does not know this token.");
      api.setToken(token);
      take(session);
      return true;
    } catch (fault) {
      return say(`${fault.title}.`);
    }
  });
}
