"use strict";

const THEME_KEY = "halldetect-theme";

/**
 * Brings a node into view: by scrolling its pane so that `share` of the free room lies above
 * it (null: only if it is out of sight), or the page where panes do not scroll.
 */
function bring(pane, node, share) {
  if (!node) return;
  if (!scrolls(pane)) {
    const { top, bottom } = node.getBoundingClientRect();
    // A card that begins near the top of the screen is in view, however tall it is.
    if (share || top < 0 || (bottom > innerHeight && top > innerHeight / 4)) {
      node.scrollIntoView({ block: share ? "center" : "start" });
    }
    return;
  }
  const settle = (tries) => {
    if (!node.isConnected) return; // the pane was drawn anew
    const frame = pane.getBoundingClientRect();
    const target = node.getBoundingClientRect();
    const inSight = target.top >= frame.top && target.bottom <= frame.bottom;
    if (share === null && inSight) return;
    const room = Math.max(0, frame.height - target.height) * (share ?? 0.5);
    pane.scrollTop += target.top - frame.top - room;
    // Blocks met on the way get their true height a frame later; look again.
    if (tries > 0) requestAnimationFrame(() => settle(tries - 1));
  };
  settle(6);
}

/** Enter and space act on a mark as on a button. */
function press(event, action) {
  if (event.target.getAttribute("role") !== "button") return;
  if (event.key !== "Enter" && event.key !== " ") return;
  event.preventDefault();
  action(event);
}

function scrolls(node) {
  return getComputedStyle(node).overflowY === "auto";
}

function dark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

function setAddress(address) {
  try {
    history.replaceState(history.state, "", address);
  } catch {
    // a page inside a sandboxed frame has no address of its own
  }
}

function recall(key) {
  try {
    return localStorage.getItem(key);
  } catch {
    return null; // a file opened from a disk may have no storage
  }
}

function remember(key, value) {
  try {
    localStorage.setItem(key, value);
  } catch {
    // the choice then lasts as long as the page
  }
}

/** A button that turns the page dark or light and remembers it; it follows the system. */
function themeSwitch() {
  const apply = (theme) => {
    if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
    button.textContent = dark() ? "Light theme" : "Dark theme";
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => apply());
  const button = textButton({ class: "theme" }, () => {
    const next = dark() ? "light" : "dark";
    remember(THEME_KEY, next);
    apply(next);
  });
  apply(recall(THEME_KEY));
  return button;
}
