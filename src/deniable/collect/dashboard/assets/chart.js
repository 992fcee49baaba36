// Draws charts with Vega, in the colors of the page. Vega is fetched from this origin when there is something to draw.

let loading;

function vega() {
  loading ??= new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = "/assets/vega.js";
    script.addEventListener("load", () => resolve(window.vegaEmbed));
    script.addEventListener("error", () => reject(new Error("Vega could not be fetched")));
    document.head.append(script);
  });
  return loading;
}

function config() {
  const style = getComputedStyle(document.documentElement);
  const color = (name) => style.getPropertyValue(`--${name}`).trim();
  const axis = { labelColor: color("soft"), titleColor: color("soft"), gridColor: color("line"), domainColor: color("line"), tickColor: color("line") };
  const text = { labelFont: "system-ui, sans-serif", titleFont: "system-ui, sans-serif", labelFontSize: 12, titleFontSize: 12, titleFontWeight: "normal" };
  return {
    background: "transparent",
    view: { stroke: null },
    axis: { ...axis, ...text },
    title: { color: color("text"), subtitleColor: color("soft") },
    legend: { labelColor: color("soft"), titleColor: color("soft") },
    header: { labelColor: color("soft"), titleColor: color("soft") },
    style: {
      accent: { color: color("accent") },
      ink: { color: color("text"), strokeWidth: 1.5 },
      other: { color: color("other"), strokeWidth: 1 },
      second: { color: color("second"), strokeWidth: 2 },
    },
  };
}

const drawn = new Map();

async function draw(place, spec) {
  const embed = await vega();
  const before = drawn.get(place);
  // No evaluation of text as script (ast), no inline style, no menu with links to elsewhere.
  const options = { ast: true, actions: false, defaultStyle: false, tooltip: false, renderer: "svg", config: config() };
  const { finalize } = await embed(place, spec, options);
  drawn.set(place, { text: JSON.stringify(spec), spec, finalize });
  place.querySelector("svg").setAttribute("aria-hidden", "true"); // the figure has a name, and the table next to it shows the same
  before?.finalize();
}

// Draw the charts of a page, each in the element of its name. Unchanged charts stay.
export async function show(charts) {
  for (const place of document.querySelectorAll("[data-chart]")) {
    const spec = charts[place.dataset.chart];
    if (spec && drawn.get(place)?.text !== JSON.stringify(spec)) await draw(place, spec);
  }
}

matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => {
  for (const [place, { spec }] of drawn) draw(place, spec);
});
