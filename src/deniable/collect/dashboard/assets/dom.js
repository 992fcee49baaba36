// Elements from texts: a page's script has no other way to write, so no text of a stranger can become markup.

// What cannot be shown, and what would change the order in which a sentence is read; the same as in html.py.
const CONTROL = /[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]/gu;

export const clean = (text) => String(text).replace(CONTROL, "\ufffd");

export function make(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, value);
  }
  element.append(...children.filter((child) => child !== null).map((child) => (child instanceof Node ? child : clean(child))));
  return element;
}

// A text that somebody else wrote.
export const quoted = (text) => make("bdi", {}, text);

// Names and what they stand for.
export function facts(pairs) {
  const groups = Object.entries(pairs).map(([name, value]) => make("div", {}, make("dt", {}, name), make("dd", {}, value)));
  return make("dl", { class: "facts" }, ...groups);
}

// Bytes as people can compare them.
export function bytes(data) {
  const digits = Array.from(data, (byte) => byte.toString(16).padStart(2, "0")).join(" ");
  const told = `${data.length.toLocaleString("en")} bytes`;
  return make("details", {}, make("summary", {}, told), make("pre", { tabindex: "0", "aria-label": told }, digits));
}

// Says what went wrong, or that nothing does any more.
export function trouble(text) {
  const place = document.getElementById("trouble");
  place.hidden = !text;
  place.textContent = clean(text);
}
