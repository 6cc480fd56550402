// What all pages share: elements from data (text is never markup), requests, messages.

export const $ = (id) => document.getElementById(id);

/** An element: h("p", {class: "hint"}, "text", child). Strings become text nodes. */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (typeof value === "boolean") element[key] = value;
    else if (value !== null && value !== undefined) element.setAttribute(key, value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** The JSON that a request answers with; its sentence as an Error where it is refused. */
export async function ask(address, options = {}) {
  let answer;
  try {
    answer = await fetch(address, options);
  } catch {
    throw new Error("The server does not answer. Is it still running?");
  }
  if (answer.status === 401) location.assign("/login");
  if (answer.status === 204) return null;
  const told = await answer.json().catch(() => ({}));
  if (!answer.ok) throw new Error(told.error || `The server answered ${answer.status}.`);
  return told;
}

export function alarm(message) {
  const place = $("alarm");
  place.textContent = message;
  place.hidden = !message;
}

/** Times in the reader's own zone. */
for (const time of document.querySelectorAll("time")) {
  const when = new Date(time.dateTime);
  if (!Number.isNaN(when.getTime())) {
    time.textContent = when.toLocaleString([], { dateStyle: "medium", timeStyle: "short" });
  }
}
