import assert from "@std/assert";
import { columnsOf } from "./export.ts";
import { csvHeader, csvWriter } from "./export_csv.ts";

/** A row of eval_results whose `detail` (text) is this; all else is absent. */
const line = (detail: string | null, rawCells = false) => {
  const cells = columnsOf("eval_results").map(([name]) => name === "detail" ? detail : null);
  return csvWriter("eval_results", rawCells)(cells);
};
const commas = ",".repeat(10);

Deno.test("the header line names the columns in their order and ends by CRLF", () => {
  assert.equal(
    csvHeader("eval_results"),
    "eval_run_id,created_at,account_id,transaction_id,answer_transaction_id,session_id,user_id," +
      "grader,passed,score,detail\r\n",
  );
});

const cells: readonly [what: string, text: string | null, guarded: string, raw: string][] = [
  ["an absent value is nothing", null, "", ""],
  ["an empty text is quoted, so that it is not absent", "", '""', '""'],
  ["plain words are as they are", "plain words", "plain words", "plain words"],
  ["a comma is quoted", "a,b", '"a,b"', '"a,b"'],
  ["quotes are doubled", 'say "x"', '"say ""x"""', '"say ""x"""'],
  ["line ends are kept", "a\r\nb\nc", '"a\r\nb\nc"', '"a\r\nb\nc"'],
  ["=", "=1+1", "'=1+1", "=1+1"],
  ["+", "+1", "'+1", "+1"],
  ["-", "-1", "'-1", "-1"],
  ["@", "@SUM(A1)", "'@SUM(A1)", "@SUM(A1)"],
  ["a tab before a formula", "\t=1", "'\t=1", "\t=1"],
  ["a return before a formula", "\r=1", '"\'\r=1"', '"\r=1"'],
  ["a formula with quotes", '=HYPERLINK("x")', '"\'=HYPERLINK(""x"")"', '"=HYPERLINK(""x"")"'],
  ["= in the middle is no formula", "a=1", "a=1", "a=1"],
];
for (const [what, text, guarded, raw] of cells) {
  Deno.test(`csv: ${what}`, () => {
    assert.equal(line(text), `${commas}${guarded}\r\n`);
    assert.equal(line(text, true), `${commas}${raw}\r\n`);
  });
}

Deno.test("numbers, amounts and times are never guarded: they are ours", () => {
  const values: Record<string, string | number | boolean> = {
    score: -1.5,
    passed: false,
    created_at: "2026-11-21T09:00:00.000Z",
  };
  const row = columnsOf("eval_results").map(([name]) => values[name] ?? null);
  assert.equal(
    csvWriter("eval_results", false)(row),
    ",2026-11-21T09:00:00.000Z,,,,,,,false,-1.5,\r\n",
  );
});
