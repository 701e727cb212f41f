// A field above the names of a door: entries without all of its words are hidden, and modules without entries.
document.addEventListener("DOMContentLoaded", () => {
  for (const place of document.querySelectorAll(".names-filter")) {
    const entries = [...document.querySelectorAll(".names > dl")].map((entry) => [entry, entry.textContent.toLowerCase()]);
    const sections = [...document.querySelectorAll(".names")].map((names) => [names.closest("section"), names]);
    const field = Object.assign(document.createElement("input"), {
      type: "search", className: "table-filter", placeholder: "Filter: words that an entry must have, e.g. scatter",
    });
    field.setAttribute("aria-label", "Filter the names");
    const count = Object.assign(document.createElement("p"), { className: "table-count" });
    const show = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      for (const [entry, text] of entries) {
        entry.hidden = !words.every((word) => text.includes(word));
        shown += !entry.hidden;
      }
      for (const [section, names] of sections)
        section.hidden = words.length > 0 && !names.querySelector(":scope > dl:not([hidden])");
      count.textContent = `${shown} of ${entries.length} names`;
    };
    field.addEventListener("input", show);
    place.replaceChildren(field, count);
    show();
  }
});
