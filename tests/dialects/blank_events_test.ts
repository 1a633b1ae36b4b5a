import assert from "@std/assert";
import { SseSplitter } from "../../src/base/sse.ts";
import { dialects, names } from "./translated.ts";

for (const name of names) {
  Deno.test(`${name}: an event of blanks keeps a stream alive and fails nothing`, () => {
    const bytes = new TextEncoder().encode("data:  \n\n: alive\n\ndata:\n\n");
    const decoder = dialects[name].createStreamDecoder({}, 1);
    const events = new SseSplitter({ maxEventBytes: 4096 }).push(bytes);
    assert.ok(events.length >= 2);
    assert.deepEqual(events.flatMap((event) => decoder.decode(event).events), []);
  });
}
