import assert from "@std/assert";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { RecordQueue, weigh } from "./record_queue.ts";

/** A queue that has room for two records in memory, and a journal that takes the others. */
function setUp() {
  const rows = new Map(["a", "b", "c", "d", "e"].map((id) => [id, interactionRow(id)]));
  const space = { ids: [] as string[], takes: true };
  const queue = new RecordQueue({
    admit() {},
    spill: (id) => space.takes && space.ids.push(id) > 0,
    get spilled() {
      return space.ids.length;
    },
    readSpilled: () => Promise.resolve(space.ids.splice(0).map((id) => rows.get(id)!)),
  }, { rows: 2, chars: Infinity });
  const add = (...ids: string[]) => ids.forEach((id) => queue.add(rows.get(id)!));
  const first = async () =>
    (await queue.readShared()).first(10, Infinity).map(({ transactionId }) => transactionId);
  const remove = async (count: number) => queue.remove(await queue.readShared(), count);
  return { queue, space, add, first, remove, one: weigh(rows.get("a")!) };
}

Deno.test("what the records in memory weigh is known, read back ones too", async () => {
  const { queue, add, first, remove, one } = setUp();
  add("a", "b", "c");
  assert.deepEqual([queue.chars, queue.waiting], [2 * one, 3]);
  await remove(2);
  assert.deepEqual([queue.chars, queue.waiting], [0, 1]);
  assert.deepEqual(await first(), ["c"]);
  assert.deepEqual([queue.chars, queue.spilled], [one, 0]);
  await remove(1);
  assert.deepEqual([queue.chars, queue.waiting], [0, 0]);
});

Deno.test("records that come while older ones are read back stand behind them", async () => {
  const { add, first, remove } = setUp();
  add("a", "b", "c");
  await remove(2);
  const reading = first();
  add("d");
  assert.deepEqual(await reading, ["c", "d"]);
});

Deno.test("a record that can't be spilled passes for younger than the spilled ones", async () => {
  const { queue, space, add, first, remove } = setUp();
  add("a", "b", "c");
  space.takes = false;
  add("d");
  assert.equal(queue.last, 4);
  await remove(3);
  assert.deepEqual([queue.isThrough(2), queue.isThrough(3)], [true, false]);
  assert.deepEqual(await first(), ["c"]);
  assert.deepEqual([queue.isThrough(2), queue.isThrough(3)], [true, false]);
  await remove(1);
  assert.deepEqual([queue.waiting, queue.isThrough(4)], [0, true]);
});

Deno.test("records that are set apart count in memory, and spilled ones join them in order", async () => {
  const { queue, space, add, first, remove, one } = setUp();
  add("a", "b", "c");
  const shared = await queue.readShared();
  queue.setApart(shared, 2);
  assert.deepEqual([queue.waiting, queue.shared.length, queue.hasShared], [3, 0, false]);
  // Memory is full of them: what is spilled stays where it is.
  assert.deepEqual([await first(), space.ids], [[], ["c"]]);
  assert.deepEqual([queue.isThrough(3, "free"), queue.isThrough(3)], [true, false]);
  const [apart] = queue.apart;
  assert.deepEqual(apart?.accounts, [1]);
  assert.equal(queue.chars, 2 * one);
  queue.remove(apart!, 1);
  assert.deepEqual([queue.apart, await first()], [[], ["b"]]);
  assert.equal(queue.isThrough(3, "free"), false);
  await remove(1);
  assert.equal(queue.chars, 0);
  assert.deepEqual(await first(), ["c"]);
});

Deno.test("a record weighs all of its texts: reasoning for later turns, usage and losses too", () => {
  const text = "x".repeat(1000);
  const bare = weigh(interactionRow("a"));
  const answer = { responseId: "resp", inputItemsText: text, answerText: text };
  const more: Record<string, Partial<SettledCall>> = {
    reasoning: { retained: { reasoning: [{ callId: "call", reasoningText: text }] } },
    response: { retained: { reasoning: [], response: { ...answer, itemIds: [], sources: [] } } },
    background: {
      retained: {
        reasoning: [],
        background: { responseId: "resp", state: "completed", answerText: text },
      },
    },
    usage: { usageRawText: text },
    losses: { translationLoss: [text, text] },
  };
  const added = Object.entries(more).map(([name, part]) => [
    name,
    weigh(interactionRow("a", part)) - bare,
  ]);
  assert.deepEqual(added, [
    ["reasoning", 1000],
    ["response", 2000],
    ["background", 1000],
    ["usage", 1000],
    ["losses", 2000],
  ]);
});
