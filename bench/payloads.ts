import { searchKeys } from "../src/records/search_tokens.ts";
import type { Database } from "../src/database/database.ts";
import { idOf, timeOf, total } from "./calls.ts";

/** Inserts payloads and their search words; builds the index afterwards, which is faster. */
export async function fillPayloads(database: Database, calls = total): Promise<void> {
  const began = performance.now();
  await database.query("drop index payloads_by_word");
  const portion = 5000;
  for (let from = 0; from < calls; from += portion) {
    const rows = Array.from({ length: portion }, (_, at) => payloadOf(from + at, calls));
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

function payloadOf(n: number, calls: number): Record<string, unknown> {
  const words = [`number${n}`];
  const draw = (within: number) => Math.floor(hash(n * 31 + words.length) * within);
  if (draw(10) < 6) words.push("order");
  if (n < calls / 2) words.push("telegram");
  if (draw(20) === 0) words.push("refund", "please");
  if (draw(200) === 0) words.push("invoice");
  if (draw(20_000) === 0) words.push("zeppelin");
  while (words.length < 40) words.push(`word${draw(200) * draw(100)}`);
  const request = JSON.stringify({ messages: [{ role: "user", content: words.join(" ") }] });
  const response = JSON.stringify({
    choices: [{ index: 0, message: { role: "assistant", content: "Thanks, noted." } }],
  });
  const call = { accountId: n % 20 === 19 ? 2 : 1, createdAt: new Date(timeOf(n, calls)) };
  return {
    ...{
      transaction_id: idOf(n, calls),
      created_at: call.createdAt.toISOString(),
      request,
      response,
    },
    words: searchKeys(call, [request, response]),
  };
}

const payloadSql =
  `insert into interaction_payloads (transaction_id, created_at, request, response, words)
  select * from json_to_recordset($1::text::json) as r(transaction_id text,
    created_at timestamptz, request text, response text, words bigint[])`;

/** Returns a number from 0 to below 1, the same for the same `n`. */
function hash(n: number): number {
  let h = Math.imul(n ^ 0x9e3779b9, 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return ((h ^ (h >>> 16)) >>> 0) / 0x100000000;
}
