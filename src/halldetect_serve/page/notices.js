/** Error messages that say what to do. */

const TITLES = {
  cut: "The connection to the server was lost before the report arrived",
  unreachable: "The server cannot be reached",
  unauthorized: "The server wants a valid token",
  forbidden: "This token may not do that",
  rate_limited: "Too many requests with this token",
  queue_full: "The server is busy",
  invalid_request: "The server did not accept the input",
  invalid_json: "The server did not accept the input",
  unknown_model: "The server does not know this model",
  too_large: "The texts are too large for this server",
  pdf_unavailable: "This server cannot make PDF files",
  storage_off: "This server keeps no reports",
  store_unavailable: "The store of reports is not available",
  not_found: "There is no such report",
  read_timeout: "The texts took too long to arrive",
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

export function titleOf(fault) {
  return TITLES[fault.code] ?? "Something went wrong on the server";
}

export function adviceOf(fault) {
  if (ADVICE[fault.code]) return ADVICE[fault.code];
  const message = visible(fault.message ?? "");
  if (!message) return "";
  return `${capital(message)}${/[.!?]$/.test(message) ? "" : "."}`;
}

/** A box that says what happened; `actions` are {label, act, wait}, wait in seconds. */
export function notice(fault, actions = []) {
  const id = fault.requestId ? `Request ${visible(fault.requestId)}` : "";
  return element(
    "section",
    { class: "notice", role: "alert", "data-code": fault.code },
    element("h2", {}, titleOf(fault)),
    element("p", { dir: "auto" }, adviceOf(fault)),
    actions.length ? element("div", { class: "actions" }, ...actions.map(actionButton)) : null,
    id ? element("small", {}, id) : null,
  );
}

/** A quieter box, for what is worth knowing but stops nothing. */
export function remark(text) {
  return element("section", { class: "notice mild", role: "status" }, element("p", {}, text));
}

/** A button that can be pressed only after the server's pause, and counts it down. */
function actionButton({ label, act, wait = 0, primary = false }) {
  const button = textButton({ class: primary ? "primary" : "quiet" }, act, label);
  const until = Date.now() + wait * 1000;
  const tick = () => {
    const left = Math.ceil((until - Date.now()) / 1000);
    button.disabled = left > 0;
    button.textContent = left > 0 ? `${label} in ${left} s` : label;
    if (left > 0) setTimeout(tick, 250);
  };
  if (wait > 0) tick();
  return button;
}
