import assert from "@std/assert";
import { partsOf } from "./usage_parts.ts";
import type { Usage } from "../shared/usage.ts";

Deno.test("usage splits into disjoint parts", () => {
  const cases: [string, Usage, Record<string, number>][] = [
    ["plain", { input: 10, output: 5 }, { input: 10, output: 5 }],
    ["nothing", { input: 0, output: 0 }, {}],
    [
      "cache numbers are inside the input",
      { input: 12307, cacheRead: 0, cacheWrite: 12304, output: 550 },
      { input: 3, cacheWrite: 12304, output: 550 },
    ],
    [
      "short and long cache writes",
      { input: 100, cacheRead: 10, cacheWrite: 20, cacheWriteLong: 30, output: 1 },
      { input: 40, cacheRead: 10, cacheWrite: 20, cacheWriteLong: 30, output: 1 },
    ],
    [
      "audio and images are inside both totals",
      { input: 100, audioInput: 40, imageInput: 10, output: 50, audioOutput: 20, imageOutput: 5 },
      { input: 50, audioInput: 40, imageInput: 10, output: 25, audioOutput: 20, imageOutput: 5 },
    ],
    [
      "cached audio is inside audio and inside the cache reads",
      { input: 100, cacheRead: 50, audioInput: 40, cachedAudioInput: 30, output: 0 },
      { input: 40, cacheRead: 20, audioInput: 10, cachedAudioInput: 30 },
    ],
    [
      "audio that must have come from the cache is not charged twice",
      { input: 1000, cacheRead: 900, audioInput: 500, output: 0 },
      { cacheRead: 500, cachedAudioInput: 400, audioInput: 100 },
    ],
    [
      "images that must have come from the cache are not charged twice",
      { input: 1000, cacheRead: 900, imageInput: 500, cachedAudioInput: 0, output: 0 },
      { cacheRead: 900, imageInput: 100 },
    ],
    [
      "images that must have been written to the cache are not charged twice",
      { input: 1000, cacheWrite: 950, imageInput: 500, audioInput: 20, output: 0 },
      { cacheWrite: 950, imageInput: 30, audioInput: 20 },
    ],
    [
      "reasoning beyond the output leaves no plain output",
      { input: 1, output: 10, reasoning: 25 },
      { input: 1, reasoning: 10 },
    ],
    ["cached beyond the prompt leaves no plain input", {
      input: 36,
      cacheRead: 100,
      output: 0,
    }, { cacheRead: 100 }],
    ["audio beyond the prompt leaves no plain input", { input: 10, audioInput: 20, output: 0 }, {
      audioInput: 20,
    }],
    ["audio beyond prompt and cache", { input: 10, cacheRead: 5, audioInput: 20, output: 0 }, {
      ...{ cachedAudioInput: 5, audioInput: 15 },
    }],
    [
      "what is no count is nothing",
      { input: NaN, cacheRead: -5, output: -1, reasoning: Infinity },
      {},
    ],
  ];
  for (const [name, usage, expected] of cases) {
    const parts = partsOf(usage);
    assert.deepEqual(
      Object.fromEntries(parts.map((part) => [part.dimension, part.count])),
      expected,
      name,
    );
  }
});

Deno.test("cached images are inside images and inside the cache reads", () => {
  const counts = (usage: Usage) =>
    Object.fromEntries(partsOf(usage).map((part) => [part.dimension, part.count]));
  const usage = { input: 1100, cacheRead: 800, imageInput: 1000, output: 0 };
  assert.deepEqual(counts({ ...usage, cachedImageInput: 800 }), {
    ...{ input: 100, cacheRead: 800, imageInput: 200 },
  });
  assert.deepEqual(counts({ ...usage, cacheRead: 90, cachedImageInput: 0 }), {
    ...{ input: 10, cacheRead: 90, imageInput: 1000 },
  });
});
