import assert from "@std/assert";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { quoteText } from "../base/quoted_json.ts";
import { finish, type Steps } from "../base/steps.ts";
import { FakeClock } from "../base/clock.ts";
import { createLog } from "../base/log.ts";
import { dialects } from "../dialects/text/mod.ts";
import type { BackgroundCall } from "../relay/background_task.ts";
import { Fault } from "../shared/fault.ts";
import { Background } from "./background.ts";
import { BackgroundRunner } from "./runner.ts";

const clock = new FakeClock();

/** What is held for a call, and what it was settled with. */
function held() {
  const settled: bigint[] = [];
  const settle = (nanos: bigint) => void settled.push(nanos);
  return { settled, authorization: { leaseId: "lease", heldNanos: 5n, settle } };
}

type Create = (call: NewCall) => Promise<{ responseId: string; repeated: boolean }>;

interface NewCall {
  repeatable?: { requestHash: string };
}

/** Sends a background request that the store takes in as `create` says; gives what was settled. */
async function settledBy(create: Create, input = "Hi.", more: object = {}) {
  const { settled, authorization } = held();
  const body = { model: "openai/gpt-x", input, background: true };
  const background = new Background({
    store: { create, find: () => Promise.resolve({ state: "queued", answerText: "{}" }) },
    relay: {
      send: ({ background }: { background: BackgroundCall }) =>
        background.taken!({
          call: { begun: interactionRow("txn"), transactionId: "txn" },
          ...{ target: { model: "gpt-x" } as never, authorization, losses: [] },
        }),
    },
    runner: { add() {}, stop() {} },
    storedResponses: { findResponse: () => Promise.resolve(undefined) },
    ...{ dialects, newTransactionId: () => "txn", perAccount: 10 },
  } as never);
  const principal = { account: { id: 1, tier: "pro" }, key: {} };
  const caller = { principal, trace: {}, requestId: "new", path: "/p", header: () => undefined };
  const request = {
    ...{ dialect: dialects.responses, body, bodyText: JSON.stringify(body) },
    caller: { ...caller, ...more },
  };
  await background.send(request as never).catch(() => {});
  return settled;
}

Deno.test("what is held for a background call that is not made is free again", async () => {
  const stored = (repeated: boolean) => Promise.resolve({ responseId: "resp", repeated });
  assert.deepEqual(await settledBy(() => stored(false)), [], "held until the call ends");
  assert.deepEqual(await settledBy(() => stored(true)), [0n], "the same request came before");
  const away = () => Promise.reject(new Fault("store_unavailable"));
  assert.deepEqual(await settledBy(away), [0n]);
  // Another process has claimed it.
  const { settled, authorization } = held();
  const runner = new BackgroundRunner({
    store: { begin: () => Promise.resolve(undefined) },
    ...{ dialects, clock, log: createLog(() => {}, clock.now) },
  } as never);
  const claim = { accountId: 1, responseId: "resp", bodyUnits: 1 };
  runner.add(claim, { authorization, vendorKey: undefined });
  await runner.drain(1000);
  assert.deepEqual(settled, [0n]);
});

Deno.test("a large request with an id is hashed in its turn", async () => {
  let steps = 0;
  const step = {
    inSteps<T>(job: () => Steps<T>) {
      const all = job();
      for (let next = all.next();; next = all.next(), steps++) if (next.done) return next.value;
    },
  };
  const hashes: (string | undefined)[] = [];
  const create = ({ repeatable }: NewCall) => {
    hashes.push(repeatable?.requestHash);
    return Promise.resolve({ responseId: "resp", repeated: false });
  };
  const header = (name: string) => name === "x-request-id" ? "id" : undefined;
  const input = "x".repeat(4 * 1024 * 1024);
  await settledBy(create, input, { header, requestId: "id", heavyStep: () => step });
  assert.equal(steps, 4);
  await settledBy(create, input, { header, requestId: "id" });
  assert.match(hashes[0]!, /^[0-9a-f]{64}$/);
  assert.equal(hashes[1], hashes[0]);
});

Deno.test("cancelling a response that another process answered just now says why it can't be", async () => {
  const key = { accountId: 1, responseId: "resp" };
  const stored = { answerText: JSON.stringify({ object: "response", id: "resp", output: [] }) };
  const cancelled = (isWritten: boolean) => {
    let hasCome = false;
    const background = new Background({
      store: { find: () => Promise.resolve(undefined) },
      storedResponses: {
        findResponse: () => Promise.resolve(hasCome ? stored : undefined),
        lookAgain(_: number, __: unknown, look: () => Promise<unknown>) {
          hasCome = isWritten;
          return look();
        },
      },
      ...{ dialects, perAccount: 10 },
    } as never);
    return background.cancel(key, {});
  };
  assert.equal(await cancelled(false), undefined);
  await assert.rejects(cancelled(true), /only responses that were created with 'background: true'/);
});

Deno.test("a large answer that is not written yet is read as its caller got it", async () => {
  const text = JSON.stringify({ object: "response", id: "resp", output: [], more: "\n".repeat(9) });
  const stored = { answerText: finish(quoteText(text)) };
  const background = new Background({
    storedResponses: { findResponse: () => Promise.resolve(stored) },
    ...{ dialects, perAccount: 10 },
  } as never);
  assert.equal(await background.find({ accountId: 1, responseId: "resp" }, [], {}), text);
});
