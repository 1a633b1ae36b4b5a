import assert from "@std/assert";
import { canonicalRequest } from "../../../../tests/support/canonical_request.ts";
import { messagesEvents } from "../../../../tests/support/grammar/events.ts";
import { MessagesSamples } from "../../../../tests/support/messages_samples.ts";
import { type SseEvent, SseSplitter } from "../../../base/sse.ts";
import type { CanonicalAnswer, CanonicalEvent } from "../../kernel/canonical.ts";
import { foldEvents } from "../../kernel/fold.ts";
import type { AnswerContext } from "../../kernel/dialect.ts";
import { messages } from "./mod.ts";
import { finish } from "../../../base/steps.ts";

type Json = Record<string, unknown>;

const folder = new URL("../../../../../shared/recorded/messages/", import.meta.url);

const context: AnswerContext = {
  id: (prefix) => `${prefix}minted`,
  created: 1,
  model: "m",
  request: canonicalRequest({}),
  body: {},
  showUsage: true,
  inputTokens: 0,
};

/** Real answers of the vendor; absent on a clone elsewhere, and then nothing is registered. */
for (const name of recordings()) {
  if (name.endsWith(".json")) {
    Deno.test(`recorded ${name} keeps text, arguments and usage`, () => {
      checkWhole(JSON.parse(Deno.readTextFileSync(new URL(name, folder))));
    });
  } else {
    Deno.test(`recorded ${name} keeps them too, however it is cut`, () => {
      for (const payloads of answersOf(Deno.readTextFileSync(new URL(name, folder)))) {
        checkStream(payloads);
      }
    });
  }
}

function recordings(): string[] {
  try {
    return [...Deno.readDirSync(folder)].map((entry) => entry.name).sort();
  } catch (thrown) {
    if (thrown instanceof Deno.errors.NotFound) return [];
    throw thrown;
  }
}

/** Some files hold several answers, one after the other. */
function answersOf(text: string): Json[][] {
  const answers: Json[][] = [];
  let id: unknown;
  for (const line of text.split("\n").filter((one) => one.trim() !== "")) {
    const payload: Json = JSON.parse(line);
    const message = payload.message as Json | undefined;
    if (payload.type === "message_start" && message?.id !== id) {
      answers.push([]);
      id = message?.id;
    }
    answers.at(-1)?.push(payload);
  }
  return answers;
}

/** The content of an answer, read from its blocks alone. */
interface Said {
  text: string;
  thinking: string;
  calls: [unknown, unknown, unknown][];
}

function checkWhole(json: Json): void {
  const said: Said = { text: "", thinking: "", calls: [] };
  for (const block of json.content as Json[]) {
    if (block.type === "text") said.text += block.text;
    if (block.type === "thinking") said.thinking += block.thinking;
    if (block.type === "tool_use") said.calls.push([block.id, block.name, block.input]);
  }
  const answer = foldEvents(finish(messages.decodeAnswer(json, {})));
  assert.deepEqual(saidBy(answer), said);
  checkUsage(answer, json.usage as Json);
  const again = messages.encodeAnswer(answer, context);
  assert.deepEqual(plain(foldEvents(finish(messages.decodeAnswer(again, {})))), plain(answer));
}

function checkStream(payloads: readonly Json[]): void {
  const frames = payloads.map((data) => `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`);
  const bytes = new TextEncoder().encode(frames.join(""));
  const { events, complete } = decode(new SseSplitter(cap).push(bytes));
  const isWhole = payloads.at(-1)?.type === "message_stop";
  assert.equal(complete, isWhole);
  const answer = foldEvents(events);
  assert.deepEqual(saidBy(answer), saidByPayloads(payloads));
  checkResplit(bytes, events);
  checkCuts(payloads, frames);
  if (isWhole) checkAgain(answer, events);
}

const cap = { maxEventBytes: 1_000_000 };

function decode(incoming: readonly SseEvent[]): { events: CanonicalEvent[]; complete: boolean } {
  const decoder = messages.createStreamDecoder({});
  const events = incoming.flatMap((event) => decoder.decode(event).events);
  const rest = decoder.end();
  return { events: [...events, ...rest.events], complete: rest.complete };
}

function saidByPayloads(payloads: readonly Json[]): Said {
  const said: Said = { text: "", thinking: "", calls: [] };
  let json = "";
  let call: Json | undefined;
  for (const { type, content_block: block, delta } of payloads as Record<string, Json>[]) {
    if (String(type) === "message_start") {
      // Only a later one of the same answer repeats the earlier text.
      continue;
    }
    said.text += delta?.text ?? "";
    said.thinking += delta?.thinking ?? "";
    json += delta?.partial_json ?? "";
    if (block) {
      call = block;
      json = "";
    }
    if (String(type) === "content_block_stop" && call?.type === "tool_use") {
      said.calls.push([call.id, call.name, json === "" ? call.input : JSON.parse(json)]);
    }
  }
  return said;
}

function saidBy(answer: CanonicalAnswer): Said {
  const parts = answer.choices[0]?.parts ?? [];
  const textOf = (kind: string) =>
    parts.filter((part) => part.kind === kind).map((part) => part.text).join("");
  return {
    text: textOf("text"),
    thinking: textOf("reasoning"),
    calls: parts.flatMap((part): Said["calls"] =>
      part.kind === "tool-call" ? [[part.id, part.name, JSON.parse(part.text)]] : []
    ),
  };
}

function checkUsage(answer: CanonicalAnswer, raw: Json): void {
  const all = [
    raw,
    ...((raw.iterations ?? []) as Json[])
      .filter((one) => one.type === "compaction" || one.type === "advisor_message"),
  ];
  const sum = (...names: string[]) =>
    all.flatMap((one) => names.map((name) => Number(one[name] ?? 0))).reduce((a, b) => a + b, 0);
  const cache = ["cache_read_input_tokens", "cache_creation_input_tokens"];
  assert.equal(answer.usage?.input, sum("input_tokens", ...cache));
  assert.equal(answer.usage?.output, sum("output_tokens"));
}

/** The events don't depend on where the bytes were cut. */
function checkResplit(bytes: Uint8Array, events: readonly CanonicalEvent[]): void {
  const samples = new MessagesSamples(bytes.length);
  const splitter = new SseSplitter(cap);
  const incoming: SseEvent[] = [];
  for (let at = 0; at < bytes.length;) {
    const next = at + 1 + samples.below(200);
    incoming.push(...splitter.push(bytes.subarray(at, next)));
    at = next;
  }
  assert.deepEqual(decode([...incoming, ...splitter.end()]).events, events);
}

/** Cut anywhere before its finish reason, it is never complete. */
function checkCuts(payloads: readonly Json[], frames: readonly string[]): void {
  const decoder = messages.createStreamDecoder({});
  const splitter = new SseSplitter(cap);
  let finished = false;
  for (const [index, frame] of frames.entries()) {
    const event = splitter.push(new TextEncoder().encode(frame))[0];
    const { terminal, events } = decoder.decode(event!);
    finished ||= events.some((one) => one.type === "finish");
    const reason = (payloads[index]?.delta as Json | undefined)?.stop_reason;
    assert.equal(finished, reason !== undefined || index === frames.length - 1);
    assert.equal(terminal, payloads[index]?.type === "message_stop");
    if (index > 200) break;
    assert.equal(
      decode(
        frames.slice(0, index + 1).flatMap((one) =>
          new SseSplitter(cap).push(new TextEncoder().encode(one))
        ),
      ).complete,
      finished,
    );
  }
}

/** Written as stream and as a whole, it is still the same answer. */
function checkAgain(answer: CanonicalAnswer, events: readonly CanonicalEvent[]): void {
  const encoder = messages.createStreamEncoder(context);
  const text = events.map((event) => encoder.encode(event)).join("") + encoder.end();
  assert.equal(messagesEvents(text).at(-1)?.type, "message_stop");
  const again = decode(new SseSplitter(cap).push(new TextEncoder().encode(text)));
  assert.deepEqual(plain(foldEvents(again.events)), plain(answer));
}

/** Without ids, vendor's words and what only records keep; calls' arguments as values. */
function plain(answer: CanonicalAnswer): unknown {
  const { input, cacheRead, cacheWrite, cacheWriteLong, output } = answer.usage!;
  return {
    usage: [input, cacheRead, (cacheWrite ?? 0) + (cacheWriteLong ?? 0), output],
    parts: answer.choices[0]?.parts.map(({ own: _, ...part }) => (
      part.kind === "tool-call" ? { ...part, text: JSON.parse(part.text) } : part
    )),
    reason: answer.choices[0]?.finish?.reason,
  };
}
