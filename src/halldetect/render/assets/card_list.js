"use strict";

const PAGE_CARDS = 100;

/**
 * The list of claims, a page at a time: a browser takes a minute to lay out thousands of cards.
 * A card is made when it is first needed. `pick(index)` is called when the reader opens or closes
 * one.
 */
class CardList {
  constructor(report, pick) {
    this.report = report;
    this.pick = pick;
    this.made = new Map();
    this.makeFoot = null;
    this.node = element("ol", { class: "cards" });
    this.place = element("span", { role: "status" });
    this.earlier = textButton({}, () => this.turn(-1), "Previous");
    this.later = textButton({}, () => this.turn(1), "Next");
    const label = { class: "pages", "aria-label": "Pages of claims" };
    this.pages = element("nav", label, this.earlier, this.place, this.later);
    this.show(null);
  }

  /** The card of a claim. */
  card(index) {
    if (!this.made.has(index)) {
      const card = new ClaimCard(this.report, index);
      card.button.addEventListener("click", () => this.pick(index));
      if (this.makeFoot) card.addFoot(this.makeFoot(index));
      this.made.set(index, card);
    }
    return this.made.get(index);
  }

  /** Adds below every claim what `make(index)` gives, such as buttons to decide on it. */
  addFeet(make) {
    this.makeFoot = make;
    for (const [index, card] of this.made) card.addFoot(make(index));
  }

  /** Lists the claims of one state, or all of them, from the first. */
  show(state) {
    const { claims, view } = this.report;
    this.shown = view.order.filter((index) => !state || claims[index].status === state);
    this.fill(0);
  }

  /** Turns to the page that has a claim. */
  reveal(index) {
    const first = this.first(this.shown.indexOf(index));
    if (first !== this.from) this.fill(first);
  }

  /** The claim before (way -1) or after another, on whatever page; undefined at the end. */
  neighbour(index, way) {
    const place = this.shown.indexOf(index);
    if (place < 0) return this.shown.at(way > 0 ? 0 : -1);
    return this.shown[place + way];
  }

  turn(way) {
    this.fill(this.from + way * PAGE_CARDS);
    this.node.scrollIntoView();
  }

  first(place) {
    return Math.max(0, place - (place % PAGE_CARDS));
  }

  fill(from) {
    this.from = from;
    const to = Math.min(from + PAGE_CARDS, this.shown.length);
    this.node.replaceChildren(...this.shown.slice(from, to).map((index) => this.card(index).node));
    const all = plural(this.shown.length, "claim", "claims");
    this.place.textContent = `${(from + 1).toLocaleString("en")} to ${to.toLocaleString("en")} of ${all}`;
    this.earlier.disabled = from === 0;
    this.later.disabled = to === this.shown.length;
    this.pages.hidden = this.shown.length <= PAGE_CARDS;
  }
}
