/**
 * Valid bodies that are as heavy as bodies may be are worked on in steps, between which others have
 * their turn (interface.md §5: they wait a quarter of a second at most). Here no step may take long:
 * by the time of the processor that this thread takes, since machines that run tests are busy.
 */
import assert from "@std/assert";
import process from "node:process";
import { chatRequest } from "../../contracts/calls/chat.ts";
import { JsonCount } from "../../src/base/json_count.ts";
import { parseInSteps } from "../../src/base/parse_in_steps.ts";
import type { Steps } from "../../src/base/steps.ts";
import { writeJson } from "../../src/base/write_json.ts";
import { chat } from "../../src/dialects/text/chat/mod.ts";
import { generate } from "../../src/dialects/text/generate/mod.ts";
import { messages } from "../../src/dialects/text/messages/mod.ts";
import { promptTokens } from "../../src/dialects/kernel/prompt_text.ts";
import { responses } from "../../src/dialects/text/responses/mod.ts";
import { boundInputTokens } from "../../src/shared/token_estimate.ts";
import { validateSteps } from "../../src/shared/validate.ts";
import { boundPayloadSteps } from "../../src/records/payload.ts";
import { jsonLimits } from "../../src/base/heavy_json.ts";
import { sample } from "../support/sample.ts";

/** A quarter of what others may wait, since they meet several; a collection of garbage fits in. */
const maxMs = 60;
/** A step that was long once may have been interrupted; one that always is, is long. */
const attempts = 4;

const say = (content: string) => `{"role":"user","content":${content}}`;
const parts = (count: number) => `[${Array(count).fill('{"type":"text","text":"a"}').join()}]`;
const ask = (content: string, more = "") =>
  `{"model":"vendor-b/gpt-5-mini","max_tokens":100,"messages":[${content}]${more}}`;
const picture = `data:image/png;base64,iVBORw0KGgo${"A".repeat(20_000_001)}`;

const bodies: Readonly<Record<string, () => string>> = {
  "a million values in parts": () => ask(Array(66).fill(say(parts(5_000))).join()),
  "20,000 messages": () => ask(Array(20_000).fill(say(parts(12))).join()),
  "28 MB of escapes": () => ask(say(`"${'\\"'.repeat(14_000_000)}"`)),
  "28 MB of words": () => ask(say(`"${"word ".repeat(5_600_000)}"`)),
  "a picture of 20 MB": () => ask(say(`[{"type":"image_url","image_url":{"url":"${picture}"}}]`)),
  "tag lines in the last message": () =>
    ask(
      `${Array(19_999).fill('{"role":"assistant","content":"a"}').join()},${
        say(JSON.stringify("/// APP a\n".repeat(1000) + "b".repeat(20_000_000)))
      }`,
    ),
};

/** `HOSTILE=long` tries all of them, the gate every other. */
const tried = sample(Object.entries(bodies), {
  oneOf: 2,
  salt: "heavy bodies",
  all: Deno.env.get("HOSTILE") === "long",
});

for (const [name, make] of tried) {
  Deno.test(`no step of ${name} takes long`, () => {
    const text = make();
    const least = new Map<string, number>();
    for (let attempt = 0; attempt < attempts; attempt++) {
      for (const [what, ms] of longestSteps(text)) {
        least.set(what, Math.min(ms, least.get(what) ?? Infinity));
      }
      if ([...least.values()].every((ms) => ms < maxMs)) break;
    }
    const told = JSON.stringify(Object.fromEntries(least));
    console.log(`${name}: ${told}`);
    assert.ok([...least.values()].every((ms) => ms < maxMs), told);
  });
}

/** What is done with a request on its way to a vendor, and how long the longest step took. */
function longestSteps(text: string): Map<string, number> {
  const longest = new Map<string, number>();
  const drive = <T>(what: string, steps: Steps<T>): T => {
    for (let most = 0;;) {
      const { step, ms } = timed(() => steps.next());
      most = Math.max(most, ms);
      if (!step.done) continue;
      longest.set(what, Math.max(Math.round(most), longest.get(what) ?? 0));
      return step.value;
    }
  };
  const count = new JsonCount(jsonLimits);
  for (let from = 0; from < text.length; from += 65_536) count.add(text.slice(from, from + 65_536));
  const parsed = drive("parse", parseInSteps(text, count));
  const body = drive("validate", validateSteps(chatRequest, parsed));
  const { step: facts, ms } = timed(() => chat.readRequest(body));
  longest.set("read", Math.round(ms));
  const changes = { model: "gpt-5-mini", askStreamUsage: true };
  drive("splice", chat.spliceRequest(text, facts, changes));
  const { mediaFields: fields, credentialFields: credentials } = chat;
  const limits = { maxBytes: 1_000_000, inlineBytes: 1_000, fields, credentials };
  drive("payload", boundPayloadSteps(text, limits));
  drive("tokens", promptTokens(body));
  drive("bounds", boundInputTokens(text));
  const decoded = drive("decode", chat.decodeRequest(body));
  for (const dialect of [messages, generate, responses]) {
    const target = { model: "some-model", maxOutputTokens: undefined };
    const encoded = drive(
      `encode for ${dialect.name}`,
      dialect.encodeRequest(decoded, target),
    );
    drive(`write for ${dialect.name}`, writeJson(encoded.body));
  }
  return longest;
}

function timed<T>(act: () => T): { step: T; ms: number } {
  const before = process.threadCpuUsage();
  const begunMs = performance.now();
  const step = act();
  const wallMs = performance.now() - begunMs;
  const { user, system } = process.threadCpuUsage(before);
  return { step, ms: Math.min(wallMs, (user + system) / 1000) };
}
