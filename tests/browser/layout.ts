import assert from "@std/assert";
import type { Page } from "playwright-core";
import { allLooks } from "./chromium.ts";

/**
 * From a phone to a wide desk; in the gate a phone, half a desk (as at 200 %), a tablet and the
 * narrowest desk.
 */
const widths = allLooks
  ? [320, 360, 390, 480, 640, 768, 961, 1024, 1280, 1600]
  : [360, 640, 768, 961];

/**
 * Whatever can be pressed is within the screen, and within its table's part that is shown; only on
 * phones and among a chart's figures is a table wider than its place, which then shows that there is
 * more; no text runs into the next cell; the page itself never scrolls sideways.
 * `where` names the page in what is given back: all that is otherwise.
 */
export async function misfits(page: Page, where: string): Promise<string[]> {
  const found: string[] = [];
  await page.$$eval("main details.menu", (menus) => menus.forEach((one) => one.open = true));
  for (const width of widths) {
    await page.setViewportSize({ width, height: 900 });
    const problems = await page.evaluate<string[]>(`(${findProblems})()`);
    found.push(...problems.map((problem) => `${where} at ${width} px: ${problem}`));
  }
  return found;
}

/** Runs in the page; text, since the test's compiler knows no document. */
const findProblems = `function () {
  const problems = [];
  const right = document.documentElement.clientWidth;
  const title = document.querySelector("h1");
  const range = document.createRange();
  range.selectNodeContents(title);
  const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top))).size;
  if (lines > title.textContent.split(/[\\s-]+/).length) problems.push("a word of the title is broken");
  if (document.documentElement.scrollWidth > right + 1) {
    const wide = [...document.querySelectorAll("main *")]
      .filter((one) => one.getBoundingClientRect().right > right + 1 && !one.closest(".table"))
      .map((one) => one.tagName + "." + one.className).slice(-3);
    problems.push("the page scrolls sideways: " + wide.join(", "));
  }
  const pressable = "main a.button, main button, main .tabs a, main .segments a, main .menu-items a, main input, main select";
  for (const one of document.querySelectorAll(pressable)) {
    const box = one.getBoundingClientRect();
    if (box.width === 0 || one.closest("details:not([open])") && !one.closest("summary")) continue;
    const name = (one.textContent || one.id || one.className).trim().slice(0, 40);
    if (box.left < -1 || box.right > right + 1) problems.push("off-screen: " + name);
    const table = one.closest(".table");
    if (!table) continue;
    const edge = table.getBoundingClientRect();
    if (box.right > edge.right + 1 || box.left < edge.left - 1) problems.push("cut off: " + name);
  }
  for (const table of document.querySelectorAll(".table")) {
    if (table.scrollWidth <= table.clientWidth + 1) continue;
    if (right > 760 && !table.closest(".figures")) {
      problems.push("scrolls sideways: " + table.getAttribute("aria-label"));
    }
    const style = getComputedStyle(table);
    if (!/gradient/.test(style.backgroundImage)) {
      problems.push("no cue: " + table.getAttribute("aria-label"));
    }
  }
  for (const cell of document.querySelectorAll("main tbody :is(td, th)")) {
    const isCut = getComputedStyle(cell).overflowX !== "visible";
    if (!isCut && cell.scrollWidth > cell.clientWidth + 1) {
      problems.push("runs into the next cell: " + cell.textContent.trim().slice(0, 40));
    }
  }
  return problems;
}`;

/** Presses Tab until what is focused matches the selector, as somebody without a mouse does. */
export async function tabTo(page: Page, selector: string): Promise<void> {
  const isThere = () =>
    page.evaluate<boolean>(`document.activeElement?.matches(${JSON.stringify(selector)}) ?? false`);
  for (let step = 0; step < 120; step++) {
    if (await isThere()) return;
    await page.keyboard.press("Tab");
  }
  assert.fail(`no Tab leads to ${selector} on ${page.url()}`);
}
