import assert from "@std/assert";
import type { IncomingMessage, ServerResponse } from "node:http";
import v8 from "node:v8";
import vm from "node:vm";
import { openTestListener as open } from "../../tests/support/listener.ts";
import { listenersOf, pause } from "../../tests/support/raw_connection.ts";
import { cutOnFailure } from "./cut_answer.ts";

Deno.test("an answer whose stream fails is cut off, and its error is told to nobody but the log", async () => {
  const printed: unknown[] = [];
  const print = console.error;
  console.error = (...all) => void printed.push(...all);
  try {
    for (const ms of [0, 50]) {
      let pieces = 0;
      const listener = await open(() =>
        new Response(
          new ReadableStream<Uint8Array>({
            async pull(controller) {
              if (pieces++ === 0) return controller.enqueue(new TextEncoder().encode("begun"));
              if (ms > 0) await pause(ms);
              throw new RangeError("a secret of the database");
            },
          }, { highWaterMark: 0 }),
        )
      );
      const lines: string[] = [];
      const note = (message: string, fields?: object) =>
        void lines.push(`${message} ${JSON.stringify(fields)}`);
      listener.setListeners({ ...listenersOf([]), log: { info: note, warn: note, error: note } });
      using connection = await Deno.connect({ hostname: "127.0.0.1", port: listener.port });
      await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\n\r\n"));
      const said = await new Response(connection.readable).text();
      assert.doesNotMatch(said, /secret|Error|\r\n0\r\n\r\n$/, `${ms} ms`);
      assert.deepEqual(lines, ['an answer broke off: its stream failed {"reason":"RangeError"}']);
      await listener.drain(1000);
    }
  } finally {
    console.error = print;
  }
  assert.deepEqual(printed, []);
});

Deno.test("a caller that reads late gets all that came before the failure", async () => {
  let made = 0;
  const failed = Promise.withResolvers<void>();
  const listener = await open((_request, _ip, incoming) => {
    const { socket } = incoming as IncomingMessage;
    return new Response(
      new ReadableStream<Uint8Array>({
        async pull(controller) {
          // Until something waits in this process: the system has no room left for this caller.
          if (socket.writableLength === 0) {
            made += 15_000;
            controller.enqueue(new Uint8Array(15_000).fill(97));
            await pause(0);
          } else {
            controller.error(new RangeError("failed"));
            failed.resolve();
          }
        },
      }, { highWaterMark: 0 }),
    );
  });
  using connection = await Deno.connect({ hostname: "127.0.0.1", port: listener.port });
  await connection.write(new TextEncoder().encode("GET / HTTP/1.1\r\nhost: x\r\n\r\n"));
  await failed.promise;
  await pause(20);
  const text = await new Response(connection.readable).text();
  assert.equal(text.match(/aaa*/g)?.join("").length, made);
  assert.doesNotMatch(text.slice(-10), /\r\n0\r\n\r\n$/);
  await listener.drain(1000);
});

Deno.test("an answer that was cut off stays in nobody's memory", async () => {
  v8.setFlagsFromString("--expose-gc");
  const gc: () => void = vm.runInNewContext("gc");
  const read = () => {
    const body = new ReadableStream({ pull: () => Promise.reject(new RangeError("failed")) });
    const outgoing = { destroyed: false, destroy: () => {} } as unknown as ServerResponse;
    const reader = cutOnFailure(new Response(body), outgoing, () => {}).body!.getReader();
    void reader.read().then(() => reader);
    return new WeakRef(reader);
  };
  const reader = read();
  await pause(1);
  gc();
  assert.equal(reader.deref(), undefined);
});
