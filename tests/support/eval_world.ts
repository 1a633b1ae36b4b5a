import type { Grader } from "../../contracts/data/eval_request.ts";
import { type Clock, systemClock } from "../../src/base/clock.ts";
import { chat } from "../../src/dialects/text/chat/mod.ts";
import { generate } from "../../src/dialects/text/generate/mod.ts";
import { messages } from "../../src/dialects/text/messages/mod.ts";
import { responses } from "../../src/dialects/text/responses/mod.ts";
import { mintKey } from "../../src/keys/credential.ts";
import type { EvalRun, NewEvalRun } from "../../src/evals/eval.ts";
import type { Interaction } from "../../src/shared/interaction.ts";
import type { RateDecision } from "../../src/rate_limits/rate_limit.ts";
import type { Reply } from "../../src/relay/reply.ts";
import type { RelayRequest } from "../../src/relay/relay.ts";
import { EvalRunner } from "../../src/evals/eval_runner.ts";
import { GradeThread } from "../../src/evals/grade_thread.ts";
import { createApiKeys } from "../../src/keys/store/api_keys.ts";
import type { Database } from "../../src/database/database.ts";
import { createEvals } from "../../src/evals/store/evals.ts";
import { createEvalWork } from "../../src/evals/store/eval_work.ts";
import { createAnalyticsStore } from "../../src/records/store/analytics_store.ts";
import { createMedia } from "../../src/records/store/media.ts";
import { interaction, newAccount } from "../store/samples.ts";
import { eachDatabase } from "./databases.ts";

/** Registers a test on each database, with a world that is closed after it. */
export function eachWorld(
  name: string,
  test: (world: EvalWorld, database: Database) => Promise<void>,
): void {
  eachDatabase(name, async (database) => {
    const world = await openEvalWorld(database);
    try {
      await test(world, database);
    } finally {
      await world.close();
    }
  });
}

/** A model's answer in the chat dialect. */
export function chatAnswer(text: string): Reply {
  const message = { role: "assistant", content: text };
  const body = {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message, finish_reason: "stop" }],
  };
  return { status: 200, headers: {}, body: JSON.stringify(body) };
}

/** Answers a call as the model under test. */
export type Model = (request: RelayRequest) => Reply | Promise<Reply>;

/** Evaluations over a real store, with a model and a rate limit under the test's control. */
export interface EvalWorld {
  accountId: number;
  keyId: string;
  evals: ReturnType<typeof createEvals>;
  /** Requests that reached the model so far. */
  calls: RelayRequest[];
  model: Model;
  /** The clock of the runners. */
  clock: Clock;
  rate: () => Partial<RateDecision>;
  log: string[];
  /** Stores `count` calls that ask "question N" and were answered "answer N". */
  store(count: number, more?: (n: number) => Partial<Interaction>): Promise<void>;
  create(more?: Partial<NewEvalRun>): Promise<string>;
  /** Starts one more runner, as another process would. */
  runner(): EvalRunner;
  run(id: string): Promise<EvalRun>;
  /** Polls until the run is as wanted; throws after 15,000 polls. */
  until(id: string, wanted: (run: EvalRun) => boolean): Promise<EvalRun>;
  /** Ends the runners. */
  close(): Promise<void>;
}

export async function openEvalWorld(database: Database): Promise<EvalWorld> {
  const accountId = await newAccount(database);
  const minted = mintKey(systemClock);
  const apiKeys = createApiKeys(database);
  await apiKeys.insert({
    ...{ id: minted.id, accountId, name: "k", prefix: minted.prefix, hash: minted.hash },
    ...{ scopes: [], models: [], onDisconnect: "cancel", translationMode: "default" },
    ...{ capDayNanos: null, capMonthNanos: null, expiresAt: null },
  });
  const analytics = createAnalyticsStore(database);
  const evals = createEvals(database, analytics);
  const runners: EvalRunner[] = [];
  const world: EvalWorld = {
    accountId,
    keyId: minted.id,
    evals,
    calls: [],
    clock: systemClock,
    model: (request) => chatAnswer(`answer ${numberIn(request.bodyText)}`),
    rate: () => ({}),
    log: [],
    store: (count, more) => storeCalls(database, accountId, count, more),
    async create(more) {
      const created = await evals.create({ ...newRun(accountId, minted.id), ...more });
      return created.evalRunId;
    },
    runner() {
      const runner = new EvalRunner({
        clock: world.clock,
        heavy: {} as never,
        log: {
          warn: (message, fields) => void world.log.push(`${message} ${JSON.stringify(fields)}`),
        },
        relay: {
          async send(request) {
            world.calls.push(request);
            return await world.model(request);
          },
        },
        rateLimiter: {
          take: () => Promise.resolve({ ...plenty, ...world.rate() }),
        },
        apiKeys,
        dialects: { chat, responses, messages, generate },
        media: createMedia(database),
        work: createEvalWork(database, { workerId: crypto.randomUUID(), analytics }),
        graders: new GradeThread(),
      });
      runners.push(runner);
      return runner;
    },
    async run(id) {
      const run = await evals.find(accountId, id);
      if (!run) throw new Error("no such run");
      return run;
    },
    async until(id, wanted) {
      for (let look = 0; look < 15_000; look++) {
        const run = await world.run(id);
        if (wanted(run)) return run;
        await new Promise((resolve) => setTimeout(resolve, 2));
      }
      throw new Error(`the run stays ${JSON.stringify(await world.run(id), bigints)}`);
    },
    async close() {
      await Promise.all(runners.map((runner) => runner.close()));
    },
  };
  return world;
}

const plenty: RateDecision = { admitted: true, limit: 60, remaining: 60, resetAt: 0 };

/** Returns the number of a stored question; NaN if the text has none. */
export function numberIn(text: string): number {
  return Number(/question (\d+)/.exec(text)?.[1] ?? Number.NaN);
}

async function storeCalls(
  database: Database,
  accountId: number,
  count: number,
  more: (n: number) => Partial<Interaction> = () => ({}),
): Promise<void> {
  const rows = Array.from(
    { length: count },
    (_, n) =>
      interaction(accountId, `txn-${String(n).padStart(4, "0")}`, {
        createdAt: new Date(Date.UTC(2026, 10, 21, 10, 0, n)),
        status: "completed",
        requestText: JSON.stringify({
          model: "vendor-b/gpt-4.1",
          messages: [{ role: "user", content: `question ${n}` }],
        }),
        responseText: String(chatAnswer(`answer ${n}`).body),
        ...more(n),
      }),
  );
  await createAnalyticsStore(database).insert(rows);
}

function newRun(accountId: number, apiKeyId: string): NewEvalRun {
  const graders: Grader[] = [{ type: "exact" }];
  return {
    evalRunId: crypto.randomUUID(),
    createdAt: systemClock.now(),
    accountId,
    apiKeyId,
    name: null,
    model: "vendor-c/new-model",
    filtersText: "{}",
    graders,
    select: { accountId, filters: {} },
    limit: 1000,
    sample: "newest",
    requestId: crypto.randomUUID(),
    requestHash: "hash",
  };
}

function bigints(_: string, value: unknown): unknown {
  return typeof value === "bigint" ? String(value) : value;
}
