// Keeps the page of a task up to date while reports come in. Without it, loading the page again does the same.

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
      main.dataset.liveState = `not up to date: ${error.message}`; // a network that is away may come back
    }
  }
  if (result.hasAttribute("data-live-open")) timer = setTimeout(look, 1000 * SECONDS);
}

// What changes by itself can be stopped.
function addPause() {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "quiet";
  button.textContent = "Pause updates";
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Go on with updates" : "Pause updates";
    look();
  });
  const state = result.querySelector(".fresh");
  if (state) state.after(button);
}

if (result.hasAttribute("data-live-open")) addPause();
document.addEventListener("visibilitychange", look);
look();
