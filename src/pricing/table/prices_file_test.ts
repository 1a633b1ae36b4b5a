import assert from "@std/assert";
import { parsePricesFile } from "./prices_file.ts";

Deno.test("every field of a prices file is read", () => {
  const [row, ...rest] = parsePricesFile(JSON.stringify({
    "vendor-b/nested/gpt-x": {
      input: "0.25",
      output: "2",
      cache_read: "0.025",
      cache_write: "0.3125",
      cache_write_1h: "0.5",
      reasoning: "3",
      audio_input: "1",
      cached_audio_input: "0.1",
      audio_output: "12",
      image_input: "8",
      image_output: "30",
      per_request: "0.001",
      per_image: { "hd/1024x1024": "0.08", "low/1024x1024": "0.01" },
      per_million_characters: "4.20",
      per_minute: "0.006",
      per_web_search: "0.01",
      context_tiers: [
        { above_input_tokens: 200_000, input: "0.5" },
        { from_input_tokens: 400_000, output: "4", per_image: "0.2" },
      ],
      service_tiers: { flex: "0.5" },
      max_output_tokens: 64_000,
      valid_from: "2026-12-01",
      valid_to: "2026-12-31",
    },
  }));
  assert.deepEqual(rest, []);
  const { version, ...read } = row ?? assert.fail("no row");
  assert.match(version, /^[0-9a-f]{12}$/);
  assert.deepEqual(read, {
    label: "vendor-b",
    model: "nested/gpt-x",
    source: "PRICES_FILE",
    rates: {
      input: 250_000n,
      output: 2_000_000n,
      cacheRead: 25_000n,
      cacheWrite: 312_500n,
      cacheWriteLong: 500_000n,
      reasoning: 3_000_000n,
      audioInput: 1_000_000n,
      cachedAudioInput: 100_000n,
      audioOutput: 12_000_000n,
      imageInput: 8_000_000n,
      imageOutput: 30_000_000n,
      perRequest: 1_000_000_000n,
      perImage: { "hd/1024x1024": 80_000_000_000n, "low/1024x1024": 10_000_000_000n },
      perCharacter: 4_200_000n,
      perMinute: 6_000_000_000n,
      perWebSearch: 10_000_000_000n,
    },
    contextTiers: [
      { threshold: 200_000, inclusive: false, rates: { input: 500_000n } },
      {
        threshold: 400_000,
        inclusive: true,
        rates: { output: 4_000_000n, perImage: 200_000_000_000n },
      },
    ],
    serviceTiers: { flex: { numerator: 500_000n, denominator: 1_000_000n } },
    maxOutputTokens: 64_000,
    validFrom: new Date("2026-12-01T00:00:00Z"),
    validTo: new Date("2027-01-01T00:00:00Z"),
  });
});

Deno.test("an empty file has no rows and an empty row no prices", () => {
  assert.deepEqual(parsePricesFile("{}"), []);
  assert.deepEqual(parsePricesFile('{"a/b": {}}')[0]?.rates, {});
});

Deno.test("a version changes with a price and not with the order of fields", () => {
  const version = (text: string) => parsePricesFile(text)[0]?.version;
  const base = version('{"b/x": {"input": "1", "output": "2"}}');
  assert.equal(version('{"b/x": {"output": "2.0", "input": "1"}}'), base);
  assert.notEqual(version('{"b/x": {"input": "1", "output": "2.1"}}'), base);
  assert.notEqual(version('{"b/y": {"input": "1", "output": "2"}}'), base);
  assert.notEqual(
    version('{"b/x": {"input": "1", "output": "2", "valid_to": "2026-12-01"}}'),
    base,
  );
});

/** A file of one row with these fields. */
const x = (fields: unknown) => JSON.stringify({ "vendor-b/gpt-x": fields });

/** Wrong files, and their errors. */
const wrongFiles: [string, string | RegExp][] = [
  ["{", /^expected JSON: [^\n]+$/],
  ["[]", 'expected a JSON object such as {"vendor-b/gpt-x": {"input": "0.25"}}'],
  ['{"gpt-x": {}}', '"gpt-x": expected a key such as "vendor-b/gpt-x"'],
  ['{"/gpt-x": {}}', '"/gpt-x": expected a key such as "vendor-b/gpt-x"'],
  ['{"vendor-b/": {}}', '"vendor-b/": expected a key such as "vendor-b/gpt-x"'],
  [x([]), "vendor-b/gpt-x: expected an object, got []"],
  [
    '{"b/x": {"input": "1", "valid_to": "2026-11-30"}, "b/\\u0078": {"input": "2"}}',
    '"b/x": the file has this key twice',
  ],
  [
    x({ input: 0.25 }),
    'vendor-b/gpt-x.input: expected a decimal string such as "0.25", got 0.25',
  ],
  [
    x({ input: null }),
    'vendor-b/gpt-x.input: expected a decimal string such as "0.25", got null',
  ],
  [
    x({ output: "1e3" }),
    'vendor-b/gpt-x.output: expected a decimal string such as "0.25", got "1e3"',
  ],
  [
    x({ output: "-1" }),
    'vendor-b/gpt-x.output: expected a decimal string such as "0.25", got "-1"',
  ],
  [
    x({ input: "0.0000001" }),
    'vendor-b/gpt-x.input: expected at most 6 decimals, got "0.0000001"',
  ],
  [x({ inptu: "1" }), /^vendor-b\/gpt-x\.inptu: unknown field, expected one of input, /],
  [x({ per_image: {} }), "vendor-b/gpt-x.per_image: expected at least one price"],
  [
    x({ per_image: 4 }),
    "vendor-b/gpt-x.per_image: expected a decimal string or an object, got 4",
  ],
  [
    x({ per_image: { hd: 1 } }),
    'vendor-b/gpt-x.per_image.hd: expected a decimal string such as "0.25", got 1',
  ],
  [x({ context_tiers: {} }), "vendor-b/gpt-x.context_tiers: expected an array, got {}"],
  [
    x({ context_tiers: [{ input: "1" }] }),
    "vendor-b/gpt-x.context_tiers[0]: expected one of above_input_tokens and from_input_tokens",
  ],
  [
    x({ context_tiers: [{ above_input_tokens: 1, from_input_tokens: 1 }] }),
    "vendor-b/gpt-x.context_tiers[0]: expected one of above_input_tokens and from_input_tokens",
  ],
  [
    x({ context_tiers: [{ above_input_tokens: 1 }, { from_input_tokens: "2" }] }),
    'vendor-b/gpt-x.context_tiers[1].from_input_tokens: expected a whole number from 0, got "2"',
  ],
  [
    x({ context_tiers: [{ above_input_tokens: 1, valid_from: "2026-01-01" }] }),
    /^vendor-b\/gpt-x\.context_tiers\[0\]\.valid_from: unknown field/,
  ],
  [
    x({ service_tiers: { flex: 0.5 } }),
    'vendor-b/gpt-x.service_tiers.flex: expected a decimal string such as "0.25", got 0.5',
  ],
  [
    x({ max_output_tokens: 0 }),
    "vendor-b/gpt-x.max_output_tokens: expected a whole number from 1, got 0",
  ],
  [
    x({ valid_from: "2026-02-30" }),
    'vendor-b/gpt-x.valid_from: expected a day such as "2026-12-01", got "2026-02-30"',
  ],
  [
    x({ valid_to: 2026 }),
    'vendor-b/gpt-x.valid_to: expected a day such as "2026-12-01", got 2026',
  ],
  [
    x({ valid_from: "2026-12-02", valid_to: "2026-12-01" }),
    "vendor-b/gpt-x.valid_to: expected a day not before valid_from",
  ],
];

Deno.test("a wrong file is refused in one line that names the path", () => {
  for (const [text, message] of wrongFiles) {
    assert.throws(() => parsePricesFile(text), { message }, text);
  }
});
