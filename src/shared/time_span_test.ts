import assert from "@std/assert";
import { Fault } from "./fault.ts";
import { startOfDay, startOfMonth, timeSpan } from "./time_span.ts";

Deno.test("a side that is not named stays open", () => {
  assert.deepEqual(timeSpan({}), {});
  const start = "2026-11-21T10:00:00+02:00";
  assert.deepEqual(timeSpan({ start_date: start }), { start: new Date("2026-11-21T08:00:00Z") });
});

Deno.test("a day as an end is included whole, a time is not included", () => {
  const start = new Date("2026-11-21T00:00:00Z");
  const ends = { "2026-11-21": "2026-11-22T00:00:00Z", "2026-11-21T10:00:00Z": undefined };
  for (const [end_date, end = end_date] of Object.entries(ends)) {
    assert.deepEqual(timeSpan({ start_date: "2026-11-21", end_date }), {
      start,
      end: new Date(end),
    });
  }
  assert.deepEqual(timeSpan({ end_date: "2026-12-31" }), { end: new Date("2027-01-01T00:00:00Z") });
});

Deno.test("days and months begin in UTC", () => {
  const last = new Date("2026-12-31T23:59:59.999Z");
  assert.equal(startOfDay(last).toISOString(), "2026-12-31T00:00:00.000Z");
  const months = [-12, -1, 0, 1, 2].map((later) => startOfMonth(last, later).toISOString());
  assert.deepEqual(
    months.map((month) => month.slice(0, 10)),
    ["2025-12-01", "2026-11-01", "2026-12-01", "2027-01-01", "2027-02-01"],
  );
  assert.deepEqual(startOfMonth(new Date("2024-02-29T12:00:00Z")), new Date("2024-02-01"));
});

Deno.test("an end that is not after the start names end_date", () => {
  const day = "2026-11-21T00:00:00Z";
  assert.throws(
    () => timeSpan({ start_date: day, end_date: day }),
    (thrown: Fault) => thrown.code === "invalid_value" && thrown.param === "end_date",
  );
});

Deno.test("an invalid span has an error text that forms can show", () => {
  const cases = [
    [{ start_date: "2026-11-20", end_date: "2026-11-10" }, "the last day is before the first."],
    [
      { start_date: "2026-11-20T00:00:00Z", end_date: "2026-11-10" },
      "the end is not after the start.",
    ],
  ] as const;
  for (const [span, message] of cases) {
    assert.throws(() => timeSpan(span), { message: `end_date: ${message}` });
  }
});

Deno.test("times at the ends of the calendar become ones that a database can store", () => {
  const span = timeSpan({
    start_date: "0000-01-01T00:00:00+14:00",
    end_date: "9999-12-31T23:59:59-12:00",
  });
  assert.equal(span.start?.toISOString(), "0001-01-02T00:00:00.000Z");
  assert.equal(span.end?.toISOString(), "9999-12-31T00:00:00.000Z");
});
