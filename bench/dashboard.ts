import { createHash } from "node:crypto";
import { searchKeys } from "../src/domain/search_words.ts";
import type { Database } from "../src/store/database.ts";
import { end, fill, span, step, total } from "./list.ts";
import { benchPagesOf, timePage } from "./pages_bench.ts";
import { printTable } from "./table.ts";

const runs = 40;
const list = "/dashboard/interactions";

/**
 * The pages on interactions with a million rows that say something. The promise is 50 ms (issue 7).
 */
export async function benchDashboard(): Promise<void> {
  await benchPagesOf(fillAll, async (kind, browser) => {
    const rows = [[`a page of ${total} interactions`, "p95", "median", "rows"]];
    for (const [name, path] of Object.entries(pages())) {
      const { p95, median, text } = await timePage(browser, path, runs);
      rows.push([name, p95, median, String(text.match(/data-id=/g)?.length ?? 0)]);
    }
    printTable(`${kind}: ${runs} runs`, rows);
  });
}

/** What people may ask for; the values are those that `fill` and `fillPayloads` write. */
function pages(): Record<string, string> {
  const deep = end - 999 * 50 * step;
  const queries: Record<string, string> = {
    "first page": "",
    "page 1000": `before=${Math.floor(deep)}.8`,
    "back from page 1000": `after=${Math.floor(deep)}.8`,
    "status failed": "status=failed",
    "vendor": "vendor=vendor-c",
    "rare vendor": "vendor=vendor-z",
    "model": "model=model+3",
    "rare model": "model=model+rare",
    "two models": "model=model+3&model=model+4",
    "app": "app=app+3",
    "rare app": "app=app+rare",
    "key": "key=key+3",
    "cohort": "cohort=cohort+7",
    "frequent user": "user=everybody",
    "rare user": "user=user+77777",
    "unknown user": "user=nobody",
    "session": "session=session+4242",
    "one day a month ago": `from=${dayText(-31)}&to=${dayText(-30)}`,
    "cost, 1 of 1000": "cost_min=0.00999",
    "cost, 1 of 2": "cost_min=0.005",
    "cost, none": "cost_min=5",
    "latency, 1 of 31": "latency_min=30000",
    "latency, none": "latency_min=900000",
    "cost and model": "cost_min=0.00999&model=model+3",
    "search: in 6 of 10": "q=order",
    "search: in 1 of 20": "q=refund",
    "search: in 1 of 200": "q=invoice",
    "search: in 1 of 20,000": "q=zeppelin",
    "search: one call, old": "q=number1234",
    "search: never said": "q=nowhere",
    "search: two words": "q=refund+invoice",
    "search: common and rare": "q=order+number900001",
    "search: phrase": "q=%22refund+please%22",
    "search: page 2": `q=invoice&before=${Math.floor(end - 5 * 86_400_000)}.8`,
    "search and rare user": "q=order&user=user+77777",
    "search and model": "q=invoice&model=model+3",
    "search and cost": "q=refund&cost_min=0.00999",
  };
  return {
    ...Object.fromEntries(
      Object.entries(queries).map(([name, query]) => [name, query ? `${list}?${query}` : list]),
    ),
    "newest rows, for the script": `${list}/newest`,
    "one call": `${list}/${idOf(950_001)}`,
    "one call, old": `${list}/${idOf(1001)}`,
  };
}

function dayText(days: number): string {
  return new Date(end + days * 86_400_000).toISOString().slice(0, 10);
}

function timeOf(n: number): number {
  return end - span + Math.floor(n * step);
}

/** As `fill` writes it. */
function idOf(n: number): string {
  const digest = createHash("md5").update(String(n)).digest("hex");
  return `${timeOf(n).toString(16).padStart(12, "0")}-${digest}`;
}

async function fillAll(database: Database): Promise<void> {
  await fill(database);
  await fillPayloads(database);
}

/** Payloads with their words; the index is made afterwards, which is faster. */
async function fillPayloads(database: Database): Promise<void> {
  const began = performance.now();
  await database.query("drop index payloads_by_word");
  const portion = 5000;
  for (let from = 0; from < total; from += portion) {
    const rows = Array.from({ length: portion }, (_, at) => payloadOf(from + at));
    await database.query(payloadSql, [JSON.stringify(rows)]);
  }
  await database.query(
    `set maintenance_work_mem = '256MB';
     create index payloads_by_word on interaction_payloads using gin (words)
       with (gin_pending_list_limit = 1024)`,
  );
  if (database.kind === "postgres") await database.query("analyze", []);
  console.log(`payloads in ${((performance.now() - began) / 1000).toFixed(0)} s`);
}

function payloadOf(n: number): Record<string, unknown> {
  const words = [`number${n}`];
  const draw = (within: number) => Math.floor(hash(n * 31 + words.length) * within);
  if (draw(10) < 6) words.push("order");
  if (draw(20) === 0) words.push("refund", "please");
  if (draw(200) === 0) words.push("invoice");
  if (draw(20_000) === 0) words.push("zeppelin");
  while (words.length < 40) words.push(`word${draw(200) * draw(100)}`);
  const request = JSON.stringify({ messages: [{ role: "user", content: words.join(" ") }] });
  const response = JSON.stringify({
    choices: [{ index: 0, message: { role: "assistant", content: "Thanks, noted." } }],
  });
  const call = { accountId: n % 20 === 19 ? 2 : 1, createdAt: new Date(timeOf(n)) };
  return {
    ...{ transaction_id: idOf(n), created_at: call.createdAt.toISOString(), request, response },
    words: searchKeys(call, [request, response]),
  };
}

const payloadSql =
  `insert into interaction_payloads (transaction_id, created_at, request, response, words)
  select * from json_to_recordset($1::text::json) as r(transaction_id text,
    created_at timestamptz, request text, response text, words bigint[])`;

/** From 0 to 1, the same for the same number. */
function hash(n: number): number {
  let h = Math.imul(n ^ 0x9e3779b9, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return ((h ^ (h >>> 16)) >>> 0) / 0x100000000;
}
