import assert from "@std/assert";
import { Random } from "../../tests/support/random.ts";
import { SimilarJson } from "./similar_json.ts";
import { SseSplitter } from "./sse.ts";

const encoder = new TextEncoder();

/** Reads each text as a decoder does; gives copies of the values, and how many were parsed. */
function readAll(events: readonly (Uint8Array | string)[], isReusable = () => true) {
  const similar = new SimilarJson(isReusable);
  const values: unknown[] = [];
  let parsed = 0;
  for (const one of events) {
    const bytes = typeof one === "string" ? encoder.encode(one) : one;
    let value = similar.read(bytes);
    if (value === undefined) {
      parsed++;
      const { data } = eventOf(bytes);
      value = JSON.parse(data!);
      similar.learn(bytes, data!, value);
    }
    values.push(structuredClone(value));
  }
  return { values, parsed };
}

function eventOf(bytes: Uint8Array) {
  const splitter = new SseSplitter({ maxEventBytes: 1e6 });
  const [event] = [...splitter.push(bytes), ...splitter.end()];
  return event!;
}

const chunk = (content: string, more: object = {}) =>
  `data: ${
    JSON.stringify({ id: "c1", choices: [{ index: 0, delta: { content }, end: null }], ...more })
  }\n\n`;

Deno.test("events that differ in strings and whole numbers are read without parsing them", () => {
  const texts = [
    "Hello",
    " world",
    "",
    "\n\n",
    'a "quote"',
    "grüße 😀",
    "\u2028\\",
    " x".repeat(99),
  ];
  const events = texts.map((text, at) => chunk(text, { at: at + 1, padding: "x".repeat(at) }));
  const { values, parsed } = readAll(events);
  assert.deepEqual(values, events.map((event) => JSON.parse(event.slice(6))));
  assert.equal(parsed, 2);
});

Deno.test("an equal event is not another form, and later differences are found", () => {
  const events = ["a", "a", "a", "b", "c", "a"].map((text) => chunk(text));
  const { values, parsed } = readAll(events);
  assert.deepEqual(values, events.map((event) => JSON.parse(event.slice(6))));
  assert.equal(parsed, 3);
});

Deno.test("names, fractions, exponents, signs, keywords and prototypes are parsed", () => {
  const pairs = [
    ['{"a":"x","b":1}', '{"c":"x","b":1}'],
    ['{"a":1.5}', '{"a":1.25}', '{"a":1.75}'],
    ['{"a":15.5}', '{"a":16.5}', '{"a":17.5}'],
    ['{"a":1e5}', '{"a":2e5}', '{"a":3e5}', '{"a":3e05}'],
    ['{"a":5}', '{"a":-6}', '{"a":-7}', '{"a":0}', '{"a":-0}'],
    ['{"a":1}', '{"a":2}', '{"a":12345678901234567890}', '{"a":3}'],
    ['{"a":true}', '{"a":false}', '{"a":null}'],
    ['{"__proto__":"x"}', '{"__proto__":"y"}', '{"__proto__":"z"}'],
    ['{"a":"x","a":"1"}', '{"a":"y","a":"1"}', '{"a":"z","a":"2"}'],
    ['"a"', '"b"', '"c"', "1", "2"],
    ['["a",{"b":["c"]}]', '["d",{"b":["e"]}]', '["f",{"b":["g"]}]'],
  ];
  for (const texts of pairs) {
    const { values } = readAll(texts.map((text) => `data: ${text}\n\n`));
    assert.deepEqual(values, texts.map((text) => JSON.parse(text)), texts.join());
    const names = (value: unknown) => JSON.stringify(value);
    assert.deepEqual(values.map(names), texts.map((text) => names(JSON.parse(text))));
  }
});

Deno.test("an event that is not JSON is never treated as JSON", () => {
  const similar = new SimilarJson(() => true);
  for (const text of ["a", "b"]) {
    const bytes = encoder.encode(chunk(text, { at: 1 }));
    similar.learn(bytes, eventOf(bytes).data!, JSON.parse(eventOf(bytes).data!));
  }
  assert.ok(similar.read(encoder.encode(chunk("c", { at: 1 }))));
  const bad = ["c\nd", "c\td", "\\x", "\\u12", "\\", '"', 'c","e":"'];
  for (const text of bad) {
    const written = chunk("@", { at: 1 }).replace("@", () => text);
    assert.equal(similar.read(encoder.encode(written)), undefined, JSON.stringify(text));
  }
  assert.equal(similar.read(encoder.encode(chunk("c", { at: 1 }).slice(0, -1))), undefined);
  assert.equal(similar.read(encoder.encode(chunk("c", { at: 1 }) + "\n")), undefined);
});

Deno.test("a long event is parsed, and costs nothing more", () => {
  const long = "x".repeat(5_000);
  const { values, parsed } = readAll(["a", "b", "c", long, "d"].map((text) => chunk(text)));
  assert.equal(parsed, 3);
  assert.equal(JSON.stringify(values[3]).includes(long), true);
});

Deno.test("values that are kept are not read so", () => {
  const { parsed } = readAll(["a", "b", "c", "d"].map((text) => chunk(text)), () => false);
  assert.equal(parsed, 4);
});

Deno.test("what stands around the JSON is part of the form", () => {
  const named = (name: string, text: string) => `event: ${name}\ndata: {"a":"${text}"}\n\n`;
  const { values, parsed } = readAll([
    ...[named("x", "1"), named("x", "2"), named("y", "3"), named("y", "4"), named("y", "5")],
    `: {"a":"6"}\ndata: {"a":"6"}\n\n`,
    `: {"a":"7"}\ndata: {"a":"6"}\n\n`,
    `: {"a":"8"}\ndata: {"a":"6"}\n\n`,
    `data: {"a":\ndata: "9"}\n\n`,
    `data: {"a":\ndata: "10"}\n\n`,
    `data:{"a":"11"}\r\n\r\n`,
    `data:{"a":"12"}\r\n\r\n`,
    `data:{"a":"13"}\r\n\r\n`,
  ]);
  const texts = ["1", "2", "3", "4", "5", "6", "6", "6", "9", "10", "11", "12", "13"];
  assert.deepEqual(values, texts.map((a) => ({ a })));
  assert.equal(parsed, 11);
});

Deno.test("a stream of ever new forms stops being compared", () => {
  const form = (at: number) => `data: {"k${at}":"v","n":${at}}\n\n`;
  const events = Array.from({ length: 500 }, (_, at) => form(at));
  assert.equal(readAll(events).parsed, 500);
  // From then on nothing is learnt any more.
  const alike = ["a", "b", "c", "d"].map((text) => chunk(text));
  assert.equal(readAll([...events, ...alike]).parsed, 504);
});

Deno.test("whatever is read is what parsing gives, for random events and damaged ones", () => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = new Random(seed);
    const template = randomValue(random, 3);
    const similar = new SimilarJson(() => true);
    let read = 0;
    for (let round = 0; round < 40; round++) {
      const json = JSON.stringify(varied(template, random));
      const bytes = encoder.encode(`data: ${json}\n\n`);
      if (random.chance(30)) bytes[random.below(bytes.length)] = random.pick(damage);
      const { data } = eventOf(bytes);
      const value = similar.read(bytes);
      if (value !== undefined) {
        read++;
        assert.deepEqual(value, JSON.parse(data!), `seed ${seed}: ${data}`);
        continue;
      }
      try {
        similar.learn(bytes, data!, JSON.parse(data!));
      } catch {
        // Damaged.
      }
    }
    if (seed === 1) assert.ok(read > 0);
  }
});

const damage = [0x22, 0x5c, 0x2c, 0x30, 0x2d, 0x2e, 0x65, 0x0a, 0x0d, 0x20, 0x7b, 0x7d, 0xc3, 0xff];
const words = ["", "a", " the", "\n", '"', "\\", "é", "😀", "\u0000", "id", "the differing text 0"];

function randomValue(random: Random, depth: number): unknown {
  const kind = random.below(depth > 0 ? 6 : 4);
  if (kind === 0) return random.pick(words);
  if (kind === 1) return random.below(2000) - 20;
  if (kind === 2) return random.pick([null, true, 1.5, -0.25, 1e21, 9007199254740]);
  if (kind === 3) return "text";
  const items = Array.from({ length: random.below(4) }, () => randomValue(random, depth - 1));
  if (kind === 4) return items;
  return Object.fromEntries(items.map((item, at) => [random.pick(words) + at, item]));
}

/** The same form; some of its strings and numbers are others. */
function varied(value: unknown, random: Random): unknown {
  if (typeof value === "string" && random.chance(50)) {
    return random.pick(words) + random.pick(words);
  }
  if (typeof value === "number" && random.chance(50)) return random.below(100_000);
  if (Array.isArray(value)) return value.map((item) => varied(item, random));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, varied(one, random)]),
  );
}
