"use strict";

const SYMBOLS = { contradicted: "✗", unsupported: "?", unclear: "~", uncheckable: "–", supported: "✓" };
const VERDICT_SYMBOLS = { hallucinated: "✗", abstained: "○", uncheckable: "–", faithful: "✓" };
const THEME_KEY = "halldetect-theme";
// As many as the server shows at first (html.py); the browser takes long to lay out thousands.
const SHOWN_CARDS = 200;

/** Builds an element; attribute values and children are data, never markup. */
function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    node.setAttribute(name, value === true ? "" : String(value));
  }
  node.append(...children.filter((child) => child !== null && child !== undefined));
  return node;
}

function textButton(attributes, onClick, ...children) {
  const button = element("button", { type: "button", ...attributes }, ...children);
  button.addEventListener("click", onClick);
  return button;
}

/** A button that turns the page dark or light and remembers it; it follows the system. */
function themeSwitch() {
  const page = document.documentElement;
  const system = matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (page.dataset.theme ? page.dataset.theme === "dark" : system.matches);
  const label = () => {
    button.textContent = dark() ? "Light theme" : "Dark theme";
  };
  const button = textButton({ class: "theme" }, () => {
    page.dataset.theme = dark() ? "light" : "dark";
    stored(() => localStorage.setItem(THEME_KEY, page.dataset.theme));
    label();
  });
  const chosen = stored(() => localStorage.getItem(THEME_KEY));
  if (chosen === "dark" || chosen === "light") page.dataset.theme = chosen;
  system.addEventListener("change", label);
  label();
  return button;
}

/** Uses the storage of the browser; a file opened from a disk may have none. */
function stored(act) {
  try {
    return act();
  } catch {
    return null;
  }
}

/** Opens claims and shows their passages in the markup of report_view.html.jinja. */
class ReportView {
  constructor(root) {
    this.root = root;
    this.selected = null; // the number of the open claim
    this.state = ""; // of the claims that are listed; all of them
    this.limit = SHOWN_CARDS;
    this.ends = new AbortController();
    this.scroller = root.querySelector(".scroller");
    this.cards = new Map(); // by number, the most urgent first
    for (const card of root.querySelectorAll(".card")) this.cards.set(Number(card.dataset.claim), card);
    this.listen();
    this.follow();
    const first = [...this.cards.values()].find((card) => card.dataset.state !== "supported");
    if (this.selected === null && first) this.select(Number(first.dataset.claim), { quiet: true });
  }

  /** Removes the view, so that the page can show another report. */
  leave() {
    this.ends.abort();
    this.root.replaceChildren();
  }

  listen() {
    const on = (target, kind, act) => target.addEventListener(kind, act, { signal: this.ends.signal });
    on(this.root, "click", ({ target }) => this.press(target));
    on(this.root, "keydown", (event) => {
      if (!event.target.matches("[data-claims]") || !["Enter", " "].includes(event.key)) return;
      event.preventDefault();
      this.press(event.target);
    });
    on(document, "keydown", (event) => {
      const way = { ArrowDown: 1, ArrowUp: -1 }[event.key];
      if (event.key === "Escape" && this.selected !== null) this.select(null);
      if (!way || !event.target.closest?.(".card h3")) return;
      event.preventDefault();
      const shown = [...this.cards.values()].filter((card) => !card.hidden);
      const next = shown[shown.indexOf(event.target.closest(".card")) + way];
      if (!next) return;
      this.select(Number(next.dataset.claim));
      next.querySelector("button").focus({ preventScroll: true });
    });
    on(window, "hashchange", () => this.follow());
  }

  press(target) {
    const mark = target.closest("[data-claims]");
    const button = target.closest("button");
    if (mark && !String(document.getSelection())) {
      const claims = mark.dataset.claims.split(" ").map(Number);
      // A stretch shared by several claims goes through them one by one.
      this.select(claims[(claims.indexOf(this.selected) + 1) % claims.length]);
    } else if (button?.matches(".card h3 button")) {
      const claim = Number(button.closest(".card").dataset.claim);
      this.select(this.selected === claim ? null : claim);
    } else if (button?.matches(".more")) {
      this.list(this.limit + SHOWN_CARDS);
    } else if (button?.matches(".chip")) {
      this.filter(button);
    } else if (button?.matches(".show")) {
      this.bringPassage();
    } else if (button?.matches(".jump")) {
      const place = Number(button.textContent) - 1;
      this.scroller.children[place].scrollIntoView({ block: "start" });
    }
  }

  /** Opens a claim, or closes the open one; `quiet` neither scrolls nor changes the address. */
  select(claim, { quiet = false } = {}) {
    cancelAnimationFrame(this.again);
    this.expand(this.selected, false);
    this.selected = claim;
    const card = this.expand(claim, true);
    this.root.classList.toggle("choosing", claim !== null);
    // Only these nodes change: to touch thousands takes the browser seconds.
    for (const node of this.root.querySelectorAll("[data-claims]:is(.focus, .selected)")) {
      node.classList.remove("focus", "selected", ...Object.keys(SYMBOLS));
      node.classList.add(node.dataset.state);
    }
    for (const node of this.root.querySelectorAll(`span[data-claims~="${claim}"]`)) {
      node.classList.remove(node.dataset.state);
      node.classList.add(node.matches(".use") ? "focus" : "selected", card.dataset.state);
    }
    if (!quiet) setAddress(claim === null ? location.pathname + location.search : `#claim-${claim}`);
    if (!card) return;
    if (this.isOut(card)) this.filter(this.root.querySelector(".chip.all"));
    card.hidden = false;
    if (quiet) return;
    card.scrollIntoView({ block: "nearest" });
    // Side by side, the passage comes into view as well; on a phone only its card.
    if (getComputedStyle(this.scroller).overflowY === "auto") this.bringPassage();
  }

  expand(claim, on) {
    const card = this.cards.get(claim);
    card?.classList.toggle("open", on);
    card?.querySelector("button").setAttribute("aria-expanded", String(on));
    if (card) card.querySelector(".detail").hidden = !on;
    return card;
  }

  bringPassage(tries = 6) {
    const node = this.scroller.querySelector(".focus");
    node?.scrollIntoView({ block: "center" });
    // Blocks on the way get their true height a frame later; look again.
    if (node && tries) this.again = requestAnimationFrame(() => this.bringPassage(tries - 1));
  }

  /** Shows the claims of the state of a button, or all of them. */
  filter(chip) {
    this.state = chip.dataset.state;
    for (const other of chip.parentNode.children) other.setAttribute("aria-pressed", String(other === chip));
    for (const node of this.root.querySelectorAll(".response [data-claims]")) {
      const out = node.dataset.claims.split(" ").every((number) => this.isOut(this.cards.get(Number(number))));
      node.classList.toggle("faded", out);
    }
    this.list(SHOWN_CARDS);
    if (this.selected !== null && this.isOut(this.cards.get(this.selected))) this.select(null);
  }

  isOut(card) {
    return this.state !== "" && card.dataset.state !== this.state;
  }

  /** Lists the first claims that the filter lets through. */
  list(limit) {
    this.limit = limit;
    const [inside, outside] = [[], []];
    for (const card of this.cards.values()) (this.isOut(card) ? outside : inside).push(card);
    for (const card of outside) card.hidden = true;
    inside.forEach((card, place) => {
      card.hidden = place >= limit;
    });
    this.root.querySelector(".more").hidden = inside.length <= limit;
  }

  /** Goes to the claim the address names. */
  follow() {
    const claim = Number(/^#claim-(\d+)$/.exec(location.hash)?.[1]);
    if (this.cards.has(claim) && claim !== this.selected) this.select(claim);
  }
}

function setAddress(address) {
  try {
    history.replaceState(history.state, "", address);
  } catch {
    // a page inside a sandboxed frame has no address of its own
  }
}

// A report file has its view in the page; elsewhere the page makes its own.
const live = document.getElementById("live");
if (live) {
  live.hidden = false;
  document.documentElement.classList.add("live");
  live.querySelector(".bar-top").append(themeSwitch());
  new ReportView(live);
}
