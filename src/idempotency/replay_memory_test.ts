import assert from "@std/assert";
import { heldBytes } from "../../tests/support/held_bytes.ts";
import { ReplayMemory } from "./replay_memory.ts";

function setUp() {
  // Clocks begin anywhere.
  let nowMs = 1e9;
  const memory = new ReplayMemory({ monotonicMs: () => nowMs });
  const put = (
    key: string,
    isSaved: boolean,
    { bytes = 10, headers = {}, transactionId = key as string | null } = {},
  ) => {
    const claim = { key, fingerprint: "f", claimId: `claim of ${key}`, accountId: 1 };
    const body = new Uint8Array(bytes);
    const answer = { status: 200, headers, body, streamed: false, transactionId };
    const remembered = memory.put(claim, answer, undefined);
    if (isSaved) memory.saved(remembered);
    return remembered;
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
  memory.trim();
  assert.deepEqual(found(), ["saved", "unsaved"]);
  pass(1);
  assert.deepEqual(found(), ["unsaved"]);
  pass(24 * 3_600_000);
  assert.deepEqual(found(), []);
  memory.trim();
  assert.equal(memory.unsaved().length, 0);
});

const mebibyte = 1024 * 1024;

Deno.test("64 MiB are held: the oldest go first, but those that the store lacks last", () => {
  const { memory, put } = setUp();
  const bytes = 16 * mebibyte;
  const unsaved = put("unsaved", false, { bytes });
  for (const key of ["saved 1", "saved 2", "saved 3"]) put(key, true, { bytes });
  const found = () =>
    ["unsaved", "saved 1", "saved 2", "saved 3", "late"].filter((key) => memory.find(key));
  assert.equal(found().length, 4, "all have room");
  put("saved 3", true, { bytes });
  assert.equal(found().length, 4, "an answer in place of another takes no more room");
  put("late", false, { bytes: 1 });
  assert.deepEqual(found(), ["unsaved", "saved 2", "saved 3", "late"]);
  put("late", false, { bytes: 63 * mebibyte });
  assert.deepEqual(found(), ["late"]);
  // Only the one that the store lacks can turn out to be a duplicate.
  assert.deepEqual(memory.unsaved().map(({ claim }) => claim.key), ["late", "unsaved"]);
  assert.equal(unsaved.isBare, true);
  assert.equal(unsaved.answer.body.length, 0, "its text is gone");
});

Deno.test("headers take room, and hold nothing of the vendor's other headers in memory", () => {
  const { memory, put } = setUp();
  const headers = { "x-translation-loss": "f".repeat(mebibyte) };
  for (let n = 0; n < 65; n++) put(`${n}`, true, { bytes: 0, headers });
  assert.deepEqual([memory.find("0"), memory.find("64")?.isSaved], [undefined, true]);
  const held = heldBytes(() => {
    const { memory, put } = setUp();
    for (let n = 0; n < 1000; n++) {
      const [name, version] = `openai-version: 2020-10-01-${n}; ${"x".repeat(9000)}`.split(/: |; /);
      put(`${n}`, true, { headers: { [name!]: version } });
    }
    return memory;
  });
  assert.ok(held < 3 * mebibyte, `${held} bytes`);
});

Deno.test("of answers without their texts the newest 10,000 stay, and none that charged nothing", () => {
  const { memory, put } = setUp();
  for (let n = 0; n <= 10_000; n++) put(`${n}`, false);
  put("free", false, { transactionId: null });
  put("large", true, { bytes: 64 * mebibyte });
  const keys = memory.unsaved().map(({ claim }) => claim.key);
  assert.equal(keys.length, 10_000);
  assert.deepEqual([keys[0], keys.at(-1)], ["1", "10000"]);
});

Deno.test("small answers are bounded by their number, and room is made without a search", () => {
  const { memory, put } = setUp();
  put("saved", true, { bytes: 0 });
  for (let n = 1; n <= 50_000; n++) put(`${n}`, false, { bytes: 0 });
  let looks = 0;
  Object.defineProperty(put("counted", false), "isSaved", { get: () => (looks++, false) });
  for (let n = 1; n <= 1000; n++) put(`late ${n}`, false, { bytes: 0 });
  const isFound = (key: string) => memory.find(key) !== undefined;
  assert.deepEqual([isFound("saved"), isFound("1001"), isFound("1002")], [false, false, true]);
  assert.equal(looks, 0);
});
