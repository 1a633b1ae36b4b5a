import assert from "@std/assert";
import { pulledStream, type UnreadTimeout } from "./pulled_stream.ts";

function source(pieces: number, patience?: UnreadTimeout) {
  const seen = { given: 0, ended: false };
  async function* generate() {
    try {
      for (let n = 0; n < pieces; n++) {
        seen.given++;
        yield await Promise.resolve(new Uint8Array([n]));
      }
    } finally {
      seen.ended = true;
    }
  }
  return { seen, stream: pulledStream(generate(), patience) };
}

Deno.test("nothing is taken before it is asked for, and then no more than that", async () => {
  const { seen, stream } = source(5);
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(seen.given, 0);
  const reader = stream.getReader();
  assert.deepEqual((await reader.read()).value, new Uint8Array([0]));
  await new Promise((resolve) => setImmediate(resolve));
  assert.equal(seen.given, 1);
  await reader.cancel();
});

Deno.test("a reader that leaves ends the source; one that stays gets all of it", async () => {
  const left = source(5);
  const reader = left.stream.getReader();
  await reader.read();
  await reader.cancel();
  assert.deepEqual(left.seen, { given: 1, ended: true });
  const whole = source(3);
  assert.deepEqual(
    new Uint8Array(await new Response(whole.stream).arrayBuffer()),
    new Uint8Array([0, 1, 2]),
  );
  assert.equal(whole.seen.ended, true);
});

Deno.test("a stream that nobody begins to read ends in time, one that is read may be read slowly", async () => {
  const timers = new Set<() => void>();
  const later = (_ms: number, run: () => void) => {
    timers.add(run);
    return () => void timers.delete(run);
  };
  let ended = 0;
  const over = () => Promise.resolve({ done: true, value: void ended++ } as const);
  // What it holds is open before anything is read.
  const open = { [Symbol.asyncIterator]: () => ({ next: over, return: over }) };
  const unread = pulledStream(open, { unreadMs: 1000, setTimer: later });
  assert.equal(timers.size, 1);
  for (const run of timers) run();
  assert.equal(ended, 1);
  await assert.rejects(unread.getReader().read(), /nobody read/);
  timers.clear();
  const { stream } = source(5, { unreadMs: 1000, setTimer: later });
  const reader = stream.getReader();
  assert.equal((await reader.read()).done, false);
  assert.equal(timers.size, 0);
  await reader.cancel();
});
