// The metrics as cards: what each needs and costs; those that do not suit are greyed with the reason.
import { $, h } from "/static/page.js";

const wanted = new Map();  // spec: what the user chose; others follow what is usual
const drawn = new Map();   // spec: {box, card, why}
const GROUPS = ["A good start", "Others that suit", "These do not suit the texts"];
const groups = GROUPS.map((title) => {
  const cards = h("div", { class: "metrics" });
  const place = h("div", { class: "group", role: "group", "aria-label": title, hidden: true },
    h("h3", {}, title), cards);
  $("metrics").append(place);
  return { place, cards };
});

export function chosenMetrics() {
  return [...drawn].filter(([, { box }]) => box.checked && !box.disabled).map(([spec]) => spec);
}

/** Draw or update; `known` says whether there are texts that metrics can suit. */
export function showMetrics(metrics, known) {
  for (const metric of metrics) {
    if (!drawn.has(metric.spec)) draw(metric);
    const { box, why } = drawn.get(metric.spec);
    box.disabled = metric.reason !== null;
    box.checked = !box.disabled && (wanted.get(metric.spec) ?? (known && metric.usual));
    why.textContent = metric.reason ?? metric.caution ?? "";
    why.hidden = !why.textContent;
  }
  const focus = document.activeElement;
  for (const metric of metrics) {
    const group = groups[metric.reason !== null ? 2 : metric.usual ? 0 : 1];
    group.cards.append(drawn.get(metric.spec).card);
  }
  for (const { place, cards } of groups) place.hidden = !cards.childElementCount;
  if (focus !== document.activeElement) focus.focus({ preventScroll: true });  // lost by the move
}

function draw(metric) {
  const id = `metric-${drawn.size}`;
  const box = h("input", { type: "checkbox", id, value: metric.spec, "aria-describedby": `${id}-about ${id}-why` });
  box.addEventListener("change", () => wanted.set(metric.spec, box.checked));
  const why = h("p", { class: "why", id: `${id}-why` });
  const badges = h("span", { class: "badges" },
    h("span", { class: "badge", title: "what it needs" }, metric.needs_in_words),
    h("span", { class: "badge", title: metric.cost_in_words }, metric.cost_in_words.split(":")[0]),
    h("span", { class: "badge" }, metric.higher_is_better ? "high is good" : "low is good"));
  const card = h("label", { class: "metric", for: id }, box,
    h("b", {}, metric.spec, badges),
    h("p", { id: `${id}-about`, title: metric.meaning }, metric.summary), why);
  drawn.set(metric.spec, { box, card, why });
}
