import assert from "@std/assert";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { SseSplitter } from "../../../base/sse.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../kernel/canonical.ts";
import { foldEvents } from "../../kernel/fold.ts";
import { isRecord, type JsonRecord } from "../../kernel/json.ts";
import { decodeAnswer } from "./answer_decoder.ts";
import { encodeAnswer } from "./answer_encoder.ts";
import {
  decodeStream,
  encodeStream,
  sealedContext,
} from "../../../../tests/support/responses_fixtures.ts";
import { readEnvelope } from "./conversation/envelope.ts";
import { createStreamDecoder } from "./stream_decoder.ts";
import { responsesEvents } from "../../../../tests/support/grammar/events.ts";
import { finish } from "../../../base/steps.ts";

/** Recorded real answers lie beside a developer's checkout; elsewhere these tests are left out. */
const folder = new URL("../../../../../shared/recorded/responses/", import.meta.url);
const files = existsSync(folder) ? readdirSync(folder).sort() : [];

function textOf(file: string): string {
  return readFileSync(new URL(file, folder), "utf8");
}

/** The answers of a recorded file: some hold several, one after the other. */
function streamsOf(file: string): string[][] {
  const streams: string[][] = [];
  for (const line of textOf(file).split("\n").filter((one) => one.trim() !== "")) {
    if ((JSON.parse(line) as JsonRecord).type === "response.created") streams.push([]);
    streams.at(-1)!.push(line);
  }
  return streams;
}

/** The content of a response object, read independently of the code under test. */
function expectedOf(response: JsonRecord) {
  const output = (response.output ?? []) as JsonRecord[];
  const contents = output.filter((item) => item.type === "message")
    .flatMap((item) => item.content as JsonRecord[]);
  const paragraphs = output.filter((item) => item.type === "reasoning")
    .flatMap((
      item,
    ) => [...(item.summary as JsonRecord[]), ...((item.content ?? []) as JsonRecord[])])
    .map((part) => part.text);
  return {
    text: contents.map((part) => part.text ?? "").join(""),
    reasoning: paragraphs.join("\n\n"),
    calls: output.filter((item) => item.type === "function_call")
      .map((item) => [item.call_id, item.name, item.arguments]),
    sealed: output.map((item) => item.encrypted_content).filter(Boolean),
    citations: contents.flatMap((part) => (part.annotations ?? []) as JsonRecord[])
      .filter((one) => one.type === "url_citation").map((one) => one.url),
    usage: response.usage,
  };
}

/** Sealed reasoning as the items of a stream have it when they are done. */
function sealedItems(lines: readonly string[]): unknown[] {
  return lines.map((line) => JSON.parse(line) as JsonRecord)
    .filter((event) => event.type === "response.output_item.done")
    .map((event) => (event.item as JsonRecord).encrypted_content).filter(Boolean);
}

function saidBy(answer: CanonicalAnswer): ReturnType<typeof expectedOf> {
  const parts = answer.choices[0]?.parts ?? [];
  const texts = (kind: string) => parts.filter((part) => part.kind === kind).map((one) => one.text);
  return {
    text: texts("text").join(""),
    reasoning: texts("reasoning").filter((text) => text !== "").join("\n\n"),
    calls: parts.filter((part) => part.kind === "tool-call")
      .map((part) => [part.id, part.name, part.text]),
    sealed: parts.map(({ opaque }) => opaque && (readEnvelope(opaque.value) ?? opaque).value)
      .filter(Boolean),
    citations: parts.flatMap((part) => part.citations ?? []).map((one) => one.url),
    usage: answer.usage?.raw,
  };
}

function checkUsage(answer: CanonicalAnswer, response: JsonRecord): void {
  const usage = response.usage as JsonRecord | undefined;
  if (!usage) return;
  assert.equal(answer.usage?.input, usage.input_tokens);
  assert.equal(answer.usage?.output, usage.output_tokens);
  const details = usage.output_tokens_details as JsonRecord;
  assert.equal(answer.usage?.reasoning, details.reasoning_tokens);
}

for (const file of files.filter((one) => one.endsWith(".json"))) {
  Deno.test(`recorded whole answer is decoded and written again: ${file}`, () => {
    const json = JSON.parse(textOf(file)) as JsonRecord;
    const events = finish(decodeAnswer(json, {}));
    if (isRecord(json.error)) {
      assert.deepEqual(events.map((event) => event.type), ["error"]);
      return;
    }
    const answer = foldEvents(events);
    assert.deepEqual(saidBy(answer), expectedOf(json));
    checkUsage(answer, json);
    checkStructure(events);
    const { usage: _, ...again } = saidBy(
      foldEvents(
        finish(decodeAnswer(JSON.parse(JSON.stringify(encodeAnswer(answer, sealedContext()))), {})),
      ),
    );
    const { usage: __, ...expected } = expectedOf(json);
    assert.deepEqual(again, expected);
  });
}

for (const file of files.filter((one) => one.endsWith(".chunks.txt"))) {
  for (const [number, lines] of streamsOf(file).entries()) {
    const name = `${file}, answer ${number + 1}`;
    const last = JSON.parse(lines.at(-1)!) as { type: string; response: JsonRecord };

    Deno.test(`recorded stream is decoded and written again: ${name}`, () => {
      const { events, complete, answer } = decodeStream(lines);
      if (last.type === "response.failed") {
        assert.ok(!complete);
        assert.equal(events.filter((event) => event.type === "error").length, 1);
        return;
      }
      assert.ok(complete);
      // The vendor seals the same reasoning again in its terminal event.
      const unsealed = { ...expectedOf(last.response), sealed: sealedItems(lines) };
      assert.deepEqual(saidBy(answer), unsealed);
      checkUsage(answer, last.response);
      checkStructure(events);
      const wire = responsesEvents(encodeStream(events, sealedContext()));
      const { usage: _, ...again } = saidBy(decodeStream(wire).answer);
      const { usage: __, ...expected } = saidBy(answer);
      assert.deepEqual(again, expected);
    });

    Deno.test(`recorded stream cut anywhere is never complete: ${name}`, () => {
      for (let length = 0; length < lines.length; length++) {
        assert.ok(!decodeStream(lines.slice(0, length)).complete, `after ${length} events`);
      }
    });

    Deno.test(`recorded stream split at any bytes gives the same events: ${name}`, () => {
      const bytes = new TextEncoder().encode(lines.map((line) => `data: ${line}\r\n\r\n`).join(""));
      const expected = decodeStream(lines).events;
      for (const seed of [1, 7, 61]) assert.deepEqual(decodeBytes(bytes, seed), expected);
    });
  }
}

function decodeBytes(bytes: Uint8Array, seed: number): CanonicalEvent[] {
  const splitter = new SseSplitter({ maxEventBytes: 1 << 24 });
  const decoder = createStreamDecoder({});
  const events: CanonicalEvent[] = [];
  let state = seed;
  for (let at = 0; at < bytes.length;) {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    const length = 1 + state % (seed * 40);
    for (const event of splitter.push(bytes.subarray(at, at + length))) {
      events.push(...decoder.decode(event).events);
    }
    at += length;
  }
  for (const event of splitter.end()) events.push(...decoder.decode(event).events);
  return [...events, ...decoder.end().events];
}

/** Every block has one start and one end; only tool calls overlap. */
function checkStructure(events: readonly CanonicalEvent[]): void {
  const open = new Map<number, string>();
  assert.equal(events[0]?.type, "start");
  for (const event of events) {
    if (event.type === "block-start") {
      const others = [...open.values()].filter((kind) => kind !== "tool-call");
      assert.deepEqual(others, [], "a block opens inside another");
      open.set(event.block, event.content.kind);
    } else if (event.type === "block-delta") {
      assert.ok(open.has(event.block), "a delta outside its block");
    } else if (event.type === "block-end") {
      assert.ok(open.delete(event.block), "an end without a start");
    } else if (event.type === "finish") {
      assert.equal(open.size, 0, "a block open at the finish");
    }
  }
}
