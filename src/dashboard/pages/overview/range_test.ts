import assert from "@std/assert";
import { dayText, rangeQuery, rangeText, readRange, stepOf, stepsOf } from "./range.ts";

const now = new Date("2026-11-21T12:34:56Z");

function read(query: Record<string, string>) {
  return readRange((name) => query[name], now);
}

function ends(query: Record<string, string>) {
  const { key, span, from, to, before } = read(query);
  return [key, span, ...[before, from, to].map((at) => at.toISOString().slice(0, 13))];
}

Deno.test("ranges are whole hours or days that end with the present one", () => {
  assert.deepEqual(ends({ range: "24h" }), [
    ...["24h", "hour", "2026-11-19T13", "2026-11-20T13", "2026-11-21T13"],
  ]);
  assert.deepEqual(ends({ range: "7d" }), [
    ...["7d", "day", "2026-11-08T00", "2026-11-15T00", "2026-11-22T00"],
  ]);
  assert.deepEqual(ends({}), ends({ range: "30d" }));
  assert.deepEqual(ends({ range: "nonsense" }), ends({ range: "30d" }));
  assert.equal(read({ range: "nonsense" }).problem, "“nonsense” is not a range.");
  assert.equal(read({ range: "" }).problem, undefined, "a form's empty field");
  assert.equal(stepsOf(read({ range: "90d" })).length, 90);
});

Deno.test("a range says from when to when it is, for people and prints", () => {
  const textOf = (query: Record<string, string>) => rangeText(read(query));
  assert.equal(textOf({ range: "last-month" }), "1 Oct 2026 to 31 Oct 2026, UTC");
  assert.equal(textOf({ range: "24h" }), "20 Nov 2026, 13:00 UTC to 21 Nov 2026, 13:00 UTC");
  assert.equal(textOf({ from: "2026-11-02", to: "2026-11-02" }), "2 Nov 2026, UTC");
});

Deno.test("this month ends with today, the last one is whole, whatever their lengths", () => {
  assert.deepEqual(ends({ range: "month" }), [
    ...["month", "day", "2026-10-11T00", "2026-11-01T00", "2026-11-22T00"],
  ]);
  assert.deepEqual(ends({ range: "last-month" }), [
    ...["last-month", "day", "2026-08-31T00", "2026-10-01T00", "2026-11-01T00"],
  ]);
  const january = new Date("2026-01-31T23:59:59Z");
  const { from, to } = readRange((name) => name === "range" ? "last-month" : undefined, january);
  assert.deepEqual([dayText(from), dayText(to)], ["2025-12-01", "2026-01-01"]);
});

Deno.test("by default the shortest range that includes the first call is shown", () => {
  const first = (text: string) => readRange(() => undefined, now, new Date(text)).key;
  assert.equal(first("2026-11-21T12:00:00Z"), "24h");
  assert.equal(first("2026-11-20T12:00:00Z"), "7d");
  assert.equal(first("2026-11-01T12:00:00Z"), "30d");
  assert.equal(first("2020-11-01T12:00:00Z"), "30d");
  assert.equal(readRange(() => undefined, now).key, "30d");
});

Deno.test("days of one's own are both included, by hour up to three", () => {
  assert.deepEqual(ends({ from: "2026-11-01", to: "2026-11-03" }), [
    ...["custom", "hour", "2026-10-29T00", "2026-11-01T00", "2026-11-04T00"],
  ]);
  const long = read({ from: "2026-11-01", to: "2026-11-04" });
  assert.equal(long.span, "day");
  assert.deepEqual(rangeQuery(long), { from: "2026-11-01", to: "2026-11-04" });
  assert.equal(read({ from: "2026-11-20" }).to.toISOString(), "2026-11-22T00:00:00.000Z");
});

Deno.test("more than three months are shown by week, the last as far as the range goes", () => {
  assert.equal(read({ from: "2026-08-01", to: "2026-10-31" }).step, "day");
  const range = read({ from: "2026-01-01", to: "2026-04-10" });
  assert.deepEqual([range.span, range.step], ["day", "week"]);
  const steps = stepsOf(range).map(({ from, to }) => [dayText(from), dayText(to)]);
  assert.equal(steps.length, 15);
  assert.deepEqual([steps[0], steps[1]], [["2026-01-01", "2026-01-08"], [
    ...["2026-01-08", "2026-01-15"],
  ]]);
  assert.deepEqual(steps.at(-1), ["2026-04-09", "2026-04-11"]);
  assert.equal(stepOf(range, Date.UTC(2026, 0, 8)), 1);
  assert.equal(stepOf(range, Date.UTC(2026, 3, 10)), 14);
});

Deno.test("an invalid range is reported, and the default one is shown", () => {
  const fieldErrors: Record<string, string>[] = [
    { from: "2026-02-30", to: "2026-03-01" },
    { from: "<script>", to: "2026-03-01" },
    { from: "2026-11-04", to: "2026-11-01" },
    { from: "2027-01-01", to: "2027-01-02" },
    { from: "2020-01-01", to: "2026-01-01" },
    { to: "2026-11-01" },
  ];
  for (const query of fieldErrors) {
    const range = read(query);
    assert.equal(range.key, "30d", JSON.stringify(query));
    assert.match(range.problem ?? "", /\w/, JSON.stringify(query));
  }
});
