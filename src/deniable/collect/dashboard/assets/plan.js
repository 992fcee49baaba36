// The planner: a slider next to each number, and figures that follow it. Without JavaScript, the button computes the same.

import { Verdict } from "./client/verdict.js";
import { ask, update } from "./parts.js";
import { verdictClass } from "./verdict_list.js";

const form = document.querySelector("form.plan");
let asked;
let timer;

const query = () => new URLSearchParams(new FormData(form)).toString();

async function compute() {
  if (!form.checkValidity()) return;
  asked?.abort(); // only the latest is wanted
  asked = new AbortController();
  const text = query();
  try {
    await update(await ask(`/plan/live?${text}`, asked.signal));
    document.getElementById("verdict").className = verdictClass(new Verdict(Number(form.elements.epsilon.value)));
    history.replaceState(null, "", `/plan?${text}`);
    form.dataset.planned = text;
  } catch (error) {
    if (error.name !== "AbortError") form.dataset.planned = `not computed: ${error.message}`;
  }
}

function soon() {
  clearTimeout(timer);
  timer = setTimeout(compute, 150);
}

// A logarithmic slider over the range in the number's attributes.
function addSlider(box) {
  const slider = document.createElement("input");
  const whole = box.step === "1";
  const [first, last] = [Number(box.dataset.slideFrom), Number(box.dataset.slideTo)].map(Math.log);
  slider.type = "range";
  slider.min = "0";
  slider.max = "100";
  slider.step = "any";
  slider.setAttribute("aria-label", box.labels[0].textContent);
  const follow = () => {
    slider.value = String((100 * (Math.log(box.value) - first)) / (last - first));
    slider.setAttribute("aria-valuetext", box.value);
  };
  slider.addEventListener("input", () => {
    const value = Math.exp(first + (slider.value / 100) * (last - first));
    const rounded = Number(value.toPrecision(2));
    box.value = String(whole ? Math.max(Math.round(rounded), Number(box.min)) : rounded);
    slider.setAttribute("aria-valuetext", box.value);
    soon();
  });
  slider.addEventListener("keydown", (event) => {
    // One key press is a visible step.
    const step = { ArrowRight: 1, ArrowUp: 1, ArrowLeft: -1, ArrowDown: -1, PageUp: 10, PageDown: -10 }[event.key];
    if (!step) return;
    event.preventDefault();
    slider.value = String(Number(slider.value) + step);
    slider.dispatchEvent(new Event("input"));
  });
  box.addEventListener("input", () => {
    follow();
    soon();
  });
  follow();
  box.after(slider);
}

form.querySelectorAll("input[type=number]").forEach(addSlider);
form.addEventListener("submit", (event) => {
  event.preventDefault();
  compute();
});
compute();
