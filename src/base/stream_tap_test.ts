import assert from "@std/assert";
import { settleDown } from "../../tests/support/repeats.ts";
import { ReadAhead } from "./read_ahead.ts";
import { tapStream } from "./stream_tap.ts";

const pieceBytes = 64 * 1024;

/** A tap whose source has that many pieces of 64 KiB; the account may have a quarter of the room. */
async function setUp({ room, pieces }: { room: ReadAhead; pieces: number }) {
  let pulled = 0;
  const source = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (pulled === pieces) return controller.close();
      pulled++;
      controller.enqueue(new Uint8Array(pieceBytes));
    },
  }, { highWaterMark: 0 });
  const left = new AbortController();
  const stream = tapStream(source, {
    ...{ piece: (bytes) => bytes, aheadBytes: 32 * pieceBytes, ahead: room.open(1) },
    ...{ readsOn: () => true, ended: () => Promise.resolve(), broken() {} },
  }, left.signal);
  await settleDown();
  const reader = stream.getReader();
  const take = async () => {
    const { done } = await reader.read();
    await settleDown();
    return !done;
  };
  return { take, left, pulled: () => pulled };
}

Deno.test("a stream without room goes on with each piece that its reader takes", async () => {
  const room = new ReadAhead(64 * pieceBytes);
  const { take, pulled } = await setUp({ room, pieces: 40 });
  const ahead = pulled();
  assert.ok(ahead > 8 && ahead <= 16, `${ahead} pieces`);
  const before = room.bytes;
  for (let taken = 1; taken <= 20; taken++) {
    await take();
    assert.equal(pulled(), ahead + taken);
    assert.equal(room.bytes, before);
  }
});

Deno.test("what a reader takes behind the end of its stream makes room at once", async () => {
  const room = new ReadAhead(1024 * pieceBytes);
  const { take } = await setUp({ room, pieces: 10 });
  for (let waiting = 9; waiting > 0; waiting--) {
    await take();
    assert.equal(room.bytes, waiting * pieceBytes, `${waiting} wait`);
  }
});

Deno.test("a stream that waits for room that others hold gets it with the next piece taken", async () => {
  const room = new ReadAhead(64 * pieceBytes);
  const other = room.open(1);
  other.hold(60 * pieceBytes);
  const { take, pulled, left } = await setUp({ room, pieces: 40 });
  assert.ok(pulled() <= 2, `${pulled()} pieces`);
  other.release();
  await take();
  assert.ok(pulled() > 8, `${pulled()} pieces`);
  left.abort();
  assert.equal(room.bytes, 0);
});
