// A click on a column title sorts the table; a second click reverses the order.
"use strict";

const number = (text) => {
  const found = text.replaceAll(",", "").match(/^[+-]?[0-9]*[.]?[0-9]+/);
  return found ? Number(found[0]) : null;
};

const compare = (one, other) => {
  const [a, b] = [number(one), number(other)];
  if (a !== null && b !== null) return a - b;
  if (a === null && b === null) return one.localeCompare(other);
  return a === null ? 1 : -1;
};

for (const button of document.querySelectorAll(".data thead button")) {
  button.addEventListener("click", () => {
    const title = button.closest("th");
    const down = title.getAttribute("aria-sort") !== "descending";
    for (const other of title.parentElement.children) other.removeAttribute("aria-sort");
    title.setAttribute("aria-sort", down ? "descending" : "ascending");
    const body = title.closest("table").tBodies[0];
    const text = (row) => row.cells[title.cellIndex].textContent.trim();
    const rows = [...body.rows].sort((one, other) => compare(text(one), text(other)));
    // Cells without a number stay at the end.
    const empty = rows.filter((row) => !text(row) || text(row) === "–");
    const known = rows.filter((row) => text(row) && text(row) !== "–");
    body.append(...(down ? known.reverse() : known), ...empty);
  });
}
