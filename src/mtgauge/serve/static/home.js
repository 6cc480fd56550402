// The form: texts, languages, metrics, start.
import { $, alarm, ask, h } from "/static/page.js";
import { chosen as chosenFiles, watchFiles } from "/static/files.js";
import { chosen as pasted, watchPaste } from "/static/paste.js";
import { chosenMetrics, showMetrics } from "/static/metrics.js";

const tabs = [$("tab-files"), $("tab-paste")];
const pasting = () => tabs[1].getAttribute("aria-selected") === "true";

/** What was given: {files: [File], source, references, translations}, names as FILE or FILE:COLUMN. */
const given = () => (pasting() ? pasted() : chosenFiles());

function lang() {
  const [from, to] = [$("from").value.trim(), $("to").value.trim()];
  return from && to ? `${from}-${to}` : "";
}

let latest = 0;
async function refresh() {
  const texts = given();
  const count = texts.translations.length;
  const sides = count ? [texts.source && "source", texts.references.length && "reference"] : null;
  $("ready").textContent = count
    ? `${count} ${count === 1 ? "system" : "systems"}`
    : "Give at least one translation.";
  const before = $("baseline").value;
  $("baseline").replaceChildren(...texts.labels.map((label) => h("option", {}, label)));
  if (texts.labels.includes(before)) $("baseline").value = before;
  const asked = new URLSearchParams();
  for (const side of sides?.filter(Boolean) ?? []) asked.append("side", side);
  if (sides && !asked.size) asked.append("side", "");
  if (lang()) asked.append("lang", lang());
  const number = ++latest;
  try {
    const metrics = await ask(`/metrics?${asked}`);
    if (number === latest) showMetrics(metrics, sides !== null);
    $("metrics-hint").hidden = sides !== null;
    alarm("");
  } catch (error) {
    if (number === latest) alarm(error.message);
  }
}

const names = typeof Intl.DisplayNames === "function"
  ? new Intl.DisplayNames(["en"], { type: "language" }) : null;
function nameOf(code) {
  try { return (code && names?.of(code)) || ""; } catch { return ""; }
}
for (const option of $("languages").options) option.label = nameOf(option.value);
for (const side of ["from", "to"]) {
  $(side).addEventListener("input", () => {
    const code = $(side).value.trim();
    const name = nameOf(code);
    $(`${side}-name`).textContent = name === code ? "" : name;
  });
  $(side).addEventListener("change", refresh);
}

function select(tab) {
  for (const each of tabs) {
    const on = each === tab;
    each.setAttribute("aria-selected", String(on));
    each.tabIndex = on ? 0 : -1;
    $(each.getAttribute("aria-controls")).hidden = !on;
  }
  refresh();
}
for (const tab of tabs) {
  tab.addEventListener("click", () => select(tab));
  tab.addEventListener("keydown", (event) => {
    if (event.key !== "ArrowLeft" && event.key !== "ArrowRight") return;
    const other = tabs[1 - tabs.indexOf(tab)];
    select(other);
    other.focus();
  });
}

$("form").addEventListener("submit", async (event) => {
  event.preventDefault();
  alarm("");
  const texts = given();
  const metrics = chosenMetrics();
  if (!texts.translations.length) return alarm("Give at least one translation.");
  if (!metrics.length) return alarm("Choose at least one metric.");
  const half = [$("from").value.trim(), $("to").value.trim()].filter(Boolean).length === 1;
  if (half) return alarm("Give both languages, or none.");
  const form = new FormData();
  for (const file of texts.files) form.append("file", file, file.name);
  if (texts.source) form.append("source", texts.source);
  for (const text of texts.references) form.append("reference", text);
  for (const text of texts.translations) form.append("translation", text);
  for (const metric of metrics) form.append("metric", metric);
  if (lang()) form.append("lang", lang());
  const title = $("title").value.trim() || texts.labels.join(", ");
  form.append("title", title);
  if ($("baseline").selectedIndex > 0) form.append("baseline", $("baseline").value);
  if ($("unescape").checked) form.append("unescape", "on");
  const size = texts.files.reduce((sum, file) => sum + file.size, 0);
  if (size > Number(document.body.dataset.upload)) {
    return alarm("The files are too large for this server: give fewer segments.");
  }
  $("start").disabled = true;
  try {
    const run = await ask("/runs", { method: "POST", body: form });
    location.assign(`/run/${run.id}`);
  } catch (error) {
    alarm(error.message);
    $("start").disabled = false;
  }
});

watchFiles(refresh);
watchPaste(refresh);
refresh();
