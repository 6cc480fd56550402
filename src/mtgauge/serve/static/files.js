// Dropped and chosen files: each is looked at by the server, then its columns get roles.
import { $, alarm, ask, h } from "/static/page.js";

const ROLES = [["", "not used"], ["system", "translation"], ["source", "source"], ["reference", "reference"]];
const files = [];  // {file, told: what /inspect says, roles: [role of each column]}
let changed = () => {};

export function watchFiles(onchange) {
  changed = onchange;
  const drop = $("drop");
  $("picker").addEventListener("change", (event) => {
    add([...event.target.files]);
    event.target.value = "";
  });
  $("example").addEventListener("click", async () => {
    const answer = await fetch("/example.tsv");
    add([new File([await answer.blob()], "example.tsv")]);
    for (const [side, code] of [["from", "de"], ["to", "en"]]) {
      $(side).value = code;
      $(side).dispatchEvent(new Event("input"));
    }
  });
  for (const kind of ["dragenter", "dragover"]) {
    document.addEventListener(kind, (event) => {
      event.preventDefault();
      drop.classList.add("over");
    });
  }
  document.addEventListener("dragleave", (event) => {
    if (!event.relatedTarget) drop.classList.remove("over");
  });
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    drop.classList.remove("over");
    add([...event.dataTransfer.files]);
  });
}

/** The files that play a part, and the parts. */
export function chosen() {
  const texts = { files: [], source: "", references: [], translations: [], labels: [] };
  for (const { file, told, roles } of files) {
    if (!told || !roles.some(Boolean)) continue;
    texts.files.push(file);
    told.columns.forEach((column, i) => {
      const name = column.name === null ? file.name : `${file.name}:${column.name}`;
      if (roles[i] === "source") texts.source = name;
      if (roles[i] === "reference") texts.references.push(name);
      if (roles[i] === "system") {
        texts.translations.push(name);
        const whole = column.name === null || ["xliff", "tmx"].includes(told.kind);
        texts.labels.push(whole ? file.name.replace(/\.[^.]+$/, "") : column.name);
      }
    });
  }
  return texts;
}

function add(added) {
  $("try").hidden = true;
  for (const file of added) {
    const name = freeName(file.name);
    const entry = { file: name === file.name ? file : new File([file], name), roles: [] };
    files.push(entry);
    look(entry);
  }
}

function freeName(name) {
  const taken = new Set(files.map((entry) => entry.file.name));
  const [, stem, ending] = name.match(/^(.*?)(\.[^.]*)?$/s);
  let free = name;
  for (let i = 2; taken.has(free); i++) free = `${stem} (${i})${ending ?? ""}`;
  return free;
}

async function look(entry) {
  entry.row = h("li", {});
  $("files").append(entry.row);
  draw(entry);
  const form = new FormData();
  form.append("file", entry.file, entry.file.name);
  try {
    if (entry.file.size > Number(document.body.dataset.upload)) {
      throw new Error("The file is too large for this server.");
    }
    entry.told = await ask("/inspect", { method: "POST", body: form });
    entry.roles = entry.told.columns.map((column) => free(column.role, entry) ?? "");
  } catch (error) {
    entry.error = error.message;
  }
  draw(entry);
  changed();
}

/** A role that only one column can have is not given twice. */
function free(role) {
  return role === "source" && chosen().source ? "" : role;
}

function draw(entry) {
  const { file, told, error } = entry;
  const about = error ? null : told
    ? `${told.kind}, ${told.segments.toLocaleString()} segments`
    : "looking at it...";
  entry.row.replaceChildren(
    h("div", { class: "file-head" },
      h("span", {}, h("strong", {}, file.name), about ? h("small", { class: "hint" }, `  ${about}`) : null),
      h("button", { type: "button", class: "plain", "aria-label": `Remove ${file.name}`, onclick: () => remove(entry) }, "Remove")),
    ...(error ? [h("p", { class: "alarm", role: "alert" }, error)] : []),
    ...(told?.columns ?? []).map((column, i) => drawColumn(entry, column, i)),
  );
}

function drawColumn(entry, column, i) {
  const name = column.name ?? entry.file.name;
  const select = h("select", { "aria-label": `What ${name} is`, onchange: (event) => {
    if (event.target.value === "source") dropSource();
    entry.roles[i] = event.target.value;
    for (const each of files) draw(each);
    changed();
  } });
  for (const [value, text] of ROLES) {
    select.append(h("option", { value, selected: entry.roles[i] === value }, text));
  }
  return h("div", { class: "column" },
    h("span", { class: "name" }, column.name === null ? "Every line is a" : column.name),
    select,
    h("span", { class: "sample", title: column.sample, dir: "auto" }, column.sample));
}

function dropSource() {
  for (const entry of files) {
    entry.roles = entry.roles.map((role) => (role === "source" ? "" : role));
  }
}

function remove(entry) {
  files.splice(files.indexOf(entry), 1);
  entry.row.remove();
  $("try").hidden = files.length > 0;
  alarm("");
  changed();
  $("picker").focus();
}
