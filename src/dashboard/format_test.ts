import assert from "@std/assert";
import { exactTime, relativeTime } from "./format.ts";

Deno.test("times read as people say them", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const said = (seconds: number) => relativeTime(new Date(now.getTime() + seconds * 1000), now);
  assert.deepEqual([-1, 1, -60, -3599, 3600, -86_400, 6.99 * 86_400, -400 * 86_400].map(said), [
    "just now",
    "in a moment",
    "1 minute ago",
    "60 minutes ago",
    "in 1 hour",
    "1 day ago",
    "in 7 days",
    "1 year ago",
  ]);
  assert.equal(exactTime(now), "21 Nov 2026, 12:00 UTC");
});
