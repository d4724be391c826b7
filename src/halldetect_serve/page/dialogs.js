/** The two dialogs: one asks for a token, one asks for a confirmation. */

import { titleOf } from "./notices.js";

const find = (id) => document.getElementById(id);

/** Asks for a token until the server takes one; resolves to whether it did. */
export function askToken(api, session, why) {
  const dialog = find("token-dialog");
  if (dialog.open) return Promise.resolve(false);
  const input = find("token");
  const error = find("token-error");
  const say = (text) => {
    error.textContent = text;
    error.hidden = !text;
    input.setAttribute("aria-invalid", String(Boolean(text)));
  };
  find("token-why").textContent = why;
  find("token-forget").hidden = !api.token;
  input.value = "";
  say("");
  return new Promise((resolve) => {
    let open = true;
    const end = (accepted) => {
      open = false;
      resolve(accepted);
    };
    const close = (accepted) => {
      dialog.close();
      end(accepted);
    };
    dialog.oncancel = () => end(false);
    find("token-cancel").onclick = () => close(false);
    find("token-forget").onclick = async () => {
      api.setToken(null);
      await session.refresh().catch(() => {});
      close(false);
    };
    dialog.querySelector("form").onsubmit = async (event) => {
      event.preventDefault();
      const token = input.value.trim();
      if (!/^[\x21-\x7e]+$/.test(token)) {
        say(token ? "A token has no spaces and no special characters." : "Enter a token.");
        return;
      }
      try {
        const found = await api.json("v1/session", { token });
        if (!open) return; // cancelled meanwhile
        if (found.authenticated) {
          api.setToken(token);
          session.take(found);
          close(true);
          return;
        }
        say("The server does not know this token.");
        input.select();
      } catch (fault) {
        if (open) say(`${titleOf(fault)}.`);
      }
    };
    dialog.showModal();
    input.focus();
  });
}

/** Resolves to whether the reader said yes. */
export function confirmed(question, yes) {
  const dialog = find("ask-dialog");
  find("ask-text").textContent = question;
  find("ask-yes").textContent = yes;
  return new Promise((resolve) => {
    const close = (answer) => {
      dialog.close();
      resolve(answer);
    };
    dialog.oncancel = () => resolve(false);
    find("ask-no").onclick = () => close(false);
    dialog.querySelector("form").onsubmit = (event) => {
      event.preventDefault();
      close(true);
    };
    dialog.showModal();
    find("ask-no").focus();
  });
}
