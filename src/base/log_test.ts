import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { createLog, OutputLines, stdoutLines } from "./log.ts";

function reader() {
  const out: string[] = [];
  let opened = Promise.withResolvers<void>();
  return {
    out,
    open: () => opened.resolve(),
    shut: () => opened = Promise.withResolvers<void>(),
    write: async (bytes: Uint8Array) => {
      await opened.promise;
      // A pipe takes what it has room for.
      const taken = bytes.subarray(0, 7);
      out.push(new TextDecoder().decode(taken));
      return taken.length;
    },
  };
}

Deno.test("a caller's text controls no terminal that shows the log, in either format", () => {
  const model = "a\x1b[2J\x9b31m\x7f\n\u0085b\u2028c\u2029\u202e\u2066\u2069";
  for (const eventOf of [undefined, () => "event"]) {
    const lines: string[] = [];
    createLog((line) => lines.push(line), () => new Date(0), {}, eventOf).info("refused", {
      model,
    });
    assert.doesNotMatch(lines[0]!, /\p{Cc}/u);
    assert.match(
      lines[0]!,
      /\\u001b\[2J\\u009b31m\\u007f\\n\\u0085b\\u2028c\\u2029\\u202e\\u2066\\u2069/,
    );
    if (eventOf) assert.equal(JSON.parse(lines[0]!).model, model);
  }
});

Deno.test("lines go out whole and in order, however little the output takes at once", async () => {
  const { out, open, write } = reader();
  const lines = stdoutLines({ write });
  open();
  lines.write("the first line");
  lines.write("the second");
  await lines.flush();
  lines.write("a third");
  await lines.flush();
  assert.equal(out.join(""), "the first line\nthe second\na third\n");
});

Deno.test("unread lines beyond the bound are dropped and counted, and the count is reported once the output is read", async () => {
  const { out, open, write } = reader();
  const lines = stdoutLines({ write, maxWaiting: 100 });
  lines.onDropped((dropped) => lines.write(`${dropped} dropped`));
  lines.write("x".repeat(90));
  // The first is with the system.
  await Promise.resolve();
  lines.write("y".repeat(90));
  lines.write("lost");
  lines.write("lost again".repeat(3));
  assert.equal(lines.dropped, 1);
  lines.print("z".repeat(200));
  open();
  await lines.flush();
  assert.deepEqual(out.join("").trim().split("\n").map((line) => line.slice(0, 5)), [
    "xxxxx",
    "yyyyy",
    "lost",
    "zzzzz",
    "1 dro",
  ]);
});

Deno.test("a flush waits for a reader no longer than its time", async () => {
  let expire = () => {};
  const lines = stdoutLines({
    write: () => new Promise(() => {}),
    setTimer: (_ms, run) => {
      expire = run;
      return () => {};
    },
  });
  lines.write("never read");
  const flushed = lines.flush();
  expire();
  await flushed;
});

Deno.test("a line that may wait is written with others: soon, with trouble's, or by a flush", async () => {
  const timers = new FakeTimers();
  const written: string[] = [];
  const lines = new OutputLines({
    write: (bytes) => {
      written.push(new TextDecoder().decode(bytes));
      return Promise.resolve(bytes.length);
    },
    lingerMs: 20,
    setTimer: timers.later,
  });
  const log = createLog((line, mayWait) => lines.write(line, mayWait), () => new Date(0));
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const shown = () => written.splice(0).map((text) => text.replace(/^\S+ /gm, ""));
  log.info("a");
  log.info("b");
  timers.advance(19);
  await turn();
  assert.deepEqual(shown(), []);
  timers.advance(1);
  await turn();
  assert.deepEqual(shown(), ["info a\ninfo b\n"]);
  log.info("c");
  log.error("d");
  await turn();
  assert.deepEqual(shown(), ["info c\nerror d\n"]);
  log.info("e");
  await lines.flush();
  assert.deepEqual(shown(), ["info e\n"]);
  assert.equal(timers.pending, 0, "no timer is left behind");
});

Deno.test("lines that can't be written stop nothing, and are counted and reported", async () => {
  let isFull = true;
  const shown: string[] = [];
  const lines = stdoutLines({
    write: (bytes) => {
      if (isFull) return Promise.reject(new Error("No space left on device"));
      shown.push(new TextDecoder().decode(bytes));
      return Promise.resolve(bytes.length);
    },
  });
  lines.onDropped((count) => lines.write(`dropped ${count}`));
  for (const line of ["one", "two"]) lines.write(line);
  await lines.flush();
  lines.write("three");
  await lines.flush();
  assert.equal(lines.dropped, 3);
  isFull = false;
  lines.write("four");
  await lines.flush();
  assert.deepEqual([shown, lines.dropped], [["four\n", "dropped 3\n"], 3]);
});

Deno.test("the rest of a line that was cut off by a full disk isn't joined to the next line", async () => {
  let room = 6;
  let shown = "";
  const lines = stdoutLines({
    write: (bytes) => {
      if (room === 0) return Promise.reject(new Error("No space left on device"));
      const written = bytes.subarray(0, room);
      room -= written.length;
      shown += new TextDecoder().decode(written);
      return Promise.resolve(written.length);
    },
  });
  for (const line of ["one", "two", "three"]) lines.write(line);
  await lines.flush();
  assert.deepEqual([shown, lines.dropped], ["one\ntw", 3], "at most three are lost");
  room = 100;
  lines.write("four");
  lines.write("five");
  await lines.flush();
  assert.equal(shown, "one\ntw\nfour\nfive\n");
});
