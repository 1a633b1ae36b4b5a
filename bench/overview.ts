import { end, fill } from "./list.ts";
import { benchPagesOf, timePage } from "./pages_bench.ts";
import { printTable } from "./table.ts";

const runs = 60;
const day = 24 * 60 * 60 * 1000;

/**
 * The overview of a million calls in the 90 days before `end`; the promise is 50 ms (issue 7).
 */
export async function benchOverview(): Promise<void> {
  await benchPagesOf(fill, async (kind, browser) => {
    const rows = [["overview of 1,000,000 calls", "p95", "median"]];
    for (const days of [1, 3, 7, 30, 90]) {
      const [from, to] = [end - days * day, end - day].map(dayText);
      for (const by of ["model", "key"]) {
        const path = `/dashboard/overview?from=${from}&to=${to}&by=${by}`;
        const { p95, median } = await timePage(browser, path, runs);
        rows.push([`${days} day${days === 1 ? "" : "s"} by ${by}`, p95, median]);
      }
    }
    printTable(`${kind}: ${runs} runs`, rows);
  });
}

function dayText(ms: number): string {
  return new Date(ms).toISOString().slice(0, "2026-11-21".length);
}
