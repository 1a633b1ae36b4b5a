import assert from "@std/assert";
import { allPages } from "../base/all_pages.ts";
import { type CsvColumns, csvFile } from "./csv.ts";

Deno.test("texts that a spreadsheet would run are guarded, what is ours is written exactly", async () => {
  const columns: CsvColumns<string> = {
    text: (text) => text,
    amount_usd: () => ({ nanos: -5_000_000_001n }),
    at: () => new Date("2026-11-21T13:48:00Z"),
    count: () => -3,
    big: () => 9_007_199_254_740_993n,
    is: () => true,
    none: () => null,
  };
  const texts = ["plain", "=1+1", "+1", "-1", "@x", "\tx", 'a "b", c', "two\r\nlines", ""];
  const answer = csvFile("things", columns, texts);
  assert.equal(answer.headers.get("content-disposition"), 'attachment; filename="things.csv"');
  assert.match(answer.headers.get("content-type") ?? "", /^text\/csv/);
  const rest = "-5.000000001,2026-11-21T13:48:00.000Z,-3,9007199254740993,true,";
  const written = [
    ...["plain", "'=1+1", "'+1", "'-1", "'@x", "'\tx", '"a ""b"", c"', '"two\r\nlines"', '""'],
  ].map((text) => `${text},${rest}\r\n`);
  assert.equal(await answer.text(), `text,amount_usd,at,count,big,is,none\r\n${written.join("")}`);
});

Deno.test("a list is written to its last page, each read behind the row before", async () => {
  for (const all of [0, 1, 2, 3, 4, 7]) {
    const asked: (number | undefined)[] = [];
    const pages = allPages((last: number | undefined, limit) => {
      asked.push(last);
      const from = (last ?? 0) + 1;
      const rows = Array.from({ length: limit }, (_, at) => from + at);
      return Promise.resolve(rows.filter((row) => row <= all));
    }, 3);
    const text = await csvFile("numbers", { n: (row: number) => row }, pages).text();
    const numbers = Array.from({ length: all }, (_, at) => `${at + 1}\r\n`);
    assert.equal(text, `n\r\n${numbers.join("")}`);
    assert.equal(asked.length, Math.floor(all / 3) + 1);
  }
});

Deno.test("a long file is written in pieces, between which the process does other work", async () => {
  const rows = Array.from({ length: 2_500 }, (_, at) => at);
  const sizes: number[] = [];
  let lines = 0;
  for await (const bytes of csvFile("numbers", { n: (row: number) => row }, rows).body!) {
    sizes.push(new TextDecoder().decode(bytes).split("\r\n").length - 1);
    lines += sizes.at(-1)!;
  }
  assert.equal(lines, 1 + rows.length);
  assert.deepEqual(sizes.filter((size) => size > 1_000), []);
});
