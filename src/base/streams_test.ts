import assert from "@std/assert";
import { pushStream } from "./streams.ts";

const encoder = new TextEncoder();

Deno.test("pushed bytes are read in order and the stream ends after them", async () => {
  const pushed = pushStream();
  pushed.push(encoder.encode("a"));
  pushed.push(encoder.encode(""));
  pushed.push(encoder.encode("b"));
  pushed.close();
  pushed.push(encoder.encode("too late"));
  pushed.close();
  assert.equal(await new Response(pushed.stream).text(), "ab");
});

Deno.test("a reader that is behind is reported, and reported again when it has caught up", async () => {
  const pushed = pushStream(4);
  let drained = 0;
  pushed.onDrain(() => drained++);
  assert.equal(pushed.push(encoder.encode("abc")), true);
  assert.equal(pushed.push(encoder.encode("d")), false);
  assert.equal(pushed.push(encoder.encode("e")), false);
  const reader = pushed.stream.getReader();
  await reader.read();
  assert.equal(drained, 1);
  await reader.read();
  await reader.read();
  assert.equal(drained, 1);
  assert.equal(pushed.push(encoder.encode("fghi")), false);
  await reader.read();
  assert.equal(drained, 2);
});

Deno.test("cancelling is reported once, and bytes are dropped from then on", async () => {
  const pushed = pushStream(4);
  const reasons: unknown[] = [];
  pushed.onCancel((reason) => reasons.push(reason));
  pushed.push(encoder.encode("abcdef"));
  const reader = pushed.stream.getReader();
  await reader.cancel("gone");
  await reader.cancel("again");
  assert.deepEqual(reasons, ["gone"]);
  assert.equal(pushed.push(encoder.encode("abcdefgh")), true);
  pushed.close();
  pushed.error(new Error("too late"));
  assert.deepEqual(reasons, ["gone"]);
});

Deno.test("a listener that is added after the cancellation is called at once", async () => {
  const pushed = pushStream();
  await pushed.stream.cancel("gone");
  const reasons: unknown[] = [];
  pushed.onCancel((reason) => reasons.push(reason));
  assert.deepEqual(reasons, ["gone"]);
});

Deno.test("reading to the end doesn't cancel", async () => {
  const pushed = pushStream();
  let cancelled = 0;
  pushed.onCancel(() => cancelled++);
  pushed.push(encoder.encode("a"));
  pushed.close();
  await new Response(pushed.stream).text();
  assert.equal(cancelled, 0);
});

Deno.test("an error breaks the reader, once it has read what was pushed before", async () => {
  for (const count of [0, 3]) {
    const pushed = pushStream();
    for (let at = 0; at < count; at++) pushed.push(new Uint8Array(100_000));
    pushed.error(new Error("cut"));
    let bytes = 0;
    const read = async () => {
      for await (const piece of pushed.stream) bytes += piece.length;
    };
    await assert.rejects(read, /cut/);
    assert.equal(bytes, count * 100_000);
  }
});

Deno.test("a stream that is broken off fails at once: what nobody has read is dropped", async () => {
  const pushed = pushStream();
  pushed.push(encoder.encode("a"));
  pushed.breakOff(new Error("unread"));
  assert.equal(pushed.push(encoder.encode("b")), true);
  await assert.rejects(pushed.stream.getReader().read(), /unread/);
});

Deno.test("a caller of Deno.serve who leaves cancels the stream once, back-pressure or not", async () => {
  for (const size of [1, 1 << 20]) {
    const pushed = pushStream();
    const left = Promise.withResolvers<void>();
    let cancelled = 0;
    pushed.onCancel(() => {
      cancelled++;
      left.resolve();
    });
    const server = Deno.serve(
      { port: 0, hostname: "127.0.0.1", onListen: () => {} },
      () => new Response(pushed.stream),
    );
    const caller = new AbortController();
    const response = await fetch(`http://127.0.0.1:${server.addr.port}/`, {
      signal: caller.signal,
    });
    pushed.push(new Uint8Array(size));
    const reader = response.body?.getReader();
    await reader?.read();
    // Ten megabytes are more than the sockets' buffers hold.
    for (let count = 0; size > 1 && count < 10; count++) pushed.push(new Uint8Array(size));
    caller.abort();
    await reader?.read().catch(() => {});
    await left.promise;
    await server.shutdown();
    assert.equal(cancelled, 1);
  }
});

Deno.test("a sink gets what waits and what comes, as long as it has room", () => {
  const pushed = pushStream(4);
  const seen: string[] = [];
  let drained = 0;
  let hasRoom = true;
  pushed.onDrain(() => drained++);
  pushed.push(encoder.encode("ab"));
  assert.equal(pushed.push(encoder.encode("cd")), false);
  const feed = pushed.stream.feedInto({
    write(bytes) {
      seen.push(new TextDecoder().decode(bytes));
      return hasRoom;
    },
    end: () => void seen.push("end"),
    fail: () => void seen.push("failed"),
  });
  assert.deepEqual([seen, drained, pushed.takenBytes], [["ab", "cd"], 1, 4]);
  assert.throws(() => pushed.stream.getReader());
  hasRoom = false;
  assert.equal(pushed.push(encoder.encode("e")), true);
  assert.equal(pushed.push(encoder.encode("fgh")), true);
  assert.equal(pushed.push(encoder.encode("i")), false);
  pushed.close();
  assert.deepEqual([seen.length, pushed.takenBytes], [3, 5]);
  feed.more();
  assert.deepEqual([seen.at(-1), drained], ["fgh", 2]);
  feed.more();
  feed.more();
  feed.cancel("too late");
  assert.deepEqual(seen.slice(-2), ["i", "end"]);
});

Deno.test("what waits for a slow reader comes in its order, whatever is pushed in between", () => {
  const pushed = pushStream();
  const seen: number[] = [];
  const fed = pushed.stream.feedInto({
    write: (bytes) => seen.push(bytes[0]!) === 0,
    end: () => {},
    fail: () => {},
  });
  let next = 0;
  for (let round = 0; round < 20; round++) {
    for (let count = 0; count < 10; count++) pushed.push(Uint8Array.of(next++));
    for (let count = 0; count < 7; count++) fed.more();
    assert.equal(pushed.takenBytes, seen.length);
  }
  while (seen.length < next) fed.more();
  assert.deepEqual(seen, Array.from({ length: next }, (_, at) => at));
});

Deno.test("a sink that leaves cancels once, and one that stays gets a failure after the rest", () => {
  const sink = () => {
    const seen: unknown[] = [];
    return {
      seen,
      write: () => false,
      end: () => void seen.push("end"),
      fail: seen.push.bind(seen),
    };
  };
  const left = pushStream();
  const reasons: unknown[] = [];
  left.onCancel((reason) => reasons.push(reason));
  const one = sink();
  const feed = left.stream.feedInto(one);
  feed.cancel("gone");
  feed.cancel("again");
  assert.equal(left.push(encoder.encode("x")), true);
  left.close();
  assert.deepEqual([reasons, one.seen], [["gone"], []]);
  const failing = pushStream();
  const other = sink();
  const fed = failing.stream.feedInto(other);
  failing.push(encoder.encode("a"));
  failing.push(encoder.encode("b"));
  failing.error("cut");
  assert.deepEqual(other.seen, []);
  fed.more();
  failing.close();
  assert.deepEqual(other.seen, ["cut"]);
});

Deno.test("a sink that is added after the end of the stream gets its outcome", () => {
  const fed = (over: (pushed: ReturnType<typeof pushStream>) => void) => {
    const pushed = pushStream();
    over(pushed);
    const seen: unknown[] = [];
    pushed.stream.feedInto({
      write: (bytes) => seen.push(new TextDecoder().decode(bytes)) > 0,
      end: () => void seen.push("end"),
      fail: (reason) => void seen.push(reason),
    });
    return seen;
  };
  assert.deepEqual(fed((pushed) => pushed.close()), ["end"]);
  assert.deepEqual(
    fed((pushed) => {
      pushed.push(encoder.encode("said before"));
      pushed.error("broken");
    }),
    ["said before", "broken"],
  );
  assert.deepEqual(fed((pushed) => pushed.error("broken")), ["broken"]);
});
