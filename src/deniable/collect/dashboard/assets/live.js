// Keeps a task's page up to date while reports come in. Without JavaScript, reloading the page does the same.

import { ask, fits, update } from "./parts.js";

const SECONDS = 3;
const main = document.getElementById("main");
const result = document.getElementById("result");
let paused = false;
let timer;

async function look() {
  clearTimeout(timer);
  if (!paused && !document.hidden) {
    try {
      const news = await ask(main.dataset.liveSource);
      if (!fits(news)) {
        location.reload();
        return;
      }
      await update(news);
      main.dataset.liveState = "up to date";
    } catch (error) {
      main.dataset.liveState = `not up to date: ${error.message}`; // the network may come back
    }
  }
  if (result.hasAttribute("data-live-open")) timer = setTimeout(look, 1000 * SECONDS);
}

// People can stop what changes automatically.
function addPause() {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "Pause updates";
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Resume updates" : "Pause updates";
    look();
  });
  const state = result.querySelector(".fresh");
  if (state) state.after(button);
}

if (result.hasAttribute("data-live-open")) addPause();
document.addEventListener("visibilitychange", look);
look();
