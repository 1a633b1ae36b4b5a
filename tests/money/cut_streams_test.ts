/** Vendors' streams that break off: each call is a row, and is charged for what it brought. */
import assert from "@std/assert";
import { SseSplitter } from "../../src/base/sse.ts";
import type { CanonicalEvent } from "../../src/dialects/kernel/canonical.ts";
import { bytesOf, dialects, type Name, names } from "../dialects/translated.ts";
import { answersOf, framesOf, recordingsIn } from "../dialects/recordings.ts";
import { type FakeExchange } from "../support/fake_vendor.ts";
import { nanosOf, startFourVendors } from "../support/four_vendors.ts";
import { loopTurns } from "../support/loop_turns.ts";

/**
 * `CUTS=all deno task test tests/money/cut_streams_test.ts` cuts at every event; else so many cuts
 * of each stream are made, spread over it.
 */
const cuts = Deno.env.get("CUTS") ?? "3";
const folders = [
  new URL("../../../shared/recorded/", import.meta.url),
  new URL("../fixtures/answers/", import.meta.url),
];

/** A stream up to a place, and what becomes of its connection there. */
interface Cut {
  name: string;
  vendor: Name;
  bytes: Uint8Array;
  /** `spoilt`: head, bytes and a broken chunk come in one read. */
  how: "closed" | "cut" | "reset" | "spoilt";
}

Deno.test("a stream that breaks off anywhere is one row and one charge, for callers of every dialect", async () => {
  await using service = await startFourVendors();
  const all = folders.flatMap((folder) => names.flatMap((vendor) => cutsOf(folder, vendor)));
  const calls: { id: string | null; cut: Cut; caller: Name; seen: string }[] = [];
  const left = all.flatMap((cut) => names.map((caller) => ({ cut, caller })));
  const work = async () => {
    for (let next = left.pop(); next; next = left.pop()) {
      const { cut, caller } = next;
      const script = (exchange: FakeExchange) => breakOff(exchange, cut);
      const response = await service.call({ caller, vendor: cut.vendor, stream: true, script });
      const seen = await response.text();
      calls.push({ ...next, seen, id: response.headers.get("x-transaction-id") });
    }
  };
  await Promise.all(Array.from({ length: 16 }, work));
  const rows = await service.rows();
  const byId = Map.groupBy(rows, (row) => String(row.transaction_id));
  const wrong: string[] = [];
  for (const { id, cut, caller, seen } of calls) {
    const found = byId.get(String(id)) ?? [];
    const charged = nanosOf(found[0]?.charged_usd);
    const what = `${cut.vendor} to ${caller}: ${cut.name}`;
    if (found.length !== 1) wrong.push(`${found.length} rows: ${what}`);
    else if (charged === 0n && hasSaid(cut)) wrong.push(`charged nothing: ${what}`);
    else if (!isEnded(seen)) wrong.push(`ends within an event: ${what}`);
    else if ((found[0]!.status === "completed") === hasError(seen)) {
      wrong.push(`${found[0]!.status}, unlike what its caller was told: ${what}`);
    }
  }
  const sum = rows.reduce((all, row) => all + nanosOf(row.charged_usd), 0n);
  const lost = service.log.filter((line) => line.includes("could not be written to the journal"));
  console.log(`${calls.length} calls, ${rows.length} rows, ${wrong.length} wrong`);
  assert.deepEqual({ wrong: wrong.slice(0, 20), lost: lost.slice(0, 3) }, { wrong: [], lost: [] });
  assert.equal(rows.length, calls.length);
  assert.equal(await service.spentNanos(), sum);
});

function cutsOf(folder: URL, vendor: Name): Cut[] {
  return recordingsIn(folder, vendor, ".chunks.txt").flatMap(({ name, text }) =>
    answersOf(text).flatMap((payloads) => {
      const frames = framesOf(vendor, payloads);
      return placesIn(frames.length).flatMap((count): Cut[] => {
        const whole = joined(frames.slice(0, count));
        const at = `${name} after ${count} of ${frames.length} events`;
        const next = frames[count];
        const ends = [{ name: at, vendor, bytes: whole, how: count % 2 === 0 ? "closed" : "cut" }];
        if (!next) return ends as Cut[];
        const half = joined([whole, next.subarray(0, placeInside(next))]);
        const how = (["reset", "spoilt", "cut"] as const)[count % 3];
        return [...ends, { name: `${at} and a half`, vendor, bytes: half, how }] as Cut[];
      });
    })
  );
}

/** Whole numbers from 0 to `events`, all of them or some that are spread. */
function placesIn(events: number): number[] {
  const all = Array.from({ length: events + 1 }, (_, at) => at);
  if (cuts === "all" || all.length <= Number(cuts)) return all;
  const some = Number(cuts);
  return Array.from({ length: some }, (_, at) => Math.round((at + 0.5) * events / some));
}

/** In the middle of a character where the event has one of several bytes, else of its JSON. */
function placeInside(frame: Uint8Array): number {
  const inCharacter = frame.findIndex((byte) => byte >= 0x80 && byte < 0xc0);
  return inCharacter > 0 ? inCharacter : Math.floor(frame.length * 2 / 3);
}

async function breakOff(exchange: FakeExchange, { bytes, how }: Cut): Promise<void> {
  if (how === "spoilt") return await spoil(exchange, bytes);
  await exchange.head(200, { "content-type": "text/event-stream" }, "chunked");
  if (bytes.length > 0) await exchange.write(bytes);
  if (how === "closed") return await exchange.end();
  if (how === "cut") return exchange.cut();
  // What was not read yet is lost with the connection.
  await loopTurns();
  exchange.reset();
}

async function spoil(exchange: FakeExchange, bytes: Uint8Array): Promise<void> {
  const head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked";
  const size = bytes.length === 0 ? "" : `${bytes.length.toString(16)}\r\n`;
  const texts = [`${head}\r\n\r\n${size}`, "\r\nno size\r\n"].map((one) => bytesOf(one));
  await exchange.raw(joined([texts[0]!, bytes, texts[1]!]));
}

/** Whether an answer ends with a whole event, or isn't a stream. */
function isEnded(seen: string): boolean {
  return seen.startsWith("{") || /(\n\n|\r\n\r\n|\[DONE\]\s*|: the stream failed)$/.test(seen);
}

function hasError(seen: string): boolean {
  return /(^|\n)(event: error|event: response\.failed|(data: )?\{\s*"error")/.test(seen) ||
    /^\{"type":"error"/.test(seen);
}

/** Whether the vendor's own decoder finds words or usage in it. */
function hasSaid({ vendor, bytes }: Cut): boolean {
  const splitter = new SseSplitter({ maxEventBytes: 1e9 });
  const decoder = dialects[vendor].createStreamDecoder({}, 1);
  const events: CanonicalEvent[] = splitter.push(bytes).flatMap((one) =>
    decoder.decode(one).events
  );
  const told = events.findLast((event) => event.type === "usage")?.usage;
  // One of the recorded vendors tells of a whole answer that it used nothing: then that is so.
  if (told && events.some((event) => event.type === "finish")) return told.input + told.output > 0;
  return events.some((event) =>
    event.type === "block-delta" && event.text !== "" ||
    event.type === "usage" && event.usage.input + event.usage.output > 0
  );
}

function joined(parts: readonly Uint8Array[]): Uint8Array {
  const bytes = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.length;
  }
  return bytes;
}
