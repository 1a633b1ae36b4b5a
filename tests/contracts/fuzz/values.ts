import type { Random } from "../../support/random.ts";

/** Values that programs trip over, as they stand in JSON text. */
export const oddTexts: readonly string[] = [
  "null",
  "true",
  '""',
  '" "',
  "0",
  "-1",
  "-0",
  "0.5",
  "1e308",
  "1e400",
  "-1e400",
  "9007199254740993",
  "123456789012345678901234567890",
  "1.0000000000000000000001",
  "[]",
  "{}",
  "[[]]",
  "[null]",
  '{"":""}',
  '{"__proto__":{"a":1},"constructor":{"prototype":{}}}',
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udc00\\ud800"',
  '"\\ud83d\\ude00"',
  '"\\u202e\\u200b\\ufeff"',
  '"e\\u0301"',
  '"\\"\\\\\\/\\b\\f\\n\\r\\t"',
  '"\'; DROP TABLE interactions; --"',
  '"%00%2e%2e%2f"',
  '"../../etc/passwd"',
  "\"=cmd|'/C calc'!A0\"",
  '"data:image/png;base64,"',
  '"data:;base64,!!!!"',
  '"http://127.0.0.1:1/"',
  '"http://169.254.169.254/latest"',
  '"file:///etc/passwd"',
  '"NaN"',
  '"Infinity"',
  '"0000-01-01T00:00:00Z"',
  '"0001-01-01T00:00:00+23:59"',
  '"9999-12-31T23:59:59.999999999Z"',
  '"9999-12-31T23:59:59-23:59"',
  '"-271821-04-20T00:00:00Z"',
  '"+275760-09-13T00:00:00Z"',
  '"2026-02-30T00:00:00Z"',
  '"2016-12-31T23:59:60Z"',
  '"2026-11-21T24:00:00Z"',
  '"2026-11-21"',
  '"0000-00-00"',
  '"9999-12-31"',
  '"00000000-0000-0000-0000-000000000000"',
  '"FFFFFFFF-FFFF-FFFF-FFFF-FFFFFFFFFFFF"',
  '"(?<a>x"',
  '"(a+)+$"',
  '{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}},"$defs":{"a":{"$ref":"#/$defs/a"}}}',
  '{"$ref":"#"}',
  '{"type":"text"}',
  '[{"type":"text","text":"hi"}]',
];

/** One of them, or something made: long, deep, many. */
export function oddText(random: Random): string {
  return random.weighted<() => string>([
    [20, () => random.pick(oddTexts)],
    [1, () => JSON.stringify("x".repeat(10 ** (2 + random.below(3))))],
    [1, () => "[".repeat(500) + "]".repeat(500)],
    [1, () => '{"a":'.repeat(300) + "1" + "}".repeat(300)],
    [1, () => `[${Array(1000).fill("1").join()}]`],
    [1, () => JSON.stringify(randomString(random))],
  ])();
}

/** Text of any characters, surrogates alone and in pairs among them. */
export function randomString(random: Random): string {
  return Array.from(
    { length: random.below(20) },
    () => String.fromCharCode(random.chance(50) ? random.below(128) : random.below(65536)),
  ).join("");
}

/**
 * Valid JSON with one or more places changed: replaced by something odd, left out, repeated,
 * wrapped, renamed. Gives text, since some of what is odd is no value of JavaScript's.
 */
export function mutated(value: unknown, random: Random): string {
  const changes = 1 + random.below(2);
  let text = JSON.stringify(value);
  for (let n = 0; n < changes; n++) text = changed(text, random);
  return text;
}

function changed(text: string, random: Random): string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return text;
  }
  const places = placesIn(value);
  const target = random.pick(places);
  const odd = oddText(random);
  const marker = `@@${random.below(1e9)}@@`;
  const put = (key: string | number, inner: unknown) => {
    (target.owner as Record<string | number, unknown>)[key] = inner;
  };
  const { owner, key } = target;
  switch (random.below(6)) {
    case 0:
      if (Array.isArray(owner)) owner.splice(Number(key), 1);
      else delete (owner as Record<string, unknown>)[key];
      return JSON.stringify(value);
    case 1:
      if (Array.isArray(owner)) owner.push(owner[Number(key)]);
      else put(`${key}_`, (owner as Record<string, unknown>)[key]);
      return JSON.stringify(value);
    case 2:
      put(key, [(owner as Record<string | number, unknown>)[key]]);
      return JSON.stringify(value);
    case 3:
      put(Array.isArray(owner) ? owner.length : randomString(random), marker);
      break;
    default:
      put(key, marker);
  }
  return JSON.stringify(value).replace(`"${marker}"`, () => odd);
}

interface Place {
  owner: object;
  key: string | number;
}

/** Every member of every object and array; at least one, of a wrapper, where there are none. */
function placesIn(value: unknown): Place[] {
  const found: Place[] = [];
  const visit = (inner: unknown) => {
    if (typeof inner !== "object" || inner === null) return;
    for (const key of Object.keys(inner)) {
      found.push({ owner: inner, key });
      visit((inner as Record<string, unknown>)[key]);
    }
  };
  visit(value);
  return found.length > 0 ? found : [{ owner: { value }, key: "value" }];
}
