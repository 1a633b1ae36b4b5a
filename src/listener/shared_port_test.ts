import assert from "@std/assert";
import { openTestListener } from "../../tests/support/listener.ts";
import { dial, listenersOf, pause } from "../../tests/support/raw_connection.ts";

Deno.test("each listener on a shared port finds that it is reachable, though others accept most checks", async () => {
  const ended: string[] = [];
  const alive = [0, 0, 0];
  const open = (port: number, at: number) =>
    openTestListener(() => new Response(String(at)), {}, {
      ...{ port, sharers: 3, onAlive: () => void alive[at]!++ },
    });
  const first = await open(0, 0);
  const listeners = [first, await open(first.port, 1), await open(first.port, 2)];
  const error = (line: string) => void ended.push(line);
  for (const listener of listeners) {
    const quiet = listenersOf(ended);
    listener.setListeners({ ...quiet, log: { ...quiet.log, error } });
  }
  try {
    // Twice a second, or later on a busy machine.
    for (let looks = 0; looks < 3_000 && ended.length === 0 && Math.min(...alive) < 4; looks++) {
      await pause(20);
    }
    assert.deepEqual(ended, [], `a port was opened anew, after ${alive.join()} checks`);
    assert.ok(Math.min(...alive) >= 4, `heard ${alive.join()} times`);
    const answered = new Set<string>();
    for (let call = 0; call < 60 && answered.size < 3; call++) {
      using connection = await dial(first.port);
      await connection.send("GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
      const text = await connection.rest();
      answered.add(text.slice(-1));
    }
    assert.deepEqual([...answered].toSorted(), ["0", "1", "2"]);
  } finally {
    await Promise.all(listeners.map((listener) => listener.abort()));
  }
});

Deno.test("a port that is not shared is refused to a second listener", async () => {
  const first = await openTestListener(() => new Response(""));
  try {
    await assert.rejects(
      openTestListener(() => new Response(""), {}, { port: first.port, sharers: 2 }),
      { code: "EADDRINUSE" },
    );
  } finally {
    await first.abort();
  }
});
