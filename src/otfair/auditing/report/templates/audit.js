"use strict";
// Tables sort by a click on a heading and are searched by what is typed; without this script they are plain tables.
document.documentElement.classList.add("js");
for (const table of document.querySelectorAll("table.sortable")) {
  const body = table.tBodies[0];
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    head.replaceChildren(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "descending";
      heads.forEach((other) => other.removeAttribute("aria-sort"));
      head.setAttribute("aria-sort", down ? "ascending" : "descending");
      const key = (row) => {
        const cell = row.cells[column];
        const text = (cell.dataset.value ?? cell.textContent.trim()).replace(/(\d),(?=\d{3})/g, "$1");
        const number = cell.matches(".t:not([data-value])") ? NaN : Number.parseFloat(text);
        return Number.isNaN(number) ? text : number;
      };
      const sign = down ? 1 : -1;
      const compare = (a, b) => {
        if (typeof a !== typeof b) return typeof a === "number" ? -1 : 1;
        return typeof a === "number" ? a - b : a.localeCompare(b, undefined, { numeric: true });
      };
      body.append(...[...body.rows].sort((a, b) => sign * compare(key(a), key(b))));
    });
  });
}
for (const input of document.querySelectorAll("input[data-table]")) {
  const rows = [...document.getElementById(input.dataset.table).tBodies[0].rows];
  const texts = rows.map((row) => row.textContent.toLowerCase());
  const count = input.closest("p").querySelector("output");
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/);
    let left = 0;
    rows.forEach((row, k) => {
      row.hidden = !words.every((word) => texts[k].includes(word));
      left += !row.hidden;
    });
    count.textContent = input.value ? `${left} of ${rows.length}` : "";
  });
}
// Tables that are wider than the page say so.
const watch = new ResizeObserver((entries) => {
  for (const { target } of entries) target.toggleAttribute("data-more", target.scrollWidth > target.clientWidth + 1);
});
for (const wide of document.querySelectorAll(".wide")) watch.observe(wide);
window.addEventListener("beforeprint", () => {
  for (const details of document.querySelectorAll("details.section")) details.open = true;
});
