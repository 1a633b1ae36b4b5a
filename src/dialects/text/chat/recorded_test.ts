import assert from "@std/assert";
import { SseSplitter } from "../../../base/sse.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../kernel/canonical.ts";
import { foldEvents } from "../../kernel/fold.ts";
import { decodeAnswer } from "./answer_decoder.ts";
import { createStreamDecoder } from "./stream_decoder.ts";
import { finish } from "../../../base/steps.ts";

/**
 * Real answers of real vendors. The folder lies beside the checkout where we build; elsewhere
 * there is none and no test is registered.
 */
const folder = new URL("../../../../../shared/recorded/chat/", import.meta.url);

function recorded(ending: string): { name: string; text: string }[] {
  try {
    return [...Deno.readDirSync(folder)]
      .filter(({ name }) => name.endsWith(ending))
      .map(({ name }) => ({ name, text: Deno.readTextFileSync(new URL(name, folder)) }))
      .toSorted((one, other) => one.name < other.name ? -1 : 1);
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return [];
    throw thrown;
  }
}

interface Raw {
  text: string;
  reasoning: string;
  /** Names and arguments of the tool calls, joined. */
  tools: string;
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number };
}

/** The same facts read naively, out of the raw payloads: every string at the known places. */
function rawFacts(payloads: readonly unknown[]): Raw {
  const raw = { text: "", reasoning: "", tools: "" };
  let counted: Raw["usage"] | undefined;
  for (const payload of payloads) {
    const { choices, usage } = payload as { choices?: Loose[]; usage?: Raw["usage"] | null };
    counted = usage ?? counted;
    for (const { delta, message } of choices ?? []) {
      const said = delta ?? message ?? {};
      raw.reasoning += said.reasoning_content ?? said.reasoning ?? "";
      const content = typeof said.content === "string" ? [{ text: said.content }] : said.content;
      for (const part of content ?? []) {
        raw.text += part.text ?? "";
        raw.reasoning += (part.thinking ?? []).map(({ text }) => text).join("");
      }
      for (const call of said.tool_calls ?? []) {
        raw.tools += (call.function.name ?? "") + (call.function.arguments ?? "");
      }
    }
  }
  if (!counted) throw new Error("the recording holds no usage");
  return { ...raw, usage: counted };
}

interface Loose {
  delta?: LooseMessage;
  message?: LooseMessage;
}
interface LooseMessage {
  content?: string | { text?: string; thinking?: { text: string }[] }[] | null;
  reasoning_content?: string | null;
  reasoning?: string | null;
  tool_calls?: { function: { name?: string; arguments?: string } }[] | null;
}

function agrees(answer: CanonicalAnswer, raw: Raw, additive: boolean): void {
  const parts = answer.choices.flatMap((choice) => choice.parts);
  const joined = (kind: string) =>
    parts.filter((part) => part.kind === kind).map(({ text }) => text).join("");
  assert.equal(joined("text"), raw.text);
  assert.equal(joined("reasoning"), raw.reasoning);
  const tools = parts.map((part) => part.kind === "tool-call" ? part.name + part.text : "");
  assert.equal(tools.join(""), raw.tools);
  assert.ok(raw.text + raw.tools !== "", "the recording says something");
  for (const part of parts) if (part.kind === "tool-call") JSON.parse(part.text);
  const { prompt_tokens, completion_tokens, total_tokens } = raw.usage;
  assert.equal(answer.usage?.input, prompt_tokens);
  const output = additive ? total_tokens - prompt_tokens : completion_tokens;
  assert.equal(answer.usage?.output, output);
  assert.ok(output > 0);
  assert.deepEqual(answer.usage?.raw, raw.usage);
  const reason = raw.tools === "" ? "stop" : "tool_calls";
  assert.deepEqual(answer.choices.map(({ finish }) => finish?.reason), [reason]);
}

/** The vendor whose row says that reasoning is counted beside the completion. */
const isAdditive = (name: string) => name.includes("xai");

const encode = (lines: readonly string[]) =>
  new TextEncoder().encode([...lines, "[DONE]"].map((line) => `data: ${line}\n\n`).join(""));

function decodeBytes(pieces: readonly Uint8Array[], additiveReasoning: boolean) {
  const splitter = new SseSplitter({ maxEventBytes: 1 << 20 });
  const decoder = createStreamDecoder({ additiveReasoning });
  const events: CanonicalEvent[] = [];
  for (const piece of pieces) {
    for (const event of splitter.push(piece)) events.push(...decoder.decode(event).events);
  }
  for (const event of splitter.end()) events.push(...decoder.decode(event).events);
  const { events: rest, complete } = decoder.end();
  return { answer: foldEvents([...events, ...rest]), complete };
}

/** Cuts at places that only the seed decides (a linear congruential generator). */
function cutAtRandom(bytes: Uint8Array, seed: number): Uint8Array[] {
  const pieces: Uint8Array[] = [];
  let state = seed;
  for (let at = 0; at < bytes.length;) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    const length = 1 + (state >>> 16) % (seed % 2 === 0 ? 7 : 400);
    pieces.push(bytes.subarray(at, at + length));
    at += length;
  }
  return pieces;
}

for (const { name, text } of recorded(".json")) {
  Deno.test(`recorded answer ${name} keeps its words, calls and counts`, () => {
    const json: unknown = JSON.parse(text);
    const additiveReasoning = isAdditive(name);
    const answer = foldEvents(finish(decodeAnswer(json, { additiveReasoning })));
    agrees(answer, rawFacts([json]), additiveReasoning);
  });
}

for (const { name, text } of recorded(".chunks.txt")) {
  const lines = text.split("\n").filter((line) => line !== "");
  const additive = isAdditive(name);

  Deno.test(`recorded stream ${name} keeps its words, calls and counts`, () => {
    const { answer, complete } = decodeBytes([encode(lines)], additive);
    agrees(answer, rawFacts(lines.map((line) => JSON.parse(line) as unknown)), additive);
    assert.equal(complete, true);
  });

  Deno.test(`recorded stream ${name} reads the same however its bytes are cut`, () => {
    const bytes = encode(lines);
    const expected = decodeBytes([bytes], additive);
    for (let seed = 1; seed <= 6; seed++) {
      assert.deepEqual(decodeBytes(cutAtRandom(bytes, seed), additive), expected, `seed ${seed}`);
    }
  });

  Deno.test(`recorded stream ${name} cut before its finish is never complete`, () => {
    const finish = lines.findIndex((line) => /"finish_reason":"/.test(line));
    assert.ok(finish > 0, "the recording has a finish");
    for (let kept = 0; kept <= lines.length; kept++) {
      const { complete } = decodeBytes([encode(lines.slice(0, kept))], additive);
      assert.equal(complete, kept > finish, `after ${kept} of ${lines.length} events`);
    }
  });
}
