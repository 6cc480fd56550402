// Pasted texts become files of their own, so that there is one way to submit.
import { $, h } from "/static/page.js";

let changed = () => {};
let count = 0;

export function watchPaste(onchange) {
  changed = onchange;
  for (const id of ["paste-source", "paste-reference"]) $(id).addEventListener("change", changed);
  $("add-system").addEventListener("click", () => addBox().querySelector("textarea").focus());
  addBox();
}

function addBox() {
  const name = `system ${++count}`;
  const text = h("textarea", { rows: "5", "aria-label": `Translation of ${name}`, onchange: () => changed() });
  const box = h("div", { class: "paste" },
    h("label", { class: "paste-name" }, "Translation by", h("input", { value: name, maxlength: "60", onchange: () => changed() })),
    text);
  $("paste-systems").append(box);
  return box;
}

const file = (name, text) => new File([text.replace(/\n*$/, "\n")], name, { type: "text/plain" });

export function chosen() {
  const texts = { files: [], source: "", references: [], translations: [], labels: [] };
  const put = (name, text) => {
    texts.files.push(file(name, text));
    return name;
  };
  const [source, reference] = [$("paste-source").value, $("paste-reference").value];
  if (source.trim()) texts.source = put("the source.txt", source);
  if (reference.trim()) texts.references.push(put("the reference.txt", reference));
  for (const box of document.querySelectorAll(".paste")) {
    const name = box.querySelector("input").value.trim() || "system";
    const text = box.querySelector("textarea").value;
    if (!text.trim()) continue;
    texts.translations.push(put(`${name}.txt`, text));
    texts.labels.push(name);
  }
  return texts;
}
