import assert from "@std/assert";
import { createLabelSumsJob } from "./label_sums.ts";

const hour = 3_600_000;
const day = 24 * hour;
const at = new Date(Date.UTC(2026, 8, 1));

Deno.test("a round takes account after account, in as many runs as it needs, and an hour later the next", async () => {
  let ms = Date.UTC(2026, 8, 3, 1, 10);
  const earlier = [1, 2].map((days) => new Date(at.getTime() - days * day));
  const left = new Map([[1, [at, ...earlier]], [7, [at]], [9, [at]]]);
  const kept: string[] = [];
  let rounds = 0;
  const run = createLabelSumsJob({
    now: () => new Date(ms),
    keeper: {
      accounts(after, limit) {
        if (after === 0) rounds++;
        return Promise.resolve([...left.keys()].filter((id) => id > after).slice(0, limit));
      },
      missing: ({ accountId, span }) =>
        Promise.resolve(span === "day" ? [...left.get(accountId)!] : []),
      store({ accountId }, at) {
        kept.push(`${accountId} ${at.toISOString().slice(0, 10)}`);
        left.get(accountId)!.shift();
        ms += 2_500;
        return Promise.resolve();
      },
      dropHours: () => Promise.resolve(),
    },
  });
  await run();
  assert.deepEqual(kept, ["1 2026-09-01", "1 2026-08-31"], "a run ends when its time is up");
  await run();
  assert.deepEqual(kept.slice(2), ["1 2026-08-30", "7 2026-09-01"]);
  await run();
  assert.deepEqual(kept.slice(4), ["9 2026-09-01"]);
  const roundsBefore = rounds;
  left.get(7)!.push(at);
  await run();
  assert.equal(rounds, roundsBefore, "an hour has not passed");
  ms += hour;
  await run();
  assert.equal(kept.at(-1), "7 2026-09-01");
});

Deno.test("hours and days that are over are kept, hours of four days alone; the next hour's minutes after it", async () => {
  let ms = Date.UTC(2026, 8, 10, 14, 30);
  const asked: string[] = [];
  const text = (time: Date) => time.toISOString().slice(0, 13);
  const run = createLabelSumsJob({
    now: () => new Date(ms),
    keeper: {
      accounts: (after) => Promise.resolve(after === 0 ? [1] : []),
      missing({ span, from, to }) {
        asked.push(`${span} ${text(from)} ${text(to)}`);
        return Promise.resolve([]);
      },
      store: () => Promise.resolve(),
      dropHours(_, before) {
        asked.push(`drop ${text(before)}`);
        return Promise.resolve();
      },
    },
  });
  await run();
  assert.deepEqual(asked, [
    "drop 2026-09-07T00",
    "hour 2026-09-07T00 2026-09-10T14",
    "day 2025-08-06T00 2026-09-10T00",
  ]);
  asked.length = 0;
  ms = Date.UTC(2026, 8, 10, 15, 4);
  await run();
  assert.deepEqual(asked, [], "calls of the hour may be under way");
  ms += 2 * 60_000;
  await run();
  assert.equal(asked[1], "hour 2026-09-07T00 2026-09-10T15");
});

Deno.test("an account whose sums fail is reported, and holds up no other one", async () => {
  const kept: number[] = [];
  let ms = Date.UTC(2026, 8, 3, 1, 10);
  const run = createLabelSumsJob({
    now: () => new Date(ms),
    keeper: {
      accounts: (after) => Promise.resolve([1, 7, 9].filter((id) => id > after)),
      missing: ({ span }) => Promise.resolve(span === "day" ? [at] : []),
      store({ accountId }) {
        if (accountId === 7) throw new Error("a step is damaged");
        kept.push(accountId);
        return Promise.resolve();
      },
      dropHours: () => Promise.resolve(),
    },
  });
  await assert.rejects(run, /damaged/);
  await run();
  assert.deepEqual(kept, [1, 9]);
  ms += hour;
  await assert.rejects(run, /damaged/, "the next round tries it again");
});
