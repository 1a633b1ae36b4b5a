import assert from "@std/assert";
import { ReplayMemory } from "./replay_memory.ts";

function setUp() {
  let nowMs = 0;
  const memory = new ReplayMemory({ monotonicMs: () => nowMs });
  const put = (key: string, isSaved: boolean) => {
    const claim = { key, fingerprint: "f", claimId: `claim of ${key}`, accountId: 1 };
    const body = new Uint8Array(10);
    const answer = { status: 200, headers: {}, body, streamed: false, transactionId: key };
    return Object.assign(memory.put(claim, answer, undefined), { isSaved });
  };
  return { memory, put, pass: (ms: number) => void (nowMs += ms) };
}

Deno.test("an answer is put and found without a look at the others", () => {
  const { memory, put } = setUp();
  let looks = 0;
  for (let n = 0; n < 100; n++) {
    Object.defineProperty(put(`early ${n}`, true), "isSaved", { get: () => (looks++, true) });
  }
  put("late", true);
  assert.ok(memory.find("late"));
  assert.equal(memory.find("unknown"), undefined);
  assert.equal(looks, 0);
});

Deno.test("a stored answer counts for five minutes, one that the store lacks for a day", () => {
  const { memory, put, pass } = setUp();
  put("saved", true);
  put("unsaved", false);
  const found = () => ["saved", "unsaved"].filter((key) => memory.find(key));
  pass(5 * 60_000 - 1);
  assert.deepEqual(found(), ["saved", "unsaved"]);
  pass(1);
  assert.deepEqual(found(), ["unsaved"]);
  pass(24 * 3_600_000);
  assert.deepEqual(found(), []);
  memory.trim();
  assert.equal(memory.unsaved().length, 0);
});
