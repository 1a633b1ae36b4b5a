import assert from "@std/assert";
import { systemClock } from "../../src/base/clock.ts";
import { createErasureIndex } from "../../src/erasure/erasures.ts";
import { createErasureServices } from "../../src/erasure/wire.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { eachDatabase } from "../support/databases.ts";
import { temporaryDirectory } from "../support/service_files.ts";
import { asked, erase, fullCall, request } from "./erasing.ts";
import { newAccount } from "./samples.ts";

eachDatabase("a process forgets what another one erases, in each of its memories", async (db) => {
  const account = await newAccount(db);
  const analyticsStore = createAnalyticsStore(db);
  await analyticsStore.insert([fullCall(account, "t1"), fullCall(account, "t2")]);
  const forgotten: string[] = [];
  const done: string[] = [];
  const note = (what: string) => Promise.resolve(void done.push(what));
  /** Whether a call in flight is erased, at each compaction. */
  const inFlight: boolean[] = [];
  const clock = systemClock;
  const call = { ...fullCall(account, "in flight"), createdAt: clock.now(), userId: "ann" };
  const processDir = temporaryDirectory("erasures");
  const { erasures } = createErasureServices({
    ...{ database: db, analyticsStore, clock, processDir, processId: "b", exports: undefined },
    log: { info() {}, warn: assert.fail, error: assert.fail },
    newId: () => crypto.randomUUID(),
    erasureIndex: createErasureIndex(clock),
    journal: {
      compact: (isErased) => {
        inFlight.push(isErased!(call));
        return note("compacted");
      },
      eraseRejected: () => note("rejected").then(() => 0),
      removeUnreadable: () => note("unreadable"),
    },
    flushRecords: () => Promise.resolve(),
    compactOthers: () => Promise.resolve(),
    storedResponses: { forget: (ids) => void forgotten.push(...ids.map((id) => `${id}: stored`)) },
    idempotency: {
      erase: (ids) => Promise.resolve(forgotten.push(...ids.map((id) => `${id}: repeated`))),
    },
    retentionUsageDays: undefined,
  });
  await erasures.refresh();
  assert.deepEqual([forgotten, done], [[], []]);
  await erase(db, request(account, { transactionIds: ["t1"] }, { requestedAt: asked }));
  await erasures.refresh();
  assert.deepEqual(forgotten, ["t1: stored", "t1: repeated"]);
  assert.deepEqual([...new Set(done)].sort(), ["compacted", "rejected", "unreadable"]);
  inFlight.length = 0;
  await erase(db, request(account, { userIds: ["ann"] }, { requestedAt: clock.now() }));
  for (let times = 0; times < 3; times++) await erasures.refresh();
  assert.deepEqual(inFlight, [true, false], "once for each tombstone, and then the late writers");
  assert.match(await Deno.readTextFile(`${processDir}/tombstones`), /t1/);
});
