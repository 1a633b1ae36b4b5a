import assert from "@std/assert";
import { OutputLines } from "../base/log.ts";
import { createPrint, createProgramLog, logEvents } from "./log_events.ts";

const now = () => new Date("2026-11-23T03:00:00.123Z");

function jsonLog() {
  const lines: Record<string, unknown>[] = [];
  const log = createProgramLog((line) => void lines.push(JSON.parse(line)), now, {
    logFormat: "json",
    seat: { index: 2, count: 3 },
  });
  return { lines, log };
}

Deno.test("a line of JSON has time, level, event and message, then the fields", () => {
  const { lines, log } = jsonLog();
  log.warn("a vendor key is paused", { vendor: "vendor-b", waits: 3, until: undefined, why: null });
  assert.deepEqual(lines, [{
    time: "2026-11-23T03:00:00.123Z",
    level: "warn",
    event: "vendor_key.rests",
    message: "a vendor key is paused",
    ...{ vendor: "vendor-b", waits: 3, worker: 2 },
  }]);
});

Deno.test("no field replaces what each line has, no value breaks a line, none is endless", () => {
  const { lines, log } = jsonLog();
  log.info("request", { level: "forged", event: "forged", note: 'a "quote"\n{"level":"error"}' });
  log.error("request", { note: "x".repeat(10_000) });
  const [first, second] = lines;
  assert.deepEqual([first!.level, first!.event], ["info", "request"]);
  assert.deepEqual([first!.field_level, first!.field_event], ["forged", "forged"]);
  assert.equal(first!.note, 'a "quote"\n{"level":"error"}');
  assert.equal(String(second!.note).length, 501);
});

Deno.test("what a start prints is in lines of JSON too, and as it is in text", () => {
  const printed: string[] = [];
  const print = createPrint((line) => printed.push(line), now, "json");
  for (const line of ["", "  API key  dmt_x", ""]) print(line);
  assert.deepEqual(printed.map((line) => JSON.parse(line)), [{
    time: "2026-11-23T03:00:00.123Z",
    level: "info",
    event: "start.greeting",
    message: "API key  dmt_x",
  }]);
  const plain: string[] = [];
  const asItIs = createPrint((line) => plain.push(line), now, "text");
  asItIs("");
  assert.deepEqual(plain, [""]);
});

Deno.test("a message without a name has its words for one", () => {
  const { lines, log } = jsonLog();
  log.info("A thing happened: it's new");
  assert.equal(lines[0]!.event, "a_thing_happened_it_s_new");
});

/** The literals that the product's code passes to a log. */
async function messages(folder: string): Promise<{ path: string; message: string }[]> {
  const found: { path: string; message: string }[] = [];
  for await (const { name, isDirectory } of Deno.readDir(folder)) {
    const path = `${folder}/${name}`;
    if (isDirectory) found.push(...await messages(path));
    else if (/\.tsx?$/.test(name) && !/_test\.tsx?$/.test(name)) {
      const text = await Deno.readTextFile(path);
      for (const [, literal] of text.matchAll(/\b(?:info|warn|error)\(\s*("(?:[^"\\]|\\.)*")/g)) {
        found.push({ path, message: JSON.parse(literal!) });
      }
    }
  }
  return found;
}

/** For people at a terminal, not for the log. */
const notLogged = /^Paste the value/;

Deno.test("each message of the log has an event of its own, and each event a message", async () => {
  const source = decodeURIComponent(new URL("../", import.meta.url).pathname).slice(0, -1);
  const literals = (await messages(source)).filter(({ message }) => !notLogged.test(message));
  const unnamed = literals.filter(({ message }) => !Object.hasOwn(logEvents, message));
  assert.deepEqual(unnamed, [], "give these a name in src/main/log_events.ts");
  assert.ok(literals.length > 50);
  const names = Object.values(logEvents);
  assert.equal(new Set(names).size, names.length);
  for (const name of names) assert.match(name, /^[a-z_]+(\.[a-z_]+)?$/);
  const passedOn = /^(connections |old )/;
  const written = new Set(literals.map(({ message }) => message));
  const stale = Object.keys(logEvents).filter((each) => !written.has(each) && !passedOn.test(each));
  assert.deepEqual(stale, [], "nothing logs these any more");
});

Deno.test("a log of JSON that nobody reads is dropped from by whole lines", async () => {
  const taken: string[] = [];
  let isRead = false;
  const opened = Promise.withResolvers<void>();
  const lines = new OutputLines({
    maxWaiting: 2_000,
    write: async (bytes) => {
      if (!isRead) await opened.promise;
      taken.push(new TextDecoder().decode(bytes));
      return bytes.length;
    },
  });
  const log = createProgramLog((line) => lines.write(line), now, { logFormat: "json" });
  for (let call = 0; call < 1000; call++) log.info("request", { id: `r-${call}` });
  assert.ok(lines.dropped > 900);
  isRead = true;
  opened.resolve();
  await lines.flush();
  const whole = taken.join("").trimEnd().split("\n").map((line) => JSON.parse(line));
  assert.equal(whole.length + lines.dropped, 1000);
});
