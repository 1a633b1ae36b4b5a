import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import type { Log } from "../base/log.ts";
import type { RetentionStore } from "./retention.ts";
import { createJournalRetentionJob, createRetentionJob } from "./retention_job.ts";

const now = new Date("2026-11-21T12:00:00Z");
const noPayloads = {
  partitions: 0,
  payloads: 0,
  mediaRefs: 0,
  storedResponses: 0,
  storedReasoning: 0,
  evalDetails: 0,
};
/** What the store answers when another process is erasing. */
const busy = -1;
const noUsage = { partitions: 0, interactions: 0, evalRuns: 0, evalResults: 0 };

async function run(
  days: { retentionPayloadDays?: number; retentionUsageDays?: number },
  counts: Partial<Record<"payloads" | "interactions", number>> = {},
  failing = "",
  storeNow = now,
) {
  const asked: string[] = [];
  const lines: string[] = [];
  const store: RetentionStore = {
    now: () => Promise.resolve(storeNow),
    ensurePartitions(at) {
      asked.push(`months ${at.toISOString()}`);
      return failing === "" ? Promise.resolve() : Promise.reject(new Error("months fail"));
    },
    erasePayloads: (limit) => {
      asked.push(`payloads ${limit.toISOString()}`);
      if (failing !== "") return Promise.reject(new Error("payloads fail"));
      const { payloads = 0 } = counts;
      return Promise.resolve(payloads === busy ? undefined : { ...noPayloads, payloads });
    },
    eraseUsage: (limit) => {
      asked.push(`usage ${limit.toISOString()}`);
      const { interactions = 0 } = counts;
      return Promise.resolve(interactions === busy ? undefined : { ...noUsage, interactions });
    },
  };
  const log: Log = {
    info: (message, fields) => void lines.push(`${message} ${JSON.stringify(fields)}`),
    warn: () => {},
    error: () => {},
  };
  const ended = createRetentionJob({
    retentionPayloadDays: undefined,
    retentionUsageDays: undefined,
    ...days,
    store,
    clock: new FakeClock(now),
    log,
  })();
  if (failing === "") await ended;
  else await assert.rejects(ended, { message: failing });
  return { asked: asked.slice(1), lines, first: asked[0] };
}

Deno.test("without limits nothing is erased, and months are opened", async () => {
  const { asked, first } = await run({});
  assert.deepEqual(asked, []);
  assert.equal(first, "months 2026-11-21T12:00:00.000Z");
});

Deno.test("days are counted back from now, to the moment", async () => {
  const { asked } = await run({ retentionPayloadDays: 30, retentionUsageDays: 365 });
  assert.deepEqual(asked, ["payloads 2026-10-22T12:00:00.000Z", "usage 2025-11-21T12:00:00.000Z"]);
});

Deno.test("a clock that is ahead, the process's or the database's, erases nothing too early", async () => {
  const yesterday = new Date("2026-11-20T12:00:00Z");
  const behind = await run({ retentionUsageDays: 30 }, {}, "", yesterday);
  assert.equal(behind.asked.at(-1), "usage 2026-10-21T12:00:00.000Z");
  const ahead = await run({ retentionUsageDays: 30 }, {}, "", new Date("2027-11-21T12:00:00Z"));
  assert.equal(ahead.asked.at(-1), "usage 2026-10-22T12:00:00.000Z");
});

Deno.test("no payload outlives its usage row", async () => {
  const limit = "2026-11-11T12:00:00.000Z";
  for (const days of [{}, { retentionPayloadDays: 30 }]) {
    const { asked } = await run({ ...days, retentionUsageDays: 10 });
    assert.deepEqual(asked, [`payloads ${limit}`, `usage ${limit}`]);
  }
});

Deno.test("what was erased is logged as counts, and nothing when there was nothing", async () => {
  const days = { retentionPayloadDays: 30, retentionUsageDays: 365 };
  assert.deepEqual((await run(days)).lines, []);
  assert.deepEqual((await run(days, { payloads: busy, interactions: busy })).lines, []);
  const { lines } = await run(days, { payloads: 7, interactions: 1 });
  assert.equal(lines.length, 2);
  assert.match(lines[0]!, /^old payloads erased .*"payloads":7/);
  assert.match(lines[1]!, /^old usage rows erased .*"interactions":1/);
});

Deno.test("a step that fails keeps no other from its run", async () => {
  const days = { retentionPayloadDays: 30, retentionUsageDays: 365 };
  const { asked, lines } = await run(days, { interactions: 1 }, "months fail");
  assert.deepEqual(asked.map((step) => step.split(" ")[0]), ["payloads", "usage"]);
  assert.equal(lines.length, 1);
});

Deno.test("what lies beside the journal goes by the same limits, whatever the store does", async () => {
  const asked: unknown[] = [];
  const lines: string[] = [];
  const run = (days: { retentionPayloadDays?: number; retentionUsageDays?: number }) =>
    createJournalRetentionJob({
      ...{ retentionPayloadDays: undefined, retentionUsageDays: undefined, ...days },
      journal: {
        expire: (limits) => {
          asked.push(limits);
          return Promise.resolve({ rejected: 2, unreadableFiles: 0 });
        },
      },
      clock: new FakeClock(now),
      log: { info: (message) => void lines.push(message), warn: () => {}, error: () => {} },
    })();
  await run({});
  await run({ retentionPayloadDays: 30 });
  await run({ retentionUsageDays: 10 });
  const [month, days] = [new Date("2026-10-22T12:00:00Z"), new Date("2026-11-11T12:00:00Z")];
  assert.deepEqual(asked, [
    { payloadsBefore: month, rowsBefore: undefined },
    { payloadsBefore: days, rowsBefore: days },
  ]);
  assert.deepEqual(lines, Array(2).fill("old rejected records erased"));
});
