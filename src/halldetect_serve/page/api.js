/** Requests to the service: the token, the error format, the stream of a check. */

const TOKEN_KEY = "halldetect-token";
// The server sends a keep-alive comment every ten seconds; after three misses it is gone.
const SILENCE_MS = 35000;

/** What went wrong: the server's own error, or one of ours (`unreachable`, `cut`, `cancelled`). */
export class Fault extends Error {
  constructor({ code, message = "", requestId = null, retryAfter = null }) {
    super(message);
    this.code = code;
    this.requestId = requestId;
    this.retryAfter = retryAfter;
  }
}

export class Api {
  constructor() {
    try {
      this.token = sessionStorage.getItem(TOKEN_KEY);
    } catch {
      this.token = null; // storage is switched off: the token lasts as long as the page
    }
  }

  setToken(token) {
    this.token = token;
    try {
      if (token) sessionStorage.setItem(TOKEN_KEY, token);
      else sessionStorage.removeItem(TOKEN_KEY);
    } catch {
      // as above
    }
  }

  async json(path, options) {
    return (await this.ask(path, options)).json();
  }

  async text(path, options) {
    return (await this.ask(path, options)).text();
  }

  /** The answer to a request, or a Fault. Paths are relative, so any prefix works. */
  async ask(path, { method = "GET", body, signal, keepalive, token = this.token } = {}) {
    const headers = {};
    if (token) headers.Authorization = `Bearer ${token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    const init = { method, headers, body, signal, keepalive, cache: "no-store", credentials: "omit" };
    let answer;
    try {
      answer = await fetch(path, init);
    } catch (error) {
      throw interrupted(error, signal, "unreachable");
    }
    if (answer.ok) return answer;
    const found = await answer.json().catch(() => null);
    throw faultOf(found?.error, answer);
  }

  /** Checks one pair; `on[event](data)` for all but the last event, whose data is returned. */
  async check(request, on, signal) {
    const silence = new AbortController();
    const either = AbortSignal.any([signal, silence.signal]);
    const answer = await this.ask("v1/check/stream", {
      method: "POST",
      body: JSON.stringify(request),
      signal: either,
    });
    try {
      for await (const { name, data } of messages(answer.body, () => silence.abort())) {
        if (name === "report") return data;
        if (name === "error") throw faultOf(data.error, answer);
        on[name]?.(data);
      }
    } catch (error) {
      if (error instanceof Fault) throw error;
      throw interrupted(error, signal, "cut");
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

/** Server-sent events out of a body; `onSilence` when nothing at all came for too long. */
async function* messages(body, onSilence) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  let timer;
  const listen = () => {
    clearTimeout(timer);
    timer = setTimeout(onSilence, SILENCE_MS);
  };
  try {
    for (;;) {
      listen();
      const { value, done } = await reader.read();
      if (done) return;
      // The end of a message may lie across two pieces, so look back one character.
      let from = Math.max(0, rest.length - 1);
      rest += value;
      for (let end; (end = rest.indexOf("\n\n", from)) >= 0; from = 0) {
        const message = parsed(rest.slice(0, end));
        rest = rest.slice(end + 2);
        if (message) yield message;
      }
    }
  } finally {
    clearTimeout(timer);
    reader.cancel().catch(() => {});
  }
}

function parsed(block) {
  let name = "message";
  const data = [];
  for (const line of block.split("\n")) {
    if (line.startsWith("event:")) name = line.slice(6).trim();
    else if (line.startsWith("data:")) data.push(line.slice(5).trimStart());
  }
  return data.length ? { name, data: JSON.parse(data.join("\n")) } : null;
}
