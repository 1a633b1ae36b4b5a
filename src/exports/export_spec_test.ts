import assert from "@std/assert";
import { exportRequest } from "../../contracts/data/exports.ts";
import { readExportSpec } from "./export_spec.ts";
import type { Fault } from "../shared/fault.ts";

const read = (body: Record<string, unknown>, hasBucket = false) =>
  readExportSpec(exportRequest.parse(body), { accountId: 7, hasBucket });

const spans: readonly [Record<string, unknown>, string | undefined, string | undefined][] = [
  [
    { range: { start: "2026-01-01", end: "2026-01-31" } },
    "2026-01-01T00:00:00.000Z",
    "2026-02-01T00:00:00.000Z",
  ],
  [
    { range: { start: "2026-01-01", end: "2026-01-01" } },
    "2026-01-01T00:00:00.000Z",
    "2026-01-02T00:00:00.000Z",
  ],
  [{ start_date: "2026-01-01T05:30:00+05:30" }, "2026-01-01T00:00:00.000Z", undefined],
  [{ end_date: "2026-01-01T00:00:00Z" }, undefined, "2026-01-01T00:00:00.000Z"],
  // What the database can't say is as far as it can.
  [
    { range: { start: "0000-01-01", end: "9999-12-31" } },
    "0001-01-02T00:00:00.000Z",
    "9999-12-31T00:00:00.000Z",
  ],
];
for (const [body, start, end] of spans) {
  Deno.test(`${JSON.stringify(body)} reads from ${start} to ${end}`, () => {
    const { spec } = read(body);
    assert.deepEqual([spec.start?.toISOString(), spec.end?.toISOString()], [start, end]);
  });
}

const from = { start_date: "2026-01-01T00:00:00Z" };
const range = { range: { start: "2026-01-01", end: "2026-01-02" } };

Deno.test("the form and the bucket decide how it is delivered, unless the request does", () => {
  const delivered = (body: Record<string, unknown>, hasBucket: boolean) =>
    read(body, hasBucket).delivery;
  assert.deepEqual(
    [
      delivered(range, false),
      delivered(from, false),
      delivered(range, true),
      delivered(from, true),
    ],
    ["job", "stream", "job", "bucket"],
  );
  for (const delivery of ["job", "stream", "bucket"]) {
    for (const body of [range, from]) {
      assert.equal(delivered({ ...body, delivery }, true), delivery);
    }
  }
});

Deno.test("a table that is named twice is one", () => {
  const tables = ["eval_runs", "eval_runs"];
  assert.deepEqual(read({ ...from, format: "csv", tables }).spec.tables, ["eval_runs"]);
});

const refused: readonly [string, Record<string, unknown>, string][] = [
  ["neither form", {}, "start_date"],
  ["both forms", { ...range, ...from }, "range"],
  ["an end before the start", { range: { start: "2026-01-02", end: "2026-01-01" } }, "range.end"],
  ["an end at the start", { ...from, end_date: from.start_date }, "end_date"],
  [
    "csv of two tables",
    { ...from, format: "csv", tables: ["interactions", "eval_runs"] },
    "tables",
  ],
  ["a bucket where there is none", { ...from, delivery: "bucket" }, "delivery"],
  ["another table's column", { ...from, filters: { passed: true } }, "filters.passed"],
  ["another account", { ...from, filters: { account_id: 8 } }, "filters.account_id"],
  [
    "another account among others",
    { ...from, filters: { account_id: [7, 8] } },
    "filters.account_id",
  ],
];
for (const [what, body, param] of refused) {
  Deno.test(`refused: ${what}, naming ${param}`, () => {
    assert.throws(() => read(body), (thrown: unknown) => {
      const fault = thrown as Fault;
      assert.equal(fault.param, param);
      assert.ok(fault.message.startsWith(`${param}: `), fault.message);
      return true;
    });
  });
}

Deno.test("a column that one of the tables has may be asked for; the own account always", () => {
  const { spec } = read({
    ...from,
    tables: ["interactions", "eval_results"],
    filters: { passed: true, account_id: 7 },
  });
  assert.deepEqual(spec.filters, { passed: true });
});
