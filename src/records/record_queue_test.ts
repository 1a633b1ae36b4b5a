import assert from "@std/assert";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { RecordQueue, weigh } from "./record_queue.ts";

/** A queue with little room in memory, by default for two records, and a journal for the others. */
function setUp(room = 2, chars = Infinity) {
  const rows = new Map(["a", "b", "c", "d", "e"].map((id) => [id, interactionRow(id)]));
  const readAll = () => Promise.resolve(space.ids.splice(0).map((id) => rows.get(id)!));
  const space = { ids: [] as string[], takes: true, read: readAll };
  const queue = new RecordQueue({
    admit() {},
    spill: (id) => space.takes && space.ids.push(id) > 0,
    get spilled() {
      return space.ids.length;
    },
    readSpilled: () => space.read(),
    unload: () => space.takes,
    reload: (ids) =>
      Promise.resolve(new Map(ids.map((id) => [id, id === "lost" ? undefined : rows.get(id)]))),
  }, { rows: room, chars });
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

Deno.test("the media of a stored record is freed at once if it was read back", async () => {
  const { queue, space, remove } = setUp(1);
  const withMedia = (id: string) => {
    const content = new Uint8Array(20_000);
    return { ...interactionRow(id), media: [{ sha256: id, mimeType: "image/png", content }] };
  };
  const [own, spilled, readBack] = ["own", "spilled", "spilled"].map(withMedia);
  space.read = () => Promise.resolve(space.ids.splice(0).map(() => readBack!));
  queue.add(own!);
  queue.add(spilled!);
  await remove(1);
  await queue.readShared();
  const bytes = () => [own, spilled, readBack].map((row) => row!.media[0]!.content.length);
  assert.deepEqual(bytes(), [20_000, 20_000, 20_000]);
  await remove(1);
  assert.deepEqual(bytes(), [20_000, 20_000, 0], "others may refer to its own");
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

Deno.test("a locked account that needs much memory is unloaded, and read back when its turn comes", async () => {
  const { queue, space, add, one } = setUp(8);
  add("a", "b", "c");
  queue.setApart(await queue.readShared(), 3);
  const apart = queue.apart[0]!;
  assert.equal(queue.chars, 3 * one, "it isn't known yet that it stays locked");
  queue.setApart(apart, 3);
  add("d");
  assert.deepEqual([queue.chars, queue.waiting, queue.inMemory], [0, 4, []]);
  assert.deepEqual([queue.isThrough(0, 1), queue.isThrough(1, 1)], [true, false]);
  assert.ok(queue.oldest);
  space.takes = false;
  add("e");
  add("e");
  assert.deepEqual([queue.chars, queue.waiting], [2 * one, 6]);
  const idsOf = async () =>
    (await queue.load(apart)).first(10, Infinity).map(({ transactionId }) => transactionId);
  // One, though what can't be unloaded takes up the quarter of the memory.
  assert.deepEqual([await idsOf(), queue.chars], [["a"], 3 * one]);
  assert.deepEqual(queue.apart, [apart], "until it is written");
  queue.remove(apart, 1);
  assert.deepEqual([queue.apart, apart.tries], [[apart], 0], "the rest is still unloaded");
  for (const id of ["b", "c", "d"]) {
    assert.equal((await idsOf())[0], id);
    queue.remove(apart, 1);
  }
  assert.deepEqual([queue.apart, queue.chars, queue.waiting], [[], 2 * one, 2]);
  assert.deepEqual([queue.shared.length, queue.isThrough(4), queue.isThrough(5)], [2, true, false]);
});

Deno.test("a record that comes while others are written is none of them, if the journal has some twice", async () => {
  const { queue, space, add, first } = setUp(4);
  add("a", "b", "c", "d", "e");
  queue.remove(await queue.readShared(), 4);
  // Written again after a failed sync.
  space.ids.push("c", "d");
  assert.deepEqual(await first(), ["e", "c", "d"]);
  add("a");
  queue.remove(await queue.readShared(), 3);
  assert.deepEqual(await first(), ["a"]);
  space.ids.push("e");
  assert.equal(queue.isThrough(queue.last), false, "the journal may have the last one");
});

Deno.test("a wait for a spilled record lasts until it is read back, if the journal has others twice", async () => {
  const { queue, space, add, first } = setUp(2);
  add("a", "b", "c", "d", "e");
  // Three files: of the first, two records were in memory all the time.
  const files = [["a", "b", "c"], ["d"], ["e"]];
  const read = () => {
    const [ids = []] = files.splice(0, 1);
    space.ids = files.flat();
    return Promise.resolve(ids.map((id) => interactionRow(id)));
  };
  space.ids = files.flat();
  space.read = read;
  queue.remove(await queue.readShared(), 2);
  assert.equal((await first()).length, 3);
  queue.remove(await queue.readShared(), 3);
  assert.deepEqual([queue.isThrough(3), queue.isThrough(4)], [true, false]);
  queue.remove(await queue.readShared(), 1);
  assert.deepEqual([queue.isThrough(4), queue.isThrough(5)], [true, false]);
  queue.remove(await queue.readShared(), 1);
  assert.deepEqual([queue.waiting, queue.isThrough(5)], [0, true]);
});

Deno.test("a wait for an unloaded record lasts until it is read back, if it was spilled meanwhile", async () => {
  const { queue, space, add } = setUp(4);
  queue.add(interactionRow("lost"));
  queue.add(interactionRow("lost"));
  queue.setApart(await queue.readShared(), 2);
  queue.setApart(queue.apart[0]!, 2);
  // Of other accounts, which fill the memory.
  for (const id of ["a", "b", "c", "d"]) queue.add(interactionRow(id, { accountId: 2 }));
  add("e");
  assert.deepEqual(space.ids, ["e"]);
  // Written again after a failed sync.
  space.ids.push("a");
  await queue.load(queue.apart[0]!);
  assert.deepEqual([queue.apart, queue.isThrough(1)], [[], false]);
  space.read = () => Promise.resolve(space.ids.splice(0, 1).map((id) => interactionRow(id)));
  queue.remove(await queue.readShared(), 4);
  queue.remove(await queue.readShared(), 1);
  assert.equal(queue.isThrough(1), false, "the file that is left may have it");
  queue.remove(await queue.readShared(), 1);
  assert.deepEqual([queue.waiting, queue.isThrough(7)], [0, true]);
});

Deno.test("unloaded records take memory, too: beyond sixty for each in memory, all wait in their order", async () => {
  const { queue, space, add, remove } = setUp(2);
  add("a");
  queue.setApart(await queue.readShared(), 1);
  queue.setApart(queue.apart[0]!, 1);
  add(...Array.from({ length: 118 }, () => "b"));
  queue.add(interactionRow("other", { accountId: 2 }));
  add("c");
  assert.deepEqual([space.ids, queue.waiting], [[], 121]);
  add("d");
  await remove(1);
  assert.deepEqual([space.ids, queue.hasShared], [["d"], false]);
  queue.remove(await queue.load(queue.apart[0]!), 1);
  assert.equal(queue.hasShared, true);
});

Deno.test("an unloaded record that the journal can't read is no longer waited for", async () => {
  const { queue } = setUp(4);
  for (const id of ["lost", "lost"]) queue.add(interactionRow(id));
  queue.setApart(await queue.readShared(), 2);
  queue.setApart(queue.apart[0]!, 2);
  await queue.load(queue.apart[0]!);
  assert.deepEqual([queue.waiting, queue.chars, queue.apart, queue.isThrough(2)], [0, 0, [], true]);
});

Deno.test("only what the journal can't read is given up, and the rest comes as memory has room", async () => {
  // For accounts that are set apart there is room for two records, by number or by size.
  for (const [rows, records] of [[8, Infinity], [100, 8]] as const) {
    const { queue, add, one } = setUp(rows, records * weigh(interactionRow("a")));
    queue.add(interactionRow("lost"));
    add("a", "b", "c");
    queue.setApart(await queue.readShared(), 4);
    const apart = queue.apart[0]!;
    queue.setApart(apart, 4);
    assert.equal(queue.chars, 0);
    assert.deepEqual((await queue.load(apart)).rows.map((row) => row.transactionId), ["a", "b"]);
    assert.deepEqual([queue.chars, queue.waiting], [2 * one, 3]);
  }
});

Deno.test("memory is full by size, too, and what comes after a spilled record is spilled", async () => {
  const { space, add, remove } = setUp(100, 2 * weigh(interactionRow("a")));
  add("a", "b", "c");
  assert.deepEqual(space.ids, ["c"]);
  await remove(1);
  add("d");
  assert.deepEqual(space.ids, ["c", "d"]);
});

Deno.test("accounts that are set apart may use a quarter of the memory, whatever the others use", async () => {
  const { queue, add } = setUp(100, 8 * weigh(interactionRow("a")));
  add("a", "b");
  queue.setApart(await queue.readShared(), 2);
  for (const id of ["c", "d"]) queue.add(interactionRow(id, { accountId: 2 }));
  const apart = queue.apart[0]!;
  queue.setApart(apart, 2);
  assert.equal(apart.loaded, 2);
  add("c");
  queue.setApart(apart, 3);
  assert.equal(apart.loaded, 0);
});

Deno.test("a wait for a spilled record goes on after one behind it that couldn't be spilled", async () => {
  const { queue, space, add, first, remove } = setUp();
  add("a", "b", "c", "d");
  space.takes = false;
  add("e");
  space.read = () => Promise.resolve(space.ids.splice(0, 1).map((id) => interactionRow(id)));
  await remove(3);
  assert.deepEqual(await first(), ["c"]);
  await remove(1);
  assert.deepEqual([queue.isThrough(3), queue.isThrough(4)], [true, false]);
});

Deno.test("records that are no longer set apart stand among the others by age", async () => {
  const { queue, add, first } = setUp(8);
  const addOther = (id: string) => queue.add(interactionRow(id, { accountId: 2 }));
  add("a");
  addOther("2nd");
  add("b");
  addOther("4th");
  add("c");
  queue.setApart(await queue.readShared(), 1);
  queue.remove(queue.apart[0]!, 1);
  assert.deepEqual(await first(), ["2nd", "b", "4th", "c"]);
});

/** Sets the accounts of all records apart, each by itself. */
async function setEachApart(queue: RecordQueue) {
  queue.setApart(await queue.readShared(), Infinity);
  const several = () => queue.apart.find(({ accounts }) => accounts!.length > 1);
  for (let group = several(); group; group = several()) queue.setApart(group, Infinity);
  return queue.apart.toSorted((a, b) => a.accounts![0]! - b.accounts![0]!);
}

Deno.test("the largest of the accounts that are locked is unloaded, and no more than need be", async () => {
  // For accounts that are set apart there is room for four records.
  const { queue, space, one } = setUp(16);
  for (const accountId of [1, 2, 3, 3, 3, 3, 4, 4, 4]) {
    queue.add(interactionRow("a", { accountId }));
  }
  const groups = await setEachApart(queue);
  const [first, second, third] = groups;
  for (const id of ["a", "b"]) queue.add(interactionRow(id, { accountId: 9 }));
  // What the journal can't return stays in memory.
  space.takes = false;
  for (const group of [first!, second!]) queue.setApart(group, 1);
  assert.deepEqual([queue.chars, queue.inMemory.length], [11 * one, 11]);
  space.takes = true;
  queue.setApart(third!, 4);
  // It isn't known yet whether the fourth is locked.
  assert.deepEqual(groups.map(({ loaded }) => loaded), [0, 1, 0, 3]);
});

Deno.test("of the accounts that are locked eight are unloaded at most", async () => {
  const { queue, space } = setUp(4);
  space.takes = false;
  for (let accountId = 1; accountId <= 10; accountId++) {
    queue.add(interactionRow("a", { accountId }));
  }
  const groups = await setEachApart(queue);
  space.takes = true;
  for (const group of groups) queue.setApart(group, 1);
  assert.deepEqual(groups.map(({ loaded }) => loaded), [0, 0, 0, 0, 0, 0, 0, 0, 1, 1]);
});

Deno.test("the oldest record is the one whose call ended first, or the last one that is known", async () => {
  const { queue, add, remove } = setUp();
  const startMs = interactionRow("a").createdAt.getTime();
  const waitedSince = () => queue.oldest && queue.oldest.getTime() - startMs;
  queue.add(interactionRow("a", { latencyMs: 30 }));
  queue.add(interactionRow("b", { latencyMs: 10, accountId: 2 }));
  add("c");
  assert.equal(waitedSince(), 30);
  queue.setApart(await queue.readShared(), 1);
  assert.equal(waitedSince(), 10);
  queue.remove(queue.apart[0]!, 1);
  await remove(1);
  assert.equal(waitedSince(), 10, "the only record is in the journal");
  await remove(1);
  assert.deepEqual([queue.waiting, waitedSince()], [0, undefined]);
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
    media: { media: [{ sha256: "0", mimeType: "image/png", content: new Uint8Array(1000) }] },
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
    ["media", 2000],
  ]);
});
