import assert from "@std/assert";
import { Fault } from "../../src/shared/fault.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import type { Reply } from "../../src/relay/reply.ts";
import type { RelayRequest } from "../../src/relay/relay.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { onPostgres } from "../support/databases.ts";
import { chatAnswer, eachWorld, numberIn, openEvalWorld } from "../support/eval_world.ts";
import { interaction } from "./samples.ts";

const ended = ({ state }: { state: string }) => state !== "queued" && state !== "running";

eachWorld(
  "after a crash another process goes on, and repeats neither judged items nor answered calls",
  async (world, database) => {
    await world.store(10);
    const answer = world.model;
    const stuck: RelayRequest[] = [];
    const { promise: death, resolve: bury } = Promise.withResolvers<Reply>();
    // Calls 3, 5 and 7 are with the vendor when the process dies.
    world.model = (request) => {
      if (![3, 5, 7].includes(numberIn(request.bodyText))) return answer(request);
      stuck.push(request);
      return death;
    };
    const id = await world.create();
    const dead = world.runner();
    dead.wake();
    await world.until(id, ({ counts }) => counts.done === 7 && stuck.length === 3);
    // One of them was answered and recorded: the process died before it was judged.
    const { caller, bodyText } = stuck.find((one) => numberIn(one.bodyText) === 5)!;
    await createAnalyticsStore(database).insert([
      interaction(world.accountId, "txn-answer-5", {
        createdAt: new Date(),
        requestId: caller.requestId,
        endpoint: caller.endpoint,
        status: "completed",
        costNanos: 77n,
        requestText: bodyText,
        responseText: String(chatAnswer("answer 5").body),
      }),
    ]);
    world.model = answer;
    const before = world.calls.length;
    await database.query("update eval_runs set claimed_until = clock_timestamp()");
    world.runner().wake();
    const run = await world.until(id, ended);
    assert.deepEqual([run.state, run.counts.done, run.counts.passed], ["done", 10, 10]);
    const repeated = world.calls.slice(before).map((one) => numberIn(one.bodyText)).sort();
    assert.deepEqual(repeated, [3, 7]);
    assert.equal(run.counts.costNanos, 77n);
    const results = await world.evals.results(world.accountId, id, { limit: 100 });
    assert.equal(results.length, 10);
    assert.equal(results[5]?.answerTransactionId, "txn-answer-5");
    bury(chatAnswer("too late"));
  },
);

eachWorld("what an overtaken process still has to say is not counted", async (world, database) => {
  await world.store(3);
  const answer = world.model;
  const held: (() => void)[] = [];
  world.model = async (request) => {
    await new Promise<void>((resolve) => held.push(resolve));
    return answer(request);
  };
  const id = await world.create();
  const slow = world.runner();
  slow.wake();
  while (held.length < 3) await new Promise((resolve) => setTimeout(resolve, 2));
  await database.query("update eval_runs set claimed_until = clock_timestamp()");
  world.model = answer;
  world.runner().wake();
  const run = await world.until(id, ended);
  for (const release of held) release();
  await slow.tick();
  await slow.close();
  assert.deepEqual((await world.run(id)).counts, run.counts);
  assert.equal(run.counts.done, 3);
  assert.equal((await world.evals.results(world.accountId, id, { limit: 9 })).length, 3);
});

eachWorld("a process that ends gives its run back, to go on at once elsewhere", async (world) => {
  await world.store(20);
  const answer = world.model;
  const aborted: boolean[] = [];
  world.model = (request) =>
    world.calls.length <= 6 ? answer(request) : new Promise((_, reject) => {
      request.caller.signal.addEventListener("abort", () => {
        aborted.push(true);
        request.caller.trace.settled = { costNanos: 7n } as SettledCall;
        reject(new Fault("internal_error"));
      });
    });
  const id = await world.create();
  const first = world.runner();
  first.wake();
  await world.until(id, ({ counts }) => counts.done === 6);
  await first.close();
  assert.ok(aborted.length > 0, "calls under way are ended");
  world.model = answer;
  world.runner().wake();
  const run = await world.until(id, ended);
  assert.deepEqual([run.state, run.counts.passed, run.counts.errors], ["done", 20, 0]);
  assert.equal(run.counts.costNanos, 7n * BigInt(aborted.length), "what was written is counted");
});

eachWorld(
  "an account's runs go one after the other, each item asked once",
  async (world) => {
    await world.store(12);
    const ids = await Promise.all([1, 2, 3].map(() => world.create()));
    const runs = new Set<string>();
    let most = 0;
    const answer = world.model;
    const runner = world.runner();
    world.model = async (request) => {
      const run = request.caller.requestId.split("/")[0]!;
      runs.add(run);
      most = Math.max(most, runs.size);
      await runner.tick();
      runs.delete(run);
      return answer(request);
    };
    runner.wake();
    for (const id of ids) {
      const run = await world.until(id, ended);
      assert.deepEqual([run.state, run.counts.passed], ["done", 12]);
    }
    assert.equal(most, 1);
    assert.equal(world.calls.length, 36);
  },
);

onPostgres("of several processes one works on a run at a time", async (database) => {
  const world = await openEvalWorld(database);
  await world.store(25);
  const runners = [1, 2, 3].map(() => world.runner());
  const answer = world.model;
  world.model = async (request) => {
    await Promise.all(runners.map((runner) => runner.tick()));
    return answer(request);
  };
  const ids = await Promise.all([1, 2].map(() => world.create()));
  for (const runner of runners) runner.wake();
  for (const id of ids) assert.equal((await world.until(id, ended)).counts.passed, 25);
  assert.equal(world.calls.length, 50);
  await world.close();
});
