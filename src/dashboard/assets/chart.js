// Shows the figures of the step under the pointer, read from the table below each chart.

for (const chart of document.querySelectorAll("figure[data-chart]")) {
  const svg = chart.querySelector(".plot [role=img]");
  const cursor = chart.querySelector(".cursor");
  const table = chart.querySelector(".figures table");
  if (svg && cursor && table) followPointer(chart, svg, cursor, table);
}

function followPointer(
  /** @type {HTMLElement} */ chart,
  /** @type {SVGSVGElement} */ svg,
  /** @type {SVGRectElement} */ cursor,
  /** @type {HTMLTableElement} */ table,
) {
  const rows = [...table.tBodies[0].rows];
  const names = [...table.tHead.rows[0].cells].slice(1).map((cell) => cell.textContent);
  const tones = [...chart.querySelectorAll(".plot .layer, .plot .line")].map((path) =>
    [...path.classList].find((name) => name.startsWith("tone-")) ?? ""
  );
  const tooltip = document.createElement("div");
  tooltip.className = "tooltip";
  tooltip.hidden = true;
  tooltip.ariaHidden = "true";
  chart.append(tooltip);

  svg.addEventListener("pointermove", (event) => show(stepAt(event)));
  svg.addEventListener("pointerleave", hide);
  // A tap shows the figures; a mouse, which shows them by hovering, opens the step's calls.
  svg.addEventListener("click", (event) => {
    if (event.pointerType === "mouse") rows[stepAt(event)].querySelector("a")?.click();
  });

  function stepAt(/** @type {PointerEvent} */ event) {
    const { left, width } = svg.getBoundingClientRect();
    const at = Math.floor((event.clientX - left) / width * rows.length);
    return Math.max(0, Math.min(rows.length - 1, at));
  }

  function show(/** @type {number} */ at) {
    const [step, ...figures] = [...rows[at].cells].map((cell) => cell.textContent ?? "");
    const title = document.createElement("strong");
    title.textContent = step;
    const lines = figures.map((figure, index) => {
      const line = document.createElement("p");
      const swatch = document.createElement("span");
      swatch.className = `swatch ${tones[index]}`;
      const name = document.createElement("span");
      name.textContent = names[index];
      const value = document.createElement("strong");
      value.textContent = figure;
      line.append(swatch, name, value);
      return line;
    });
    tooltip.replaceChildren(title, ...lines);
    tooltip.hidden = false;
    const stepWidth = svg.viewBox.baseVal.width / rows.length;
    cursor.setAttribute("x", String(at * stepWidth));
    cursor.setAttribute("visibility", "visible");
    moveCursor(at);
  }

  /** Moves the tooltip beside the step, to the side with more room, and never out of the chart. */
  function moveCursor(/** @type {number} */ at) {
    const [frame, plot] = [chart.getBoundingClientRect(), svg.getBoundingClientRect()];
    const middle = plot.left - frame.left + plot.width * (at + 0.5) / rows.length;
    const x = at < rows.length / 2 ? middle + 12 : middle - 12 - tooltip.offsetWidth;
    const within = Math.max(0, Math.min(x, frame.width - tooltip.offsetWidth));
    tooltip.style.transform = `translate(${within}px, ${plot.top - frame.top}px)`;
  }

  function hide() {
    tooltip.hidden = true;
    cursor.setAttribute("visibility", "hidden");
  }
}
