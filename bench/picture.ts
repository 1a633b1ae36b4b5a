import type { Figure } from "./figures.ts";
import { type ThreadKind, threadKinds } from "./processes.ts";

/** A bar of the picture: a name before it, its parts, and a label after it. */
interface Bar {
  name: string;
  parts: readonly { length: number; colour: string }[];
  label: string;
}

interface Panel {
  title: string;
  bars: readonly Bar[];
}

const ours = "#2563eb";
const others = "#94a3b8";
const threadColours: Readonly<Record<ThreadKind, string>> = {
  main: "#2563eb",
  workers: "#f59e0b",
  v8: "#94a3b8",
  other: "#cbd5e1",
  store: "#10b981",
};
const threadNames: Readonly<Record<ThreadKind, string>> = {
  main: "main thread",
  workers: "workers",
  v8: "garbage collection, compiler",
  other: "other threads",
  store: "PostgreSQL",
};

const width = 860;
const nameWidth = 250;
const labelWidth = 150;
const rowHeight = 24;
const font = `font-family="system-ui, -apple-system, 'Segoe UI', sans-serif"`;

/**
 * Draws the figures of whole calls and streams as SVG: calls per second, and processor time per
 * call by kind of thread.
 */
export function drawFigures(relay: readonly Figure[]): string {
  const panels = [
    ratePanel("Whole calls a second, 32 connections", relay, "whole"),
    ratePanel("Streams of 200 chunks a second, 16 connections", relay, "stream"),
    cpuPanel("Processor time of a whole call by thread, µs", relay, "whole"),
  ].filter(({ bars }) => bars.length > 0);
  let y = 16;
  const drawn: string[] = [];
  for (const panel of panels) {
    drawn.push(drawPanel(panel, y));
    y += 46 + panel.bars.length * rowHeight;
  }
  const kinds = threadKinds.map((kind, at) =>
    `<rect x="${16 + at * 168}" y="${y - 10}" width="12" height="12" fill="${
      threadColours[kind]
    }"/>` +
    `<text x="${34 + at * 168}" y="${y}" font-size="12" fill="#334155">${threadNames[kind]}</text>`
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${y + 16}" ${font} role="img">`,
    "<title>Calls a second and processor time per call, beside other proxies</title>",
    `<rect width="${width}" height="${y + 16}" fill="#ffffff"/>`,
    ...drawn,
    ...kinds,
    "</svg>",
    "",
  ].join("\n");
}

function ratePanel(title: string, relay: readonly Figure[], cell: string): Panel {
  const bars = relay.filter((figure) => figure.cell === cell).map((figure): Bar => ({
    name: String(figure.title),
    parts: [{
      length: Number(figure.calls_per_second),
      colour: isOurs(figure) ? ours : others,
    }],
    label: `${rateOf(Number(figure.calls_per_second))}${
      figure.of_bare === null ? "" : ` · ${Number(figure.of_bare).toFixed(2)} of bare`
    }`,
  }));
  return { title, bars };
}

function cpuPanel(title: string, relay: readonly Figure[], cell: string): Panel {
  const bars = relay.filter((figure) => figure.cell === cell && figure.cpu_us_per_call !== null)
    .map((figure): Bar => {
      const cpu = figure.cpu_us_per_call as Readonly<Record<ThreadKind | "total", number>>;
      return {
        name: String(figure.title),
        parts: threadKinds.map((kind) => ({ length: cpu[kind], colour: threadColours[kind] })),
        label: `${Math.round(cpu.total).toLocaleString("en")} µs`,
      };
    });
  return { title, bars };
}

function isOurs({ contender }: Figure): boolean {
  return /^(embedded|postgres)/.test(String(contender));
}

function rateOf(perSecond: number): string {
  return perSecond < 100 ? perSecond.toFixed(1) : Math.round(perSecond).toLocaleString("en");
}

function drawPanel({ title, bars }: Panel, top: number): string {
  const longest = Math.max(
    ...bars.map(({ parts }) => parts.reduce((sum, one) => sum + one.length, 0)),
  );
  const scale = (width - nameWidth - labelWidth) / longest;
  const rows = bars.map(({ name, parts, label }, at) => {
    const y = top + 30 + at * rowHeight;
    let x = nameWidth;
    const rects = parts.map(({ length, colour }) => {
      const long = Math.max(0.5, length * scale);
      const rect = `<rect x="${x.toFixed(1)}" y="${y}" width="${
        long.toFixed(1)
      }" height="16" fill="${colour}"/>`;
      x += length * scale;
      return rect;
    });
    return `<text x="${nameWidth - 8}" y="${
      y + 13
    }" font-size="13" text-anchor="end" fill="#334155">${escaped(name)}</text>${
      rects.join("")
    }<text x="${(x + 8).toFixed(1)}" y="${y + 13}" font-size="12" fill="#0f172a">${
      escaped(label)
    }</text>`;
  });
  return [
    `<text x="16" y="${top + 14}" font-size="15" font-weight="600" fill="#0f172a">${
      escaped(title)
    }</text>`,
    ...rows,
  ].join("\n");
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll('"', "&quot;");
}
