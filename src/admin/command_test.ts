import assert from "@std/assert";
import { OptionError } from "../shared/fault.ts";
import { readInput, timeOption, UsageError, usageOf } from "./command.ts";

Deno.test("the input is read to its end, over the borders of its pieces", async () => {
  const bytes = new TextEncoder().encode("a key – with more than ASCII\n");
  const pieces = Array.from(bytes, (_, at) => bytes.slice(at, at + 1));
  assert.equal(await readInput(ReadableStream.from(pieces)), "a key – with more than ASCII\n");
  assert.equal(await readInput(ReadableStream.from([])), "");
});

Deno.test("an endless input is refused before it fills the memory", async () => {
  const endless = async function* () {
    for (;;) yield await Promise.resolve(new Uint8Array(1024));
  };
  await assert.rejects(readInput(ReadableStream.from(endless())), /at most 65536 bytes/);
});

Deno.test("a time names its zone and a day that there is", () => {
  const read = (until: string) => timeOption({ until }, "until", "end")?.toISOString();
  assert.equal(read("2024-02-29T23:30:00-01:00"), "2024-03-01T00:30:00.000Z");
  assert.equal(read("2026-11-30T10:00Z"), "2026-11-30T10:00:00.000Z");
  const wrong = ["2026-11-31T00:00:00Z", "2026-02-29T00:00:00+01:00", "2026-13-01T00:00:00Z"];
  for (const text of [...wrong, "2026-11-30T10:00:00", "2026-11-31", "2026-11", "tomorrow"]) {
    assert.throws(() => read(text), UsageError, text);
  }
});

Deno.test("a plain day is one of UTC: a start is its first moment, and an end includes it", () => {
  const read = (at: string, edge: "start" | "end") => timeOption({ at }, "at", edge)?.toISOString();
  assert.equal(read("2024-02-28", "start"), "2024-02-28T00:00:00.000Z");
  assert.equal(read("2024-02-28", "end"), "2024-02-29T00:00:00.000Z");
  assert.equal(read("9999-12-31", "end"), "9999-12-31T23:59:59.999Z");
});

Deno.test("an option's error names the option as it is typed", () => {
  const shown = (field: string) => usageOf(new OptionError(field, "is wrong")).message;
  assert.equal(shown("cap_day_usd"), "--cap-day-usd: is wrong");
  assert.equal(shown("models[1]"), "--models: is wrong");
  assert.equal(shown("scopes"), "--scope: is wrong");
});
