/**
 * Whatever a vendor's answer holds many of, whole or streamed, reading it in any dialect and
 * writing it for a caller of any takes time in proportion to its length.
 */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import type { BlockKind, CanonicalEvent } from "../../src/dialects/kernel/canonical.ts";
import { foldEvents } from "../../src/dialects/kernel/fold.ts";
import type { Emulations } from "../../src/dialects/kernel/dialect.ts";
import { retainedReasoning } from "../../src/relay/conversation/reasoning_store.ts";
import {
  bytesOf,
  contextOf,
  dialects,
  type Name,
  names,
  noUndo,
  type Passage,
  readWhole,
  relayStream,
  writeWhole,
} from "../dialects/translated.ts";
import { sample } from "../support/sample.ts";
import { assertLinear, copies, run, type Work } from "./cpu.ts";

const answers: Readonly<Record<string, (chars: number) => CanonicalEvent[]>> = {
  "a fence and line ends": (chars) => finished(said(run(chars, "\n", "```json\n", "x"))),
  "a text of quotes and braces": (chars) => finished(said(run(chars, '{"\\'))),
  "a text in small pieces": (chars) =>
    finished([
      start(0, text),
      ...copies(chars, 40, () => delta(0, "ab")),
      end(0),
    ]),
  "arguments in small pieces": (chars) =>
    finished([
      start(0, callOf(0)),
      delta(0, '{"a":"'),
      ...copies(chars, 40, () => delta(0, "}}")),
      delta(0, '"}'),
      end(0),
    ], "tool_calls"),
  "calls that stand open together": (chars) => {
    const blocks = copies(chars, 250, (index) => index);
    return finished([
      ...blocks.map((block) => start(block, callOf(block))),
      ...blocks.toReversed().flatMap((block) => [delta(block, '{"a":'), delta(block, "1}")]),
      ...blocks.map(end),
    ], "tool_calls");
  },
  "calls one after the other": (chars) =>
    finished(
      copies(chars, 250, (block) => [start(block, callOf(block)), delta(block, "{}"), end(block)])
        .flat(),
      "tool_calls",
    ),
  "calls behind much reasoning": (chars) =>
    finished([
      start(0, { kind: "reasoning" }),
      delta(0, run(chars / 2, "r")),
      {
        ...end(0),
        opaque: { dialect: "messages", kind: "signature", value: run(chars / 4, "s") },
      },
      ...copies(chars / 2, 250, (at) => [
        start(at + 1, callOf(at)),
        delta(at + 1, "{}"),
        end(at + 1),
      ]).flat(),
    ], "tool_calls"),
  "texts and reasoning by turns": (chars) =>
    finished(
      copies(chars, 200, (block) => [
        start(block, block % 2 ? text : { kind: "reasoning" }),
        delta(block, "a"),
        end(block),
      ]).flat(),
    ),
  "many sources of a long text": (chars) =>
    finished([
      start(0, text),
      delta(0, run(chars / 2, "é")),
      ...copies(chars / 2, 200, (index): CanonicalEvent => ({
        type: "citation",
        choice: 0,
        block: 0,
        citation: {
          url: `https://a.example/${index}`,
          title: undefined,
          start: 0,
          end: Math.floor(chars / 4),
        },
      })),
      end(0),
    ]),
  "many log-probabilities": (chars) =>
    finished([
      start(0, text),
      {
        ...delta(0, "a"),
        logprobs: copies(chars, 80, () => ({ token: "a", logprob: -1, bytes: [97], top: [] })),
      },
      end(0),
    ]),
  "many answers": (chars) =>
    copies(Math.min(chars, 128 * 100), 100, (choice): CanonicalEvent[] => [
      { ...start(choice, text), choice },
      { ...delta(choice, run(chars / 128, "a")), choice },
      { ...end(choice), choice },
      { type: "finish", choice, reason: "stop", raw: "stop" },
    ]).flat(),
  "a long refusal": (chars) =>
    finished([start(0, { kind: "refusal" }), ...copies(chars, 40, () => delta(0, "no")), end(0)]),
};

/** What may have been emulated in the request, for as many tools as there are calls. */
function emulations(chars: number): Emulations {
  const tools = copies(chars, 250, (index) => `t${index}`);
  return {
    ...noUndo,
    toolNames: Object.fromEntries(tools.map((name) => [name, `${name}.x`])),
    customTools: tools.toReversed().map((name) => `${name}.x`),
  };
}

/**
 * What takes four times as long as it may shows from 32,768 characters on; `HOSTILE=long` looks
 * further, and tries every row between every two dialects instead of a third of them.
 */
const all = Deno.env.get("HOSTILE") === "long";
const most = all ? 131_072 : 32_768;

for (const vendor of names) {
  for (const caller of names) {
    Deno.test(`answers of ${vendor} for ${caller} take linear time`, () => {
      const rows = Object.entries(answers).flatMap(([name, make]): [string, Work][] => [
        [`${name}, whole`, (chars) => {
          const json = dialects[vendor].encodeAnswer(foldEvents(make(chars)));
          return () => whole({ vendor, caller }, json);
        }],
        [`${name}, whole, undone`, (chars) => {
          const json = dialects[vendor].encodeAnswer(foldEvents(make(chars)));
          return () => whole({ vendor, caller, emulations: emulations(chars) }, json);
        }],
        [`${name}, without its fence`, (chars) => {
          const json = dialects[vendor].encodeAnswer(foldEvents(make(chars)));
          return () => whole({ vendor, caller, emulations: { ...noUndo, stripFence: true } }, json);
        }],
        [`${name}, streamed`, (chars) => {
          const bytes = bytesOf(streamOf(vendor, make(chars)));
          return () =>
            relayStream({ vendor, caller, emulations: emulations(chars) }, pieces(bytes, 1_000));
        }],
      ]);
      assertLinear(sample(rows, { oneOf: 3, salt: `${vendor} ${caller}`, all }), most);
    });
  }

  Deno.test(`answers of ${vendor} in very small pieces take linear time`, () => {
    const rows = Object.entries(answers).map(([name, make]): [string, Work] => [name, (chars) => {
      const bytes = bytesOf(streamOf(vendor, make(chars)));
      return () => relayStream({ vendor, caller: vendor }, pieces(bytes, 5));
    }]);
    assertLinear(rows, 32_768);
  });
}

function whole(passage: Passage, json: unknown): void {
  const answer = foldEvents(readWhole(passage, json));
  retainedReasoning(answer);
  JSON.stringify(writeWhole(passage, answer));
  JSON.stringify(dialects[passage.caller].encodeAnswer(answer));
}

/** Vendors' streams that no encoder of ours writes. */
const odd: Readonly<Record<string, readonly [Name, (chars: number) => unknown[]]>> = {
  "calls without an index": ["chat", (chars) =>
    copies(chars, 120, (index) =>
      chunk({
        tool_calls: [{ id: `c${index}`, function: { name: "f", arguments: "{}" } }],
      }))],
  "calls of many ids at one index": ["chat", (chars) =>
    copies(chars, 120, (index) =>
      chunk({
        tool_calls: [{ index: 0, id: `c${index}`, function: { name: "f", arguments: "{}" } }],
      }))],
  "calls all in one chunk": ["chat", (chars) => [
    chunk({
      tool_calls: copies(chars, 70, (index) => ({
        id: `c${index}`,
        function: { name: "f", arguments: "{}" },
      })),
    }),
  ]],
  "pieces of items without a name": ["responses", (chars) => [
    ...copies(chars / 2, 120, (index) => ({
      type: "response.output_item.added",
      output_index: index,
      item: { type: "function_call", id: `i${index}`, name: "f" },
    })),
    ...copies(chars / 2, 60, () => ({ type: "response.output_text.delta", delta: "a" })),
  ]],
  "parts of one message, done again and again": ["responses", (chars) => [
    ...copies(chars / 2, 90, (index) => ({
      type: "response.output_text.delta",
      item_id: "m",
      content_index: index,
      delta: "a",
    })),
    ...copies(chars / 2, 90, () => ({
      type: "response.output_item.done",
      item: { type: "message", id: "m", content: [] },
    })),
  ]],
  "blocks that never end": ["messages", (chars) =>
    copies(chars, 120, (index) => ({
      type: "content_block_start",
      index,
      content_block: { type: index % 3 ? "tool_use" : "text", id: `c${index}`, name: "f" },
    }))],
  "arguments full of holes": ["generate", (chars) => [
    parts([{ functionCall: { name: "f", willContinue: true } }]),
    ...copies(chars, 110, (index) =>
      parts([{
        functionCall: {
          willContinue: true,
          partialArgs: [{ jsonPath: `$.a${index}[9999]`, numberValue: 1 }],
        },
      }])),
  ]],
  "sources by their bytes": ["generate", (chars) => [{
    candidates: [{
      content: { parts: [{ text: run(chars / 4, "é") }] },
      groundingMetadata: {
        groundingChunks: [{ web: { uri: "https://a.example/" } }],
        groundingSupports: copies(chars / 2, 90, (index) => ({
          segment: { startIndex: index, endIndex: Math.floor(chars / 4) },
          groundingChunkIndices: [0],
        })),
      },
      finishReason: "STOP",
    }],
  }]],
};

for (const [name, [vendor, make]] of Object.entries(odd)) {
  Deno.test(`${name} take linear time`, () => {
    const rows = names.map((caller): [string, Work] => [`${name} for ${caller}`, (chars) => {
      const stream = make(chars).map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
      return () => relayStream({ vendor, caller }, pieces(bytesOf(stream), 4_000));
    }]);
    assertLinear(rows, most);
  });
}

Deno.test("a stream's elements in one array are read in steps, and in linear time", () => {
  const json = (
    chars: number,
  ) => [...copies(chars, 10, () => parts([{ text: "a" }])), {
    candidates: [{ finishReason: "STOP" }],
  }];
  const { decodeAnswer } = dialects.generate;
  assert.equal([...decodeAnswer(json(1_000), {})].length, 101);
  assertLinear([["elements", (chars) => {
    const elements = json(chars);
    return () => finish(decodeAnswer(elements, {}));
  }]]);
});

function chunk(delta: unknown): unknown {
  return { id: "x", model: "m", created: 1, choices: [{ index: 0, delta }] };
}

function parts(list: unknown[]): unknown {
  return { candidates: [{ content: { parts: list } }] };
}

function pieces(bytes: Uint8Array, size: number): Uint8Array[] {
  return copies(bytes.length + size, size, (at) => bytes.subarray(at * size, (at + 1) * size));
}

function streamOf(vendor: Name, events: readonly CanonicalEvent[]): string {
  const encoder = dialects[vendor].createStreamEncoder(contextOf({ vendor, caller: vendor }));
  const begun: CanonicalEvent = { type: "start", id: "x", model: "m", created: 1 };
  return [begun, ...events].map((event) => encoder.encode(event)).join("") + encoder.end();
}

const text: BlockKind = { kind: "text" };

function callOf(index: number): BlockKind {
  return { kind: "tool-call", id: `call_${index}`, name: `t${index}`, custom: false };
}

function said(words: string): CanonicalEvent[] {
  return [start(0, text), delta(0, words), end(0)];
}

function start(block: number, content: BlockKind) {
  return { type: "block-start", choice: 0, block, content } as const;
}

function delta(block: number, words: string) {
  return { type: "block-delta", choice: 0, block, text: words } as const;
}

function end(block: number) {
  return { type: "block-end", choice: 0, block } as const;
}

function finished(
  events: CanonicalEvent[],
  reason: "stop" | "tool_calls" = "stop",
): CanonicalEvent[] {
  return [...events, { type: "finish", choice: 0, reason, raw: reason }];
}
