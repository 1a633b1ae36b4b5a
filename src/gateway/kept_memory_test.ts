import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import type { KeptResponse, KeptStore } from "../domain/kept.ts";
import { createKeptMemory } from "./kept_memory.ts";

const response: KeptResponse = {
  responseId: "resp_1",
  inputItemsText: "[]",
  answerText: "{}",
  itemIds: ["msg_1"],
};

/** An empty store that counts how often it is asked. */
function setUp() {
  const asked: string[] = [];
  const store: KeptStore = {
    findResponse: (_account, id) => (asked.push(id), Promise.resolve(undefined)),
    findByItems: (_account, ids) => (asked.push(...ids), Promise.resolve([])),
    removeResponse: (_account, id) => (asked.push(id), Promise.resolve(false)),
    findReasoning: (_account, ids) => (asked.push(...ids), Promise.resolve([])),
  };
  const clock = new FakeClock();
  return { asked, clock, memory: createKeptMemory({ store, clock }) };
}

Deno.test("what was just kept is found before its row is written", async () => {
  const { asked, memory } = setUp();
  memory.remember(1, { response, reasoning: [{ callId: "c1", reasoningText: "{}" }] });
  assert.equal(await memory.findResponse(1, "resp_1"), response);
  assert.deepEqual(await memory.findByItems(1, ["msg_1"]), [response]);
  assert.equal((await memory.findReasoning(1, ["c1"])).length, 1);
  assert.deepEqual(asked, []);
});

Deno.test("another account finds nothing of it", async () => {
  const { asked, memory } = setUp();
  memory.remember(1, { response, reasoning: [] });
  assert.equal(await memory.findResponse(11, "resp_1"), undefined);
  assert.deepEqual(await memory.findByItems(11, ["msg_1"]), []);
  assert.deepEqual(asked, ["resp_1", "msg_1"]);
});

Deno.test("after some seconds the store is asked, whose row another process may have removed", async () => {
  const { asked, clock, memory } = setUp();
  memory.remember(1, { response, reasoning: [] });
  clock.advance(5_000);
  assert.equal(await memory.findResponse(1, "resp_1"), undefined);
  assert.deepEqual(asked, ["resp_1"]);
});

Deno.test("a removed response is gone from memory at once", async () => {
  const { memory } = setUp();
  memory.remember(1, { response, reasoning: [] });
  assert.equal(await memory.removeResponse(1, "resp_1"), true);
  assert.equal(await memory.findResponse(1, "resp_1"), undefined);
  assert.equal(await memory.removeResponse(1, "resp_1"), false);
});
