import assert from "@std/assert";
import { systemClock } from "../../src/base/clock.ts";
import type { Database } from "../../src/database/database.ts";
import { createReplays } from "../../src/idempotency/store/replays.ts";
import { eachDatabase, onPostgres } from "../support/databases.ts";
import {
  isConflict,
  never,
  request,
  seen,
  streamRun,
  testProcess,
  wholeRun,
} from "../support/repeats.ts";
import { newAccount } from "./samples.ts";

/** Stands in for one process of the service. */
function processOn(database: Database, processId: string) {
  return testProcess({ store: createReplays(database, { processId }), clock: systemClock });
}

type TestProcess = ReturnType<typeof processOn>;

/** 20 identical requests, spread over the processes; how often they ran, and what was answered. */
async function twenty(processes: readonly TestProcess[], accountId: number, streamed: boolean) {
  let runs = 0;
  const answers = await Promise.all(Array.from({ length: 20 }, async (_, index) => {
    const asked = request({ accountId, requestId: `streamed: ${streamed}` });
    const process = processes[index % processes.length]!;
    const reply = await process.idempotent(asked, async () => {
      const id = `t${++runs}`;
      // Others come meanwhile.
      await new Promise((resolve) => setTimeout(resolve, 50));
      if (!streamed) return wholeRun(asked.trace, id);
      const vendor = streamRun(asked.trace, id);
      for (let piece = 0; piece < 10; piece++) vendor.say(`data: ${id} ${piece}\n\n`);
      vendor.end();
      return vendor.reply;
    });
    return await seen(reply);
  }));
  return { runs, answers };
}

async function check(processes: readonly TestProcess[], accountId: number): Promise<void> {
  for (const streamed of [false, true]) {
    const { runs, answers } = await twenty(processes, accountId, streamed);
    assert.equal(runs, 1);
    assert.equal(new Set(answers.map(({ text }) => text)).size, 1);
    assert.ok(answers[0]!.text.includes("t1"));
    assert.equal(answers.filter(({ replay }) => replay === "true").length, 19);
    assert.ok(answers.every((answer) => answer.streamed === streamed));
    const named = answers.filter(({ transaction }) => transaction === "t1");
    assert.equal(named.length, 19, "replays name the first call");
  }
}

eachDatabase(
  "20 requests at once, whole and streamed, run once and are replayed after a restart",
  async (
    database,
    open,
  ) => {
    const accountId = await newAccount(database);
    await check([processOn(database, "before")], accountId);
    const restarted = processOn(await open(), "after");
    for (const streamed of [false, true]) {
      const asked = request({ accountId, requestId: `streamed: ${streamed}` });
      const answer = await seen(await restarted.idempotent(asked, never));
      assert.deepEqual([answer.replay, answer.streamed], ["true", streamed]);
      const other = { ...asked, bodyText: "{}" };
      await assert.rejects(restarted.idempotent(other, never), isConflict);
    }
  },
);

onPostgres("three processes run 20 requests at once, whole and streamed, once", async (
  database,
  open,
) => {
  const accountId = await newAccount(database);
  const databases = [database, await open(), await open()];
  await check(databases.map((each, index) => processOn(each, `process ${index}`)), accountId);
});

onPostgres("when a process dies another one runs once its claim has expired", async (
  database,
  open,
) => {
  const accountId = await newAccount(database);
  const dying = processOn(database, "dying");
  await new Promise<void>((claimed) =>
    void dying.idempotent(request({ accountId }), () => {
      claimed();
      return new Promise(() => {});
    })
  );
  const other = processOn(await open(), "other");
  const asked = request({ accountId });
  const repeat = other.idempotent(asked, () => Promise.resolve(wholeRun(asked.trace, "t2")));
  let isDone = false;
  void repeat.then(() => isDone = true);
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(isDone, false);
  await database.query("update replays set until = clock_timestamp()", []);
  assert.equal((await seen(await repeat)).text, "answer t2");
});

onPostgres("a process that the store has left goes by what it knows", async (_, open) => {
  const database = await open();
  const accountId = await newAccount(database);
  const process = processOn(database, "a");
  await database.close();
  let runs = 0;
  for (const replay of [undefined, "true"]) {
    const asked = request({ accountId });
    const reply = await process.idempotent(asked, () => {
      runs++;
      return Promise.resolve(wholeRun(asked.trace, "t1"));
    });
    assert.deepEqual(await seen(reply).then((answer) => answer.replay), replay);
  }
  assert.equal(runs, 1);
  assert.deepEqual(process.complaints, []);
});
