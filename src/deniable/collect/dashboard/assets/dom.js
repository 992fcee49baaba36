// Elements from texts: the only way in which scripts write, so a stranger's text never becomes markup.

// Characters that cannot be shown, and those that change the direction of text; the same as in html.py.
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

// A list of names and values.
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

// Show what went wrong; an empty text hides it.
export function trouble(text) {
  const place = document.getElementById("trouble");
  place.hidden = !text;
  place.textContent = clean(text);
}
