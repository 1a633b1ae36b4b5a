import assert from "@std/assert";
import {
  exactTime,
  isoDay,
  readTime,
  relativeTime,
  shortText,
  typedTime,
  unknownChoice,
} from "./format.ts";

Deno.test("times read as people say them", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const said = (seconds: number) => relativeTime(new Date(now.getTime() + seconds * 1000), now);
  const days = [-0.999, 6.99, -29.4, -30, -345, -349.9, -350, -400].map((count) => count * 86_400);
  assert.deepEqual([-1, 1, -60, -3569, -3571, 3600, ...days].map(said), [
    "just now",
    "in a moment",
    "1 minute ago",
    "59 minutes ago",
    "1 hour ago",
    "in 1 hour",
    "1 day ago",
    "in 7 days",
    "29 days ago",
    "1 month ago",
    "11 months ago",
    "1 year ago",
    "1 year ago",
    "1 year ago",
  ]);
  assert.equal(exactTime(now), "21 Nov 2026, 12:00 UTC");
});

Deno.test("days are read as people and addresses write them, and are shown the same way everywhere", () => {
  const read = (text: string, hasTime = false) => readTime(text, { hasTime })?.toISOString();
  for (const text of ["2026-11-05", "5 Nov 2026", "05 nov 2026", " 5 November 2026 "]) {
    assert.equal(read(text), "2026-11-05T00:00:00.000Z", text);
    assert.equal(isoDay(text), "2026-11-05");
  }
  const times = [
    "2026-11-05T09:07",
    "5 Nov 2026, 09:07",
    "5 Nov 2026, 09:07 UTC",
    "2026-11-05T09:07Z",
  ];
  for (const text of times) {
    assert.equal(read(text, true), "2026-11-05T09:07:00.000Z", text);
    assert.equal(read(text), undefined, text);
  }
  assert.equal(read("5 Nov 2026", true), "2026-11-05T00:00:00.000Z");
  assert.equal(read("2026-11-05T09:07:30.5", true), "2026-11-05T09:07:30.500Z");
  const wrong = [
    "",
    "31 Feb 2026",
    "2026-02-31",
    "5 Now 2026",
    "11/05/2026",
    "2026-11-05T24:00",
    "x",
  ];
  for (const text of wrong) {
    assert.equal(read(text, true), undefined, text);
    assert.equal(isoDay(text), text);
  }
  const at = new Date("2026-11-05T09:07:00Z");
  assert.equal(typedTime(at, true), "5 Nov 2026, 09:07");
  assert.equal(typedTime(at, false), "5 Nov 2026");
});

Deno.test("a text that is cut ends with an ellipsis, and never in half a character", () => {
  assert.equal(shortText("a short text", 12), "a short text");
  assert.equal(shortText("a short text", 11), "a short tex…");
  assert.equal(shortText("a short text", 8), "a short…");
  assert.equal(shortText("12345👩", 6), "12345…");
  assert.equal(unknownChoice("x".repeat(41), "range"), `“${"x".repeat(40)}…” is not a range.`);
});
