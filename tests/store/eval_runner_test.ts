import assert from "@std/assert";
import type { Grader } from "../../contracts/data/eval_request.ts";
import type { EvalRun } from "../../src/evals/eval.ts";
import { systemClock } from "../../src/base/clock.ts";
import { Fault } from "../../src/shared/fault.ts";
import type { SettledCall } from "../../src/shared/interaction.ts";
import type { RelayRequest } from "../../src/relay/relay.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { interaction } from "./samples.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import type { Database } from "../../src/database/database.ts";
import { chatAnswer, eachWorld, numberIn } from "../support/eval_world.ts";

const ended = ({ state }: { state: string }) => state !== "queued" && state !== "running";

/** Lets runs that wait go on now. */
async function passTime(database: Database): Promise<void> {
  await database.query(
    "update eval_runs set next_at = clock_timestamp() where next_at is not null",
  );
}

eachWorld(
  "each stored call is asked once of the other model, and judged by each grader",
  async (world) => {
    await world.store(7, (n) => ({ userId: `u-${n}`, sessionId: "s", cohortId: "c" }));
    world.model = ({ bodyText }) => chatAnswer(`answer ${numberIn(bodyText) % 5}`);
    const graders: Grader[] = [
      { type: "exact" },
      { type: "contains", value: "answer" },
      { type: "regex", pattern: "^ANSWER [0-3]$", flags: "i" },
    ];
    const id = await world.create({ graders });
    world.runner().wake();
    const run = await world.until(id, ended);
    assert.equal(run.state, "done");
    // 5 and 6 are answered "answer 0" and "answer 1"; 4 is not in the pattern.
    const { total, done, passed, failed, skipped, errors } = run.counts;
    assert.deepEqual([total, done, passed, failed, skipped, errors], [7, 7, 4, 3, 0, 0]);
    assert.deepEqual(world.calls.map(({ bodyText }) => numberIn(bodyText)).sort(), [
      ...[0, 1, 2, 3, 4, 5, 6],
    ]);
    const results = await world.evals.results(world.accountId, id, { limit: 100 });
    assert.equal(results.length, 21);
    assert.deepEqual(
      results.slice(12, 18).map(({ transactionId, graderIndex, passed, score, userId }) => [
        ...[transactionId, graderIndex, passed, score, userId],
      ]),
      [
        ["txn-0004", 0, true, 1, "u-4"],
        ["txn-0004", 1, true, 1, "u-4"],
        ["txn-0004", 2, false, 0, "u-4"],
        ["txn-0005", 0, false, 0, "u-5"],
        ["txn-0005", 1, true, 1, "u-5"],
        ["txn-0005", 2, true, 1, "u-5"],
      ],
    );
    for (const { caller } of world.calls) {
      assert.equal(caller.endpoint, "/api/v1/evals");
      assert.equal(caller.sessionId, "s");
      assert.match(caller.userId ?? "", /^u-\d$/);
      assert.equal(caller.principal.key.id, world.keyId);
    }
  },
);

eachWorld("results have the time of the process that made them, as deletions do", async (world) => {
  await world.store(1);
  // Behind the database's clock.
  const at = new Date(Date.now() - 60_000);
  world.clock = { ...systemClock, now: () => at };
  const id = await world.create();
  world.runner().wake();
  await world.until(id, ended);
  const results = await world.evals.results(world.accountId, id, { limit: 100 });
  assert.deepEqual(results.map(({ createdAt }) => createdAt), [at]);
});

eachWorld(
  "without credit a run waits, asks no more meanwhile, and goes on where it was",
  async (world, database) => {
    await world.store(12);
    let credit = 5;
    let refused = 0;
    const answer = world.model;
    world.model = (request) => {
      if (credit-- > 0) return answer(request);
      refused++;
      throw new Fault("insufficient_credits");
    };
    const id = await world.create();
    const runner = world.runner();
    runner.wake();
    const waiting = await world.until(id, (run) => run.waiting !== null);
    assert.equal(waiting.state, "running");
    assert.equal(waiting.waiting?.for, "insufficient_credits");
    assert.equal(waiting.counts.done, 5);
    // Only those that were under way at the same time.
    assert.ok(refused <= 4, String(refused));
    const asked = world.calls.length;
    for (let look = 0; look < 5; look++) await runner.tick();
    assert.equal(world.calls.length, asked, "it doesn't spin");
    // A day's wait that ends in an answer counts no longer.
    await database.query(
      "update eval_runs set waiting_since = waiting_since - interval '25 hours'",
    );
    credit = 2;
    await passTime(database);
    await runner.tick();
    await world.until(id, (run) => run.counts.done === 7 && run.waiting !== null);
    credit = 100;
    await passTime(database);
    await runner.tick();
    const run = await world.until(id, ended);
    assert.deepEqual([run.state, run.counts.passed, run.counts.errors], ["done", 12, 0]);
    assert.equal(world.calls.length - refused, 12, "nothing was asked twice");
  },
);

eachWorld(
  "a run looks for credit at growing intervals, and is given up after a day, with the reason",
  async (world, database) => {
    await world.store(2);
    let calledMs = 0;
    world.model = () => {
      calledMs = Date.now();
      throw new Fault("spend_cap_exceeded");
    };
    const id = await world.create();
    const runner = world.runner();
    runner.wake();
    await world.until(id, (run) => run.waiting !== null);
    const pauseOf = (run: EvalRun) => (Number(run.waiting?.until) - calledMs) / 1000;
    for (const [waited, pause] of [[0, 2], [20, 20], [7200, 60]] as const) {
      const ago = `waiting_since - interval '${waited} seconds'`;
      await database.query(`update eval_runs set waiting_since = ${ago}`);
      await passTime(database);
      const before = world.calls.length;
      await runner.tick();
      const run = await world.until(id, (one) => world.calls.length > before && pauseOf(one) > 0);
      // What a busy machine takes meanwhile counts twice, and makes it no other interval.
      const seconds = pauseOf(run);
      assert.ok(seconds >= pause - 2 && seconds < pause + 15, `${seconds} s after ${waited} s`);
    }
    await database.query(
      "update eval_runs set waiting_since = waiting_since - interval '25 hours'",
    );
    await passTime(database);
    await runner.tick();
    const run = await world.until(id, ended);
    assert.deepEqual([run.state, run.error?.code, run.waiting], [
      "failed",
      "spend_cap_exceeded",
      null,
    ]);
  },
);

eachWorld(
  "a call takes a token of the account's rate; none left, or little, and the run rests",
  async (world, database) => {
    await world.store(6);
    let tokens = 0;
    world.rate = () =>
      tokens-- > 0 ? { remaining: tokens } : { admitted: false, retryAfterSeconds: 7 };
    const id = await world.create();
    const runner = world.runner();
    const wokenMs = Date.now();
    runner.wake();
    const dry = await world.until(id, (run) => run.waiting !== null);
    assert.equal(world.calls.length, 0);
    const seconds = (Number(dry.waiting?.until) - wokenMs) / 1000;
    // How long a busy machine takes to ask for the token is not judged.
    assert.ok(seconds > 6.5 && seconds < 60, `${seconds} s`);
    // 60 a minute: with fewer than six left, one round of calls and a rest.
    tokens = 5;
    await passTime(database);
    await runner.tick();
    const run = await world.until(id, ({ counts, waiting }) => counts.done > 0 && waiting !== null);
    assert.ok(run.counts.done <= 4, `${run.counts.done} calls before the rest`);
    assert.equal(run.waiting?.for, "rate_limit_exceeded");
  },
);

eachWorld(
  "a vendor that is overloaded is tried four times for one interaction, at growing intervals",
  async (world, database) => {
    await world.store(1);
    let calledMs = 0;
    world.model = ({ caller: { trace } }) => {
      calledMs = Date.now();
      // It billed what it wrote until it broke off.
      trace.settled = { costNanos: 7n } as SettledCall;
      throw new Fault("upstream_overloaded");
    };
    const id = await world.create();
    const runner = world.runner();
    runner.wake();
    const pauses: number[] = [];
    for (let tries = 1; tries < 4; tries++) {
      const run = await world.until(
        id,
        ({ waiting }) => waiting !== null && world.calls.length === tries,
      );
      pauses.push((Number(run.waiting?.until) - calledMs) / 1000);
      await passTime(database);
      await runner.tick();
    }
    const run = await world.until(id, ended);
    assert.deepEqual([run.state, run.counts.errors, world.calls.length], ["done", 1, 4]);
    assert.equal(run.counts.costNanos, 28n, "all four were paid for");
    const grow = pauses.every((pause, at) => pause > 2 ** (at + 1) - 0.5 && pause < 2 ** (at + 2));
    assert.ok(grow && pauses.length === 3, `pauses of ${pauses} s instead of 2, 4 and 8`);
    const [result] = await world.evals.results(world.accountId, id, { limit: 9 });
    assert.equal(result?.passed, null);
    assert.match(result?.detail ?? "", /^upstream_overloaded: no answer after 4 tries/);
  },
);

eachWorld(
  "pauses for credit are no tries: after five of them an overloaded vendor is asked again",
  async (world, database) => {
    await world.store(1);
    const answer = world.model;
    world.model = (request) => {
      if (world.calls.length <= 5) throw new Fault("insufficient_credits");
      if (world.calls.length <= 8) throw new Fault("upstream_overloaded");
      return answer(request);
    };
    const id = await world.create();
    const runner = world.runner();
    for (let calls = 1; calls <= 9; calls++) {
      await passTime(database);
      await runner.tick();
      await world.until(
        id,
        (run) => ended(run) || world.calls.length === calls && run.waiting !== null,
      );
    }
    const { counts } = await world.run(id);
    assert.deepEqual([counts.passed, counts.errors, world.calls.length], [1, 0, 9]);
  },
);

eachWorld(
  "what answers cost is counted once, also where the run is cancelled while their judge waits",
  async (world, database) => {
    const answer = world.model;
    const records = createAnalyticsStore(database);
    let hasCredit = false;
    world.model = async (request) => {
      const { bodyText, caller } = request;
      if (bodyText.includes("Criterion:")) {
        if (!hasCredit) throw new Fault("insufficient_credits");
        return chatAnswer('{"passed": true, "score": 1, "reason": ""}');
      }
      const reply = await answer(request);
      const requestId = caller.requestId;
      const row = interaction(world.accountId, `call of ${requestId}`, {
        ...{ requestId, status: "completed", costNanos: 7n, createdAt: new Date() },
        responseText: String(reply.body),
      });
      await records.insert([row]);
      caller.trace.transactionId = row.transactionId;
      caller.trace.settled = row;
      return reply;
    };
    await world.store(2);
    const judge: Grader = { type: "judge", model: "vendor-b/judge", prompt: "Is it right?" };
    const [cancelled, resumed] = [
      await world.create({ graders: [judge] }),
      await world.create({ graders: [judge] }),
    ];
    const runner = world.runner();
    for (const id of [cancelled, resumed]) {
      runner.wake();
      await world.until(id, (run) => run.waiting !== null);
    }
    await world.evals.cancel(world.accountId, cancelled);
    hasCredit = true;
    await passTime(database);
    await runner.tick();
    await world.until(resumed, ended);
    for (const id of [cancelled, resumed]) {
      const { counts } = await world.run(id);
      assert.equal(counts.costNanos, 14n);
    }
  },
);

eachWorld("what no call can mend ends the run at once", async (world) => {
  await world.store(30);
  world.model = () => {
    throw new Fault("permission_denied", { message: "model: this API key may not call it." });
  };
  const id = await world.create();
  world.runner().wake();
  const run = await world.until(id, ended);
  assert.deepEqual([run.state, run.counts.done], ["failed", 0]);
  assert.deepEqual(run.error, {
    code: "permission_denied",
    message: "model: this API key may not call it.",
  });
  assert.ok(world.calls.length <= 4);
});

eachWorld(
  "a judge that can't be asked ends the run; what its answers cost is counted",
  async (world) => {
    await world.store(30);
    const answer = world.model;
    let answers = 0;
    world.model = (request) => {
      if (request.bodyText.includes("Criterion:")) {
        throw new Fault(
          "upstream_authentication_failed",
        );
      }
      answers++;
      request.caller.trace.settled = { costNanos: 7n } as SettledCall;
      return answer(request);
    };
    const judge: Grader = { type: "judge", model: "vendor-b/judge", prompt: "Is it right?" };
    const id = await world.create({ graders: [judge] });
    world.runner().wake();
    const run = await world.until(id, ended);
    assert.deepEqual([run.state, run.error?.code, run.counts.done], [
      "failed",
      "upstream_authentication_failed",
      0,
    ]);
    assert.equal(run.counts.costNanos, 7n * BigInt(answers));
  },
);

eachWorld(
  "an internal error ends the interaction; what its calls cost before is counted",
  async (world) => {
    await world.store(3);
    world.model = ({ bodyText, caller: { trace } }) => {
      trace.settled = { costNanos: 7n } as SettledCall;
      if (bodyText.includes("Criterion:")) {
        return chatAnswer('{"passed": true, "score": 1, "reason": ""}');
      }
      if (numberIn(bodyText) === 0) throw new TypeError("in the relay");
      if (numberIn(bodyText) === 1) return { status: 200, headers: {}, body: "{}" };
      return chatAnswer("answer 2");
    };
    const judge: Grader = { type: "judge", model: "vendor-b/judge", prompt: "Is it right?" };
    const broken = { ...judge, prompt: undefined } as unknown as Grader;
    const id = await world.create({ graders: [judge, broken] });
    world.runner().wake();
    const { counts } = await world.until(id, ended);
    assert.deepEqual([counts.errors, counts.costNanos], [3, 28n]);
    assert.equal(world.log.filter((line) => /could not be evaluated/.test(line)).length, 3);
    const results = await world.evals.results(world.accountId, id, { limit: 9 });
    assert.deepEqual(results.map(({ passed }) => passed), [null, null, null, null, true, null]);
  },
);

eachWorld("one refused request is one error; twenty in a row end the run", async (world) => {
  await world.store(120);
  const answer = world.model;
  world.model = (request) => {
    const n = numberIn(request.bodyText);
    if (n < 30 && n % 3 !== 0) return answer(request);
    throw new Fault("context_length_exceeded");
  };
  const id = await world.create();
  world.runner().wake();
  const run = await world.until(id, ended);
  assert.equal(run.state, "failed");
  assert.equal(run.error?.code, "context_length_exceeded");
  assert.equal(run.counts.passed, 20);
  // Four run at a time: a late answer makes the row start over.
  assert.ok(run.counts.errors >= 30 && run.counts.errors < 60, String(run.counts.errors));
});

eachWorld(
  "a revoked key cancels its run; a cancelled run makes no further call",
  async (world, database) => {
    await world.store(40);
    const answer = world.model;
    world.model = async (request) => {
      if (world.calls.length === 4) await createApiKeys(database).revoke(world.keyId);
      return answer(request);
    };
    const id = await world.create();
    world.runner().wake();
    const run = await world.until(id, ended);
    assert.deepEqual([run.state, run.error?.code], ["cancelled", "invalid_api_key"]);
    assert.ok(world.calls.length < 12, String(world.calls.length));
    assert.equal(run.counts.done, world.calls.length, "what was asked was judged");
  },
);

eachWorld(
  "cancelling in the middle ends a run; what was asked keeps its results",
  async (world) => {
    await world.store(40);
    const answer = world.model;
    let id = "";
    world.model = async (request) => {
      if (world.calls.length === 6) await world.evals.cancel(world.accountId, id);
      return answer(request);
    };
    id = await world.create();
    const runner = world.runner();
    runner.wake();
    const run = await world.until(id, ended);
    assert.equal(run.state, "cancelled");
    // Calls under way end. A call whose item was just being read is still made.
    for (let asked = -1; asked !== world.calls.length;) {
      asked = world.calls.length;
      await world.until(id, ({ counts }) => counts.done === world.calls.length);
      for (let look = 0; look < 5; look++) await runner.tick();
    }
    assert.ok(world.calls.length < 14, String(world.calls.length));
  },
);

eachWorld(
  "what can't be asked again is skipped with the reason, and costs nothing",
  async (world, database) => {
    await world.store(8, (n) =>
      [
        {},
        { payloadTruncated: true },
        { requestText: null },
        { dialect: "images" },
        { requestText: '{"messages": 3}' },
        { status: "failed" as const, responseText: '{"error": {}}' },
        {},
        { requestText: '{"messages": [], "tools": [{"type": "mcp", "authorization": "***"}]}' },
      ][n]!);
    const id = await world.create();
    await database.query("delete from interactions where transaction_id = 'txn-0006'");
    world.runner().wake();
    const run = await world.until(id, ended);
    assert.deepEqual([run.counts.passed, run.counts.skipped, run.counts.done], [1, 7, 8]);
    assert.equal(world.calls.length, 1);
    const items = await database.query("select reason from eval_items order by position");
    assert.deepEqual(items.map(({ reason }) => reason), [
      null,
      "payload_truncated",
      "payload_erased",
      "not_a_conversation",
      "request_not_repeatable",
      "no_stored_answer",
      "erased",
      "credentials_not_recorded",
    ]);
    const results = await world.evals.results(world.accountId, id, { limit: 100 });
    assert.equal(results.length, 7, "of an erased interaction nothing is drawn");
    assert.deepEqual(results.map(({ detail }) => detail).slice(1, 3), [
      "skipped: payload_truncated",
      "skipped: payload_erased",
    ]);
  },
);

eachWorld(
  "erased while its call is under way, an interaction leaves no result",
  async (world, database) => {
    await world.store(1);
    const answer = world.model;
    world.model = async (request) => {
      await database.query("delete from interactions");
      return answer(request);
    };
    const id = await world.create();
    world.runner().wake();
    assert.equal((await world.until(id, ended)).counts.done, 1);
    assert.deepEqual(await world.evals.results(world.accountId, id, { limit: 9 }), []);
  },
);

eachWorld("a run that is erased while it is worked on is let go", async (world, database) => {
  await world.store(30);
  const answer = world.model;
  world.model = async (request) => {
    if (world.calls.length === 5) await database.query("delete from eval_runs");
    return answer(request);
  };
  const id = await world.create();
  const runner = world.runner();
  runner.wake();
  while (await world.evals.find(world.accountId, id)) {
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await runner.close();
  // Of 30: those under way when the database was asked, and a few that began meanwhile.
  assert.ok(world.calls.length < 20, String(world.calls.length));
  const left = await database.query("select 1 from eval_results");
  assert.ok(left.length <= 8);
});

eachWorld("a judge's verdict counts; one that is none is an error", async (world) => {
  await world.store(4, () => ({ userId: "u" }));
  const verdicts = [
    '{"passed": true, "score": 0.8, "reason": "It fits."}',
    '{"passed": false, "score": 0, "reason": "No."}',
    "Yes, it is good.",
    '{"passed": true, "score": 7, "reason": ""}',
  ];
  const answer = world.model;
  const judged: RelayRequest[] = [];
  world.model = (request) => {
    if (request.dialect.readRequest(request.body).model !== "vendor-b/judge") {
      return answer(request);
    }
    judged.push(request);
    return chatAnswer(verdicts[numberIn(request.bodyText)]!);
  };
  const prompt = "/// COHORT x\nIs {{answer}} right for {{input}}?";
  const id = await world.create({ graders: [{ type: "judge", model: "vendor-b/judge", prompt }] });
  world.runner().wake();
  const run = await world.until(id, ended);
  assert.deepEqual([run.counts.passed, run.counts.failed, run.counts.errors], [1, 1, 2]);
  const results = await world.evals.results(world.accountId, id, { limit: 9 });
  assert.deepEqual(results.map(({ passed, score, detail }) => [passed, score, detail]), [
    [true, 0.8, "It fits."],
    [false, 0, "No."],
    [null, null, "the judge's answer is not a valid verdict"],
    [null, null, "the judge's answer is not a valid verdict"],
  ]);
  for (const { caller, bodyText, dialect, body } of judged) {
    assert.equal(caller.userId, "u", "the judge's call goes with its user's data");
    assert.ok(bodyText.includes(`<answer>\\nanswer ${numberIn(bodyText)}\\n</answer>`));
    assert.deepEqual(
      dialect.readRequest(body).tags,
      {},
      "no tags, whatever the prompt begins with",
    );
  }
});
