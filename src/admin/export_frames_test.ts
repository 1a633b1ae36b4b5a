import assert from "@std/assert";
import { UsageError } from "./command.ts";
import type { ExportEvent } from "./export_command.ts";
import { decodeFrames, encodeFrames } from "./export_frames.ts";

const events: ExportEvent[] = [
  { kind: "total", rows: 3 },
  { kind: "data", bytes: new Uint8Array([1, 2, 3]), rows: 1 },
  { kind: "data", bytes: new Uint8Array(70_000).fill(7), rows: 3 },
  { kind: "end", rows: 3 },
];

async function* given(list: readonly ExportEvent[], failure?: Error) {
  for (const event of list) yield await Promise.resolve(event);
  if (failure) throw failure;
}

async function* resplit(pieces: AsyncIterable<Uint8Array>, size: number) {
  const all: number[] = [];
  for await (const piece of pieces) for (const byte of piece) all.push(byte);
  for (let at = 0; at < all.length; at += size) yield new Uint8Array(all.slice(at, at + size));
}

async function collect<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

for (const size of [1, 4, 5, 1000, 1_000_000]) {
  Deno.test(`events survive the way in pieces of ${size} bytes`, async () => {
    const decoded = await collect(decodeFrames(resplit(encodeFrames(given(events)), size)));
    assert.deepEqual(decoded, events);
  });
}

Deno.test("a failure in the middle arrives with its message, and wrong usage as wrong usage", async () => {
  for (const failure of [new Error("the store is away"), new UsageError("--from x")]) {
    const decoded = collect(decodeFrames(encodeFrames(given(events.slice(0, 2), failure))));
    await assert.rejects(decoded, (thrown: unknown) => {
      assert.equal((thrown as Error).message, failure.message);
      assert.equal(thrown instanceof UsageError, failure instanceof UsageError);
      return true;
    });
  }
});

Deno.test("frames that end too early are an error", async () => {
  const cut = resplit(encodeFrames(given(events.slice(0, 3))), 100);
  await assert.rejects(collect(decodeFrames(cut)), /ended before the export did/);
});
