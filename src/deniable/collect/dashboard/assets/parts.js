// Updates a page: texts and rows as the server wrote them, always as text and never as markup.

import { show } from "./chart.js";

const named = (name) => [...document.querySelectorAll(`[data-${name}]`)];

function row(cells) {
  const line = document.createElement("tr");
  cells.forEach((text, place) => {
    const cell = document.createElement(place === 0 ? "th" : "td");
    if (place === 0) {
      cell.scope = "row";
      cell.append(document.createElement("bdi"));
      cell.firstChild.textContent = text;
    } else {
      cell.textContent = text;
    }
    line.append(cell);
  });
  return line;
}

// Return true if the page and the news have the same parts; otherwise, reload the page.
export function fits(news) {
  const same = (elements, key, found) => {
    const here = new Set(elements.map((element) => element.dataset[key]));
    return here.size === Object.keys(found).length && Object.keys(found).every((name) => here.has(name));
  };
  return same(named("live"), "live", news.texts) && same(named("live-rows"), "liveRows", news.rows);
}

export async function update(news) {
  for (const element of named("live")) {
    const text = news.texts[element.dataset.live];
    if (element.textContent !== text) element.textContent = text;
  }
  for (const body of named("live-rows")) {
    const rows = news.rows[body.dataset.liveRows];
    const here = [...body.rows].map((line) => [...line.cells].map((cell) => cell.textContent));
    if (JSON.stringify(here) !== JSON.stringify(rows)) body.replaceChildren(...rows.map(row));
  }
  await show(news.charts);
}

export async function ask(address, signal) {
  const answer = await fetch(address, { headers: { accept: "application/json" }, cache: "no-store", signal });
  if (!answer.ok) throw new Error(`the collector answered ${answer.status}`);
  return answer.json();
}
