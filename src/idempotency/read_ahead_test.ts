import assert from "@std/assert";
import { ReadAhead } from "../base/read_ahead.ts";
import {
  request,
  settle,
  settleDown,
  setUpIdempotency,
  streamRun,
} from "../../tests/support/repeats.ts";

const kibibyte = 1024;
const pieceBytes = 64 * kibibyte;
const capacityBytes = 4096 * kibibyte;

Deno.test("callers who read nothing have bounded bytes read ahead of them, all together", async () => {
  const { one } = setUpIdempotency(["a"], { readAhead: new ReadAhead(capacityBytes) });
  const pulled = new Map<string, number>();
  for (let call = 0; call < 40; call++) {
    const id = `t${call}`;
    const asked = request({ requestId: id });
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        pulled.set(id, (pulled.get(id) ?? 0) + pieceBytes);
        if (pulled.get(id)! <= 1024 * kibibyte) {
          return controller.enqueue(new Uint8Array(pieceBytes));
        }
        settle(asked.trace, id, "completed");
        controller.close();
      },
    }, { highWaterMark: 0 });
    await one.idempotent(asked, () => Promise.resolve({ status: 200, headers: {}, body }));
  }
  await settleDown(2000);
  const bytes = [...pulled.values()].reduce((sum, one) => sum + one, 0);
  // A quarter of the room for the account, and what may wait for any reader: two pieces each.
  assert.ok(bytes <= capacityBytes / 4 + 40 * 2 * pieceBytes, `${bytes / kibibyte} KiB`);
  assert.ok(pulled.get("t0")! > 512 * kibibyte, "the first is read ahead");
});

Deno.test("a stream without room is read as its reader reads it, and is stored whole", async () => {
  const readAhead = new ReadAhead(0);
  const { one } = setUpIdempotency(["a"], { readAhead });
  const asked = request();
  const vendor = streamRun(asked.trace, "t1");
  const opened = await one.idempotent(asked, () => Promise.resolve(vendor.reply));
  for (let piece = 0; piece < 100; piece++) vendor.say("x".repeat(pieceBytes));
  const repeat = one.idempotent(request(), () => Promise.reject(new Error("never")));
  vendor.end();
  const text = await new Response(opened.body as ReadableStream<Uint8Array>).text();
  assert.equal(text.length, 100 * pieceBytes);
  const again = await new Response((await repeat).body as BodyInit).text();
  assert.ok(again === text, "the same bytes");
});
