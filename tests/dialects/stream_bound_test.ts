import assert from "@std/assert";
import type { BlockKind, CanonicalEvent } from "../../src/dialects/kernel/canonical.ts";
import { names, planOf, writeWhole } from "./translated.ts";

const event = { event: undefined, data: "", bytes: new Uint8Array(), terminated: true };
const piece = "x".repeat(4 * 1024 * 1024);

for (const caller of names) {
  Deno.test(`a translated stream to a ${caller} caller ends where no answer is so long`, () => {
    const vendor = names.find((name) => name !== caller)!;
    const stream = planOf({ vendor, caller }).stream();
    const forward = (...events: CanonicalEvent[]) =>
      stream.forward(event, { events, usageOnly: false, terminal: false });
    for (const block of [0, 1]) {
      const content = { kind: "tool-call", id: `c${block}`, name: "f", custom: false } as const;
      forward({ type: "block-start", choice: 0, block, content });
    }
    // The second call waits for the first where blocks come one after the other.
    const more = () => forward({ type: "block-delta", choice: 0, block: 1, text: piece });
    // The pieces themselves take room, too.
    for (let sent = 0; sent < 15; sent++) more();
    assert.throws(more, { code: "upstream_invalid_response" });
  });

  Deno.test(`a translated stream to a ${caller} caller has long pieces of media alone`, () => {
    const vendor = names.find((name) => name !== caller)!;
    for (const kind of ["media", "text"] as const) {
      const stream = planOf({ vendor, caller }).stream();
      const content: BlockKind = kind === "text"
        ? { kind }
        : { kind, media: "image", mimeType: "image/png", id: undefined };
      const forward = (...events: CanonicalEvent[]) =>
        stream.forward(event, { events, usageOnly: false, terminal: false });
      forward({ type: "block-start", choice: 0, block: 0, content });
      const more = () =>
        forward({ type: "block-delta", choice: 0, block: 0, text: piece + piece + "A" });
      if (kind === "media") more();
      else assert.throws(more, { code: "upstream_invalid_response" });
    }
  });

  Deno.test(`a whole answer is written in steps as the stream of a ${caller} caller, within the same limit`, () => {
    const vendor = names.find((name) => name !== caller)!;
    const plan = planOf({ vendor, caller, streams: true });
    const stepsOf = (text: string, blocks: number) => {
      const events = Array.from({ length: blocks }, (_, block): CanonicalEvent[] => [
        { type: "block-start", choice: 0, block, content: { kind: "text" } },
        { type: "block-delta", choice: 0, block, text },
        { type: "block-end", choice: 0, block },
      ]).flat();
      const answer = { bytes: new Uint8Array(), text: "", contentType: undefined, events };
      const steps = plan.whole(answer);
      let count = 1;
      while (!steps.next().done) count++;
      return count;
    };
    assert.ok(stepsOf("x", 100) >= 300);
    assert.throws(() => stepsOf(piece + piece + "A", 1), { code: "upstream_invalid_response" });
  });

  Deno.test(`a translated stream to a ${caller} caller has no more blocks than a whole answer`, () => {
    const vendor = names.find((name) => name !== caller)!;
    const stream = planOf({ vendor, caller }).stream();
    const content = { kind: "tool-call", id: "c", name: "f", custom: false } as const;
    const more = (block: number) =>
      stream.forward(event, {
        events: [{ type: "block-start", choice: 0, block, content }],
        ...{ usageOnly: false, terminal: false },
      });
    for (let block = 0; block < 20_000; block++) more(block);
    assert.throws(() => more(20_000), { code: "upstream_invalid_response" });
  });

  Deno.test(`a translated stream to a ${caller} caller has no more sources than a whole answer`, () => {
    const vendor = names.find((name) => name !== caller)!;
    const stream = planOf({ vendor, caller }).stream();
    const forward = (...events: CanonicalEvent[]) =>
      stream.forward(event, { events, usageOnly: false, terminal: false });
    forward({ type: "block-start", choice: 0, block: 0, content: { kind: "text" } });
    const citation = { url: "https://a.example", title: undefined, start: 0, end: 0 };
    const more = () => forward({ type: "citation", choice: 0, block: 0, citation });
    for (let sent = 0; sent < 20_000; sent++) more();
    assert.throws(more, { code: "upstream_invalid_response" });
  });
}

Deno.test("a translated stream to a generate caller parses no more names than a whole answer", () => {
  const stream = planOf({ vendor: "chat", caller: "generate" }).stream();
  const call = (block: number) => {
    const content = { kind: "tool-call", id: `c${block}`, name: "f", custom: false } as const;
    const text = `{${Array.from({ length: 5_000 }, (_, at) => `"k${block}_${at}":1`).join()}}`;
    const events: CanonicalEvent[] = [
      { type: "block-start", choice: 0, block, content },
      { type: "block-delta", choice: 0, block, text },
      { type: "block-end", choice: 0, block },
    ];
    stream.forward(event, { events, usageOnly: false, terminal: false });
  };
  assert.throws(() => Array.from({ length: 40 }, (_, block) => call(block)), {
    code: "upstream_invalid_response",
  });
});

Deno.test("a responses caller gets many log-probabilities once, not in each event that repeats the text", () => {
  for (const [texts, repeats] of [[[2_000], 5], [[3_000], 1], [[2_000, 2_000], 3]] as const) {
    const stream = planOf({ vendor: "chat", caller: "responses" }).stream();
    assert.equal(stream.takesSlices, true);
    const top = Array(20).fill({ token: "alternative", logprob: -1, bytes: null });
    const logprobs = [{ token: "chosen", logprob: -1, bytes: null, top }];
    let sent = "";
    const forward = (...events: CanonicalEvent[]) => {
      sent += stream.forward(event, { events, usageOnly: false, terminal: false }).sent;
    };
    for (const [block, tokens] of texts.entries()) {
      const at = { choice: 0, block };
      forward({ type: "block-start", ...at, content: { kind: "text" } });
      for (let token = 0; token < tokens; token++) {
        forward({ type: "block-delta", ...at, text: "a", logprobs });
      }
      forward({ type: "block-end", ...at });
    }
    forward({ type: "finish", choice: 0, reason: "stop", raw: "stop" });
    sent += stream.end([]).sent;
    const tokens = texts.reduce((sum, length) => sum + length, 0);
    assert.equal(sent.split('"chosen"').length - 1, tokens * repeats);
  }
  const logprobs = Array(60_000).fill({ token: "chosen", logprob: -1, bytes: null, top: [] });
  const part = { kind: "text", text: "a" } as const;
  const choice = { index: 0, parts: [part], logprobs, finish: undefined };
  const whole = writeWhole({ vendor: "chat", caller: "responses" }, {
    ...{ id: undefined, model: undefined, created: undefined, usage: undefined, truncated: false },
    choices: [choice],
  });
  assert.equal(JSON.stringify(whole).split('"chosen"').length - 1, logprobs.length);
});
