// A field above each searchable table: rows without all of its words are hidden.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll("table.searchable")) {
    const rows = [...table.tBodies[0].rows].map((row) => [row, row.textContent.toLowerCase()]);
    const field = Object.assign(document.createElement("input"), {
      type: "search", className: "table-filter", placeholder: "Filter: words that a row must have, e.g. tanh float64",
    });
    field.setAttribute("aria-label", "Filter the table");
    const count = Object.assign(document.createElement("p"), { className: "table-count" });
    const show = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const [row, text] of rows) {
        row.hidden = !words.every((word) => text.includes(word));
        shown += !row.hidden;
      }
      count.textContent = `${shown} of ${rows.length} rows`;
    };
    field.addEventListener("input", show);
    const wrapper = table.closest(".table-wrapper") ?? table;
    wrapper.before(field, count);
    wrapper.classList.add("searchable-wrapper");
    show();
  }
});
