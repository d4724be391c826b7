/** Plain charts in SVG, drawn at the width they have; every figure is in a table as well. */

const SPACE = "http://www.w3.org/2000/svg";
const DAY_MS = 86400000;
const VERDICTS = ["hallucinated", "uncheckable", "abstained", "faithful"];
// Longer periods are shown by week, or a day would be narrower than a pixel.
const MOST_DAYS = 92;

function shape(tag, attributes, ...children) {
  const node = document.createElementNS(SPACE, tag);
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, String(value));
  node.append(...children);
  return node;
}

export function percent(share) {
  return share === null || share === undefined ? "n/a" : `${Math.round(share * 100)} %`;
}

const dayText = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", timeZone: "UTC" });

/** Days or weeks from the start of the period to today, those without a report included. */
export function periods(byDay, days, today = new Date()) {
  const step = days > MOST_DAYS ? 7 : 1;
  const given = byDay.map(({ day }) => Date.parse(`${day}T00:00:00Z`));
  const now = Date.UTC(today.getUTCFullYear(), today.getUTCMonth(), today.getUTCDate());
  // The clock here may be behind the server's, and the first day may be cut by the hour.
  const last = Math.max(now, ...given);
  const first = Math.min(last - (days - 1) * DAY_MS, ...given);
  const count = Math.ceil(((last - first) / DAY_MS + 1) / step);
  const spans = Array.from({ length: count }, (_, place) => {
    const start = last - (count - place) * step * DAY_MS + DAY_MS;
    return { start, step, faithful: 0, hallucinated: 0, abstained: 0, uncheckable: 0 };
  });
  byDay.forEach((row, index) => {
    const span = spans[Math.floor((given[index] - spans[0].start) / (step * DAY_MS))];
    for (const verdict of VERDICTS) span[verdict] += row[verdict];
  });
  return spans.map((span) => {
    const judged = span.faithful + span.hallucinated;
    return {
      ...span,
      label: `${step === 7 ? "week of " : ""}${dayText.format(span.start)}`,
      total: judged + span.uncheckable + span.abstained,
      rate: judged ? span.hallucinated / judged : null,
    };
  });
}

/** Rate above, counts below, over one axis of time. */
export function timeChart(spans, width, summary) {
  const [left, right, rateTop, rateHeight, countTop, countHeight] = [44, 8, 12, 110, 150, 60];
  const height = countTop + countHeight + 26;
  const svg = shape("svg", {
    class: "chart",
    viewBox: `0 0 ${width} ${height}`,
    width,
    height,
    role: "img",
    "aria-label": summary,
  });
  const slot = (width - left - right) / spans.length;
  const middle = (place) => left + slot * (place + 0.5);
  const y = (rate) => rateTop + rateHeight * (1 - rate);
  for (const rate of [0, 0.5, 1]) {
    svg.append(
      shape("line", { class: "grid", x1: left, x2: width - right, y1: y(rate), y2: y(rate) }),
      shape("text", { class: "tick", x: left - 8, y: y(rate) + 4, "text-anchor": "end" }, percent(rate)),
    );
  }
  const most = Math.max(1, ...spans.map((span) => span.total));
  const base = countTop + countHeight;
  svg.append(
    shape("line", { class: "grid", x1: left, x2: width - right, y1: base, y2: base }),
    shape("text", { class: "tick", x: left - 8, y: countTop + 9, "text-anchor": "end" }, most.toLocaleString("en")),
    shape("text", { class: "tick", x: left - 8, y: base + 4, "text-anchor": "end" }, "0"),
  );
  svg.append(...stacks(spans, { slot, left, base, scale: countHeight / most }));
  svg.append(...rateLine(spans, middle, y));
  const every = Math.max(1, Math.ceil(64 / slot));
  spans.forEach((span, place) => {
    const back = spans.length - 1 - place;
    if (back % every === 0 && middle(place) > left + 16) {
      const anchor = back === 0 && slot < 56 ? "end" : "middle";
      const x = anchor === "end" ? width - right : middle(place);
      svg.append(shape("text", { class: "tick", x, y: height - 6, "text-anchor": anchor }, dayText.format(span.start)));
    }
    if (!span.total) return;
    const hit = { class: "hit", x: left + slot * place, y: rateTop, width: slot, height: base - rateTop };
    svg.append(shape("rect", hit, shape("title", {}, told(span))));
  });
  return svg;
}

function told({ label, hallucinated, faithful, abstained, uncheckable, rate }) {
  const rest =
    (abstained ? `, ${abstained} abstained` : "") +
    (uncheckable ? `, ${uncheckable} uncheckable` : "");
  const share = rate === null ? "" : ` (${percent(rate)})`;
  return `${label}: ${hallucinated} of ${hallucinated + faithful} hallucinated${share}${rest}`;
}

function stacks(spans, { slot, left, base, scale }) {
  const thick = Math.max(1, Math.min(28, slot * 0.7));
  return spans.flatMap((span, place) => {
    let top = base;
    return VERDICTS.filter((verdict) => span[verdict]).map((verdict) => {
      const tall = span[verdict] * scale;
      top -= tall;
      const x = left + slot * (place + 0.5) - thick / 2;
      return shape("rect", { class: `part ${verdict}`, x, y: top, width: thick, height: tall });
    });
  });
}

/** Neighbouring periods are joined; a gap without reports stays a gap. */
function rateLine(spans, middle, y) {
  const points = spans.map(({ rate }, place) =>
    rate === null ? null : `${middle(place).toFixed(1)},${y(rate).toFixed(1)}`,
  );
  const pieces = [];
  let run = [];
  for (const point of [...points, null]) {
    if (point) run.push(point);
    else {
      if (run.length > 1) pieces.push(shape("polyline", { class: "line", points: run.join(" ") }));
      run = [];
    }
  }
  const dots = spans.flatMap(({ rate }, place) =>
    rate === null ? [] : [shape("circle", { class: "dot", cx: middle(place), cy: y(rate), r: 3.5 })],
  );
  return [...pieces, ...dots];
}

/** Named amounts as bars with their figures; rows of {name, kind, amount}. */
export function amountBars(rows) {
  const most = Math.max(1, ...rows.map(({ amount }) => amount));
  const total = rows.reduce((sum, { amount }) => sum + amount, 0);
  return element(
    "ul",
    { class: "amounts" },
    ...rows.map(({ name, kind, amount }) =>
      element(
        "li",
        { class: kind },
        element("span", { class: "amount-name" }, name),
        bar([["track", 0, 1], ["fill", 0, amount / most]]),
        element("span", { class: "amount" }, amount.toLocaleString("en")),
        element("small", {}, total ? percent(amount / total) : ""),
      ),
    ),
  );
}
