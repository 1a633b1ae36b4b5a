import assert from "@std/assert";
import { ValueSlots } from "./value_slots.ts";

/** Both halves of a value: many share the bits that their place depends on. */
const idsOf = (values: readonly number[]) =>
  Uint32Array.from(values.flatMap((value) => [value % 7 * 2 ** 29, value]));

const range = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => from + n);

const using = (slots: ValueSlots, held: readonly Uint32Array[], read = () => {}) =>
  slots.reading(() => held, () => Promise.resolve(read()));

Deno.test("a value has one number, whatever step it is in, and no other value has it", () => {
  const slots = new ValueSlots();
  const first = slots.slotsOf(idsOf(range(0, 5_000)));
  assert.equal(new Set(first).size, 5_000);
  const again = slots.slotsOf(idsOf(range(2_500, 7_500)));
  assert.deepEqual(again.subarray(0, 2_500), first.subarray(2_500));
  assert.equal(new Set([...first, ...again]).size, 7_500);
  assert.equal(slots.length, 7_500);
});

Deno.test("numbers that no held step has go to other values, those of held ones stay", async () => {
  const slots = new ValueSlots();
  const [old, kept] = [slots.slotsOf(idsOf(range(0, 300))), slots.slotsOf(idsOf(range(200, 400)))];
  slots.release(old.length);
  slots.release(old.length);
  await using(slots, [kept]);
  const other = slots.slotsOf(idsOf(range(1_000, 1_200)));
  assert.equal(slots.length, 400, "no new numbers");
  assert.equal(new Set([...kept, ...other]).size, 400);
  assert.deepEqual(slots.slotsOf(idsOf(range(200, 400))), kept);
});

Deno.test("they are idle once no step is held and nobody reads, and say what they take", async () => {
  const slots = new ValueSlots();
  assert.ok(slots.isIdle);
  const few = slots.bytes;
  const read = slots.slotsOf(idsOf(range(0, 5_000)));
  assert.ok(slots.bytes >= few + 5_000 * 40);
  slots.hold();
  assert.ok(!slots.isIdle);
  await slots.reading(() => [], () => {
    slots.release(read.length);
    assert.ok(!slots.isIdle);
    return Promise.resolve();
  });
  assert.ok(slots.isIdle);
});

Deno.test("while somebody reads, numbers stay whose they are", async () => {
  const slots = new ValueSlots();
  const read = slots.slotsOf(idsOf(range(0, 100)));
  await slots.reading(() => [], async () => {
    slots.release(1_000);
    await using(slots, []);
    assert.deepEqual(slots.slotsOf(idsOf(range(0, 100))), read);
    const more = slots.slotsOf(idsOf(range(100, 200)));
    assert.equal(new Set([...read, ...more]).size, 200);
  });
  assert.equal(slots.length, 0, "then nothing is left of what nobody holds");
});
