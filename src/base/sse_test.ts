import assert from "@std/assert";
import { Random } from "../../tests/support/random.ts";
import { type SseEvent, SseEventTooLargeError, SseSplitter } from "./sse.ts";

const encoder = new TextEncoder();

function split(chunks: Uint8Array[], maxEventBytes = 1 << 20): SseEvent[] {
  const splitter = new SseSplitter({ maxEventBytes });
  return [...chunks.flatMap((chunk) => splitter.push(chunk)), ...splitter.end()];
}

function plain(events: readonly SseEvent[]) {
  return events.map(({ event, data, terminated, bytes }) => ({
    event,
    data,
    terminated,
    bytes: [...bytes],
  }));
}

function parse(text: string): [string | undefined, string | undefined, boolean][] {
  return split([encoder.encode(text)]).map((e) => [e.event, e.data, e.terminated]);
}

Deno.test("fields are read as the HTML standard says", () => {
  assert.deepEqual(parse("data: {}\n\n"), [[undefined, "{}", true]]);
  assert.deepEqual(parse("data:{}\n\ndata:  x\n\n"), [
    [undefined, "{}", true],
    [undefined, " x", true],
  ]);
  assert.deepEqual(parse("event: ping\ndata: a\ndata: b\ndata\ndata:\n\n"), [
    ["ping", "a\nb\n\n", true],
  ]);
  assert.deepEqual(parse("event: a\nevent: b\nid: 7\nretry: 1\n\n"), [["b", undefined, true]]);
  assert.deepEqual(parse(": keep alive\n\n:\n\n"), [[undefined, undefined, true]]);
  assert.deepEqual(parse("database: x\ndat: y\n data: z\n\n"), [[undefined, undefined, true]]);
  assert.deepEqual(parse("data:\ndata: é😀\n\n"), [[undefined, "\né😀", true]]);
});

Deno.test("LF, CRLF and CR end lines, alone and mixed", () => {
  const expected = [["e", "1", true], [undefined, "2", true]];
  for (const eol of ["\n", "\r\n", "\r"]) {
    const text = ["event: e", "data: 1", "", "data: 2", "", ""].join(eol);
    assert.deepEqual(parse(text), expected, JSON.stringify(eol));
  }
  assert.deepEqual(parse("event: e\rdata: 1\r\n\ndata: 2\n\r\n"), expected);
});

Deno.test("a BOM is skipped at the start only, and a half one is text", () => {
  assert.deepEqual(parse("\ufeffdata: 1\n\ndata: \ufeff2\n\n\ufeffdata: 3\n\n"), [
    [undefined, "1", true],
    [undefined, "\ufeff2", true],
    [undefined, undefined, true],
  ]);
  const half = new Uint8Array([0xef, 0xbb, ...encoder.encode("\ndata: 1\n\n")]);
  assert.deepEqual(split([half]).map((e) => e.data), ["1"]);
});

Deno.test("comments and blank lines that follow one another in a chunk are one event", () => {
  for (const eol of ["\n", "\r\n", "\r"]) {
    for (const silent of [eol, `: x${eol}${eol}`, `:${eol}${eol}${eol}: y${eol}${eol}`]) {
      const run = silent.repeat(1_000);
      const text = `data: 1${eol}${eol}${run}: z${eol}data: 2${eol}${eol}${run}data: 3${eol}${eol}`;
      const events = split([encoder.encode(text)]);
      assert.deepEqual(events.map(({ data }) => data), ["1", undefined, "2", undefined, "3"]);
      assert.equal(events.map(({ bytes }) => new TextDecoder().decode(bytes)).join(""), text);
      // A CR at the end of a chunk may be half a CRLF, so its event comes apart.
      assert.equal(parse(run).length, eol === "\r" ? 2 : 1);
    }
  }
});

Deno.test("a last event without its blank line is delivered and flagged", () => {
  assert.deepEqual(parse("data: 1\n\ndata: 2"), [[undefined, "1", true], [undefined, "2", false]]);
  assert.deepEqual(parse("data: 2\r\n"), [[undefined, "2", false]]);
  assert.deepEqual(parse("data: 2\r\r"), [[undefined, "2", true]]);
  assert.deepEqual(parse(""), []);
});

Deno.test("an event inside one chunk is a view of the chunk, one that spans chunks is joined", () => {
  const chunk = encoder.encode("data: 1\n\ndata: 2\n\ndata: ");
  const splitter = new SseSplitter({ maxEventBytes: 100 });
  const events = splitter.push(chunk);
  assert.deepEqual(events.map((e) => e.data), ["1", "2"]);
  assert.ok(events.every((e) => e.bytes.buffer === chunk.buffer));
  const rest = splitter.push(encoder.encode("3\n\n"));
  assert.equal(new TextDecoder().decode(rest[0]?.bytes), "data: 3\n\n");
});

Deno.test("an event above the cap is refused, whole or still growing, after those before it", () => {
  const cases = [["data: 1\n\ndata: 2345678\n\n"], ["data: 1\n\ndata: 23", "45", "6789"]];
  for (const chunks of cases) {
    const splitter = new SseSplitter({ maxEventBytes: 12 });
    const seen: (string | undefined)[] = [];
    let thrown: unknown;
    try {
      for (const chunk of chunks) {
        seen.push(...splitter.push(encoder.encode(chunk)).map((e) => e.data));
      }
    } catch (error) {
      thrown = error;
    }
    if (!(thrown instanceof SseEventTooLargeError)) throw new Error("The cap was not applied");
    seen.push(...thrown.before.map((e) => e.data));
    assert.deepEqual(seen, ["1"]);
  }
  const fits = new SseSplitter({ maxEventBytes: 12 });
  assert.equal(fits.push(encoder.encode("data: 2345\n\n")).length, 1);
});

Deno.test("an event has at most 250,000 lines, however short they are", () => {
  for (const line of ["data:\n", "a:b\n", "data:\r", ":\r\n"]) {
    const splitter = new SseSplitter({ maxEventBytes: 32 * 1024 * 1024 });
    const chunk = encoder.encode(line.repeat(25_000));
    for (let count = 0; count < 10; count++) splitter.push(chunk);
    assert.throws(() => splitter.push(encoder.encode(line.repeat(2))), /more than 250000 lines/);
  }
  const events = new SseSplitter({ maxEventBytes: 100 });
  let count = 0;
  for (let round = 0; round < 30; round++) {
    count += events.push(encoder.encode("data: 1\n\n".repeat(10_000))).length;
  }
  assert.equal(count, 300_000);
});

Deno.test("what events say doesn't depend on where the bytes are cut, and their bytes are all the bytes", () => {
  const random = new Random(20261121);
  const pieces = ["data: ", "data:", "data", "event: x", ": note", "id: 1", "\n", "\r", "\r\n"]
    .concat(["\n\n", "\r\n\r\n", '{"a":"é😀"}', "\ufeff", "x", "[DONE]", "\r\r"]);
  for (let round = 0; round < 3000; round++) {
    let text = "";
    for (let count = random.below(24); count > 0; count--) {
      text += pieces[random.below(pieces.length)];
    }
    const bytes = encoder.encode(text);
    const whole = split([bytes]);
    assert.deepEqual(whole.flatMap((e) => [...e.bytes]), [...bytes], JSON.stringify(text));
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) {
      const end = Math.min(bytes.length, at + random.below(5));
      chunks.push(bytes.subarray(at, end));
      at = end;
    }
    assert.deepEqual(joinedRuns(split(chunks)), joinedRuns(whole), JSON.stringify(text));
    const reference = referenceEvents(text);
    assert.deepEqual(
      whole.filter((e) => e.terminated && e.data !== undefined).map((e) => [e.event, e.data]),
      reference,
      JSON.stringify(text),
    );
  }
});

/** The events, with comments and blank lines that follow one another as one of them. */
function joinedRuns(events: readonly SseEvent[]) {
  const joined: ReturnType<typeof plain> = [];
  let isRun = false;
  for (const [index, event] of plain(events).entries()) {
    const text = new TextDecoder("utf-8", { ignoreBOM: index > 0 })
      .decode(new Uint8Array(event.bytes));
    const isSilent = event.terminated && /^(?:(?::[^\r\n]*)?(?:\r\n|\n|\r))+$/.test(text);
    if (isSilent && isRun) joined.at(-1)!.bytes.push(...event.bytes);
    else joined.push(event);
    isRun = isSilent;
  }
  return joined;
}

/** A slow reading of the standard to compare with: whole text, regular expressions, no bytes. */
function referenceEvents(text: string): [string | undefined, string][] {
  const events: [string | undefined, string][] = [];
  const lines = text.replace(/^\ufeff/, "").split(/\r\n|\n|\r/);
  lines.pop();
  let event: string | undefined;
  let data: string[] = [];
  for (const line of lines) {
    if (line === "") {
      if (data.length > 0) events.push([event, data.join("\n")]);
      event = undefined;
      data = [];
      continue;
    }
    const [, name, value = ""] = /^([^:]*)(?:: ?([^]*))?$/.exec(line) ?? [];
    if (name === "data") data.push(value);
    if (name === "event") event = value;
  }
  return events;
}
