import assert from "@std/assert";
import { FakeClock } from "../../base/clock.ts";
import type {
  Retained,
  StoredResponseFields,
  StoredResponseStore,
} from "../../shared/stored_response.ts";
import { heldBytes } from "../../../tests/support/held_bytes.ts";
import { interactionRow } from "../../../tests/support/interaction_row.ts";
import { Fault } from "../../shared/fault.ts";
import { StoredResponseCache, type Wait, waitsForOthers } from "./stored_response_cache.ts";

const response: StoredResponseFields = {
  responseId: "resp_1",
  inputItemsText: "[]",
  answerText: "{}",
  itemIds: ["msg_1"],
  sources: [],
};
const stored = { ...response, transactionId: "t1" };

/** A call of account 1 that keeps this. */
function callWith(retained: Partial<Retained>, transactionId = "t1") {
  return interactionRow(transactionId, { retained: { reasoning: [], ...retained } });
}

/** An empty store that counts how often it is asked. */
function setUp(more: { waits?: Wait[] } = {}) {
  const asked: string[] = [];
  const store: StoredResponseStore = {
    findResponse: (_account, id) => (asked.push(id), Promise.resolve(undefined)),
    findByItems: (_account, ids) => (asked.push(...ids), Promise.resolve([])),
    removeResponse: (_account, id) => (asked.push(id), Promise.resolve(false)),
    findReasoning: (_account, ids) => (asked.push(...ids), Promise.resolve([])),
  };
  const clock = new FakeClock();
  const erased = new Set<string>();
  const isErased = ({ transactionId }: { transactionId: string }) => erased.has(transactionId);
  const memory = new StoredResponseCache({ store, clock, isErased, ...more });
  return { asked, clock, erased, memory };
}

Deno.test("what was just kept is found before its row is written", async () => {
  const { asked, memory } = setUp();
  memory.remember(callWith({ response, reasoning: [{ callId: "c1", reasoningText: "{}" }] }));
  assert.deepEqual(await memory.findResponse(1, "resp_1"), stored);
  assert.deepEqual(await memory.findByItems(1, ["msg_1"]), [stored]);
  assert.equal((await memory.findReasoning(1, ["c1"])).length, 1);
  assert.deepEqual(asked, []);
});

Deno.test("another account finds nothing of it", async () => {
  const { asked, memory } = setUp();
  memory.remember(callWith({ response }));
  assert.equal(await memory.findResponse(11, "resp_1"), undefined);
  assert.deepEqual(await memory.findByItems(11, ["msg_1"]), []);
  assert.deepEqual(asked, ["resp_1", "msg_1"]);
});

Deno.test("after some seconds the store is asked, whose row another process may have removed", async () => {
  const { asked, clock, memory } = setUp();
  memory.remember(callWith({ response }));
  clock.advance(5_000);
  assert.equal(await memory.findResponse(1, "resp_1"), undefined);
  assert.deepEqual(asked, ["resp_1"]);
});

Deno.test("a removed response is gone from memory at once", async () => {
  const { memory } = setUp();
  memory.remember(callWith({ response }));
  assert.equal(await memory.removeResponse(1, "resp_1"), true);
  assert.equal(await memory.findResponse(1, "resp_1"), undefined);
  assert.equal(await memory.removeResponse(1, "resp_1"), false);
});

Deno.test("a call that is erased is not remembered", async () => {
  const { asked, erased, memory } = setUp();
  erased.add("t1");
  memory.remember(callWith({ response, reasoning: [{ callId: "c1", reasoningText: "{}" }] }));
  assert.equal(await memory.findResponse(1, "resp_1"), undefined);
  assert.deepEqual(await memory.findReasoning(1, ["c1"]), []);
  assert.deepEqual(asked, ["resp_1", "c1"]);
});

Deno.test("a forgotten call takes the responses with it that continue it, later ones too", async () => {
  const { memory } = setUp();
  const later = (id: string) => ({ ...response, responseId: id, itemIds: [], sources: ["t1"] });
  memory.remember(callWith({ response }));
  memory.remember(callWith({ response: later("resp_2") }, "t2"));
  memory.remember(callWith({ response: { ...later("resp_9"), sources: [] } }, "t9"));
  memory.forget(["t1"]);
  memory.remember(callWith({ response: later("resp_3") }, "t3"));
  for (const id of ["resp_1", "resp_2", "resp_3"]) {
    assert.equal(await memory.findResponse(1, id), undefined, id);
  }
  assert.notEqual(await memory.findResponse(1, "resp_9"), undefined);
});

Deno.test("what isn't there is looked for after each wait, and no longer than it is missing", async () => {
  const steps: string[] = [];
  const wait = (name: string) => () => (steps.push(name), Promise.resolve(name !== "nobody"));
  const { memory } = setUp({ waits: [wait("workers"), wait("replicas"), wait("longer")] });
  const request = {};
  const find = (found?: string) => () => (steps.push("look"), Promise.resolve(found));
  assert.equal(await memory.lookAgain?.(1, request, find("it")), "it");
  assert.deepEqual(steps.splice(0), ["workers", "look"]);
  assert.equal(await memory.lookAgain?.(1, request, find()), undefined);
  assert.deepEqual(steps.splice(0), ["workers", "look", "replicas", "look", "longer", "look"]);
  const alone = setUp({ waits: [wait("nobody"), wait("longer")] }).memory;
  assert.equal(await alone.lookAgain?.(1, request, find()), undefined);
  assert.deepEqual(steps.splice(0), ["nobody", "look"]);
  // Of a process that ended after the look before.
  assert.equal(await alone.lookAgain?.(1, {}, find("it")), "it");
  assert.deepEqual(steps.splice(0), ["nobody", "look"]);
  // The same request at its next vendor.
  assert.equal(await memory.lookAgain?.(1, request, find()), undefined);
  assert.deepEqual(steps, []);
});

Deno.test("other processes are waited for up to four seconds, where the account has some", async () => {
  const steps: (string | number)[] = [];
  const waits = waitsForOthers({
    isShared: (accountId) => Promise.resolve(accountId === 2),
    flushOthers: () => new Promise((resolve) => setImmediate(() => resolve(steps.push("flushed")))),
    pause: (ms) => Promise.resolve(void steps.push(ms)),
  });
  const { memory } = setUp({ waits });
  const find = () => (steps.push("look"), Promise.resolve(undefined));
  assert.equal(await memory.lookAgain?.(1, {}, find), undefined);
  assert.deepEqual(steps.splice(0), ["look"]);
  assert.equal(await memory.lookAgain?.(2, {}, find), undefined);
  const pauses = [200, 200, 300, 500, 800, 1000, 1000].flatMap((ms) => [ms, "look"]);
  assert.deepEqual(steps, ["flushed", "look", ...pauses]);
});

Deno.test("a process that fails while it is asked to write ends no search", async () => {
  const steps: (string | number)[] = [];
  const waits = waitsForOthers({
    isShared: () => Promise.resolve(true),
    flushOthers: () => Promise.reject(new Error("the other process has ended")),
    pause: (ms) => Promise.resolve(void steps.push(ms)),
  });
  const { memory } = setUp({ waits });
  // Its parent writes what it left, a moment later.
  let looks = 0;
  const find = () => Promise.resolve(++looks === 3 ? "it" : undefined);
  assert.equal(await memory.lookAgain?.(1, {}, find), "it");
  assert.deepEqual(steps, [200, 200]);
});

Deno.test("a process that doesn't write in time ends the search: nothing counts as missing", async () => {
  const limits: number[] = [];
  const waits = waitsForOthers({
    isShared: () => Promise.resolve(true),
    flushOthers: () => new Promise(() => {}),
    pause: () => Promise.resolve(),
    setTimer: (ms, run) => {
      limits.push(ms);
      queueMicrotask(run);
      return () => {};
    },
  });
  const { memory } = setUp({ waits });
  await assert.rejects(
    memory.lookAgain!(1, {}, () => Promise.resolve(undefined)),
    (thrown: unknown) => thrown instanceof Fault && thrown.code === "store_unavailable",
  );
  assert.deepEqual(limits, [10_000]);
});

Deno.test("a text is not held after its five seconds, if no later call retains anything", () => {
  const { clock, memory } = setUp();
  const held = heldBytes(() => {
    const answerText = JSON.parse(`"${"x".repeat(20_000_000)}"`);
    memory.remember(callWith({ response: { ...response, answerText } }));
    clock.advance(5_000);
    memory.remember(interactionRow("t2"));
    return memory;
  });
  assert.ok(held < 10_000_000, `${held} bytes`);
});
