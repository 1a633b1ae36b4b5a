import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import type { CanonicalRequest, Part, Turn } from "../../kernel/canonical_request.ts";
import type { Target } from "../../kernel/dialect.ts";
import { encodeRequest } from "./request_encoder.ts";

const base = { model: "m", stream: false, system: [], tools: [], unsupported: [], paths: {} };

function encoded(parts: readonly Part[], target: Partial<Target> = {}) {
  const request: CanonicalRequest = {
    ...base,
    turns: [{ role: "user", parts: [...parts], path: "messages[0]" }],
  };
  const { body, losses } = finish(
    encodeRequest(request, { model: "m", maxOutputTokens: undefined, ...target }),
  );
  const [message] = body.messages as { content: unknown }[];
  return { content: message?.content, losses };
}

const text = (words: string, path = "t"): Part => ({ type: "text", text: words, path });
const hi = { type: "text", text: "hi" };

Deno.test("an empty text is no part of a message: Anthropic, behind an aggregator, refuses it", () => {
  assert.deepEqual(encoded([text(""), text("hi")]), { content: [hi], losses: [] });
  assert.deepEqual(encoded([text(""), text("")]), { content: "", losses: [] });
  const marked = { ...text("", "p") as Part & { type: "text" }, cache: { ttl: undefined } };
  assert.deepEqual(
    encoded([marked, text("hi")], { cacheMarks: "ephemeral" }),
    { content: [hi], losses: [{ path: "p.cache_control", weight: "hint" }] },
  );
});

Deno.test("a result answers a call before it alone", () => {
  const call: Turn = {
    role: "assistant",
    parts: [{ type: "tool-call", id: "one", name: "f", arguments: "{}", custom: false, path: "c" }],
    path: "call",
  };
  const result: Turn = {
    role: "user",
    parts: [{ type: "tool-result", callId: "one", parts: [], isError: false, path: "r" }],
    path: "result",
  };
  const next: Turn = { role: "user", parts: [text("hi")], path: "next" };
  const encode = (...turns: Turn[]) =>
    finish(encodeRequest({ ...base, turns }, { model: "m", maxOutputTokens: undefined }));
  encode(call, result, next);
  for (const turns of [[call, next], [result, call, next]]) {
    assert.throws(() => encode(...turns), /call: no result follows for the tool calls one/);
  }
});

Deno.test("the usual detail of a file is no loss", () => {
  const data = "JVBERi0xLjQ=";
  const source = { type: "base64", mimeType: "application/pdf", data } as const;
  const file = (detail: string): Part => ({
    type: "media",
    kind: "file",
    source,
    detail,
    path: "p",
  });
  assert.deepEqual(encoded([file("auto"), text("hi")]).losses, []);
  const lost = [{ path: "p.detail", weight: "hint" }];
  assert.deepEqual(encoded([file("high"), text("hi")]).losses, lost);
});

Deno.test("images are asked of models that make them, where the vendor's endpoint has the field", () => {
  const modalities = ["text", "image"] as const;
  const quirks = { imageModels: /-image\b/ };
  const asked = (target: Partial<Target>) => {
    const request = { ...base, turns: [], modalities };
    const { body, losses } = finish(
      encodeRequest(request, { model: "a/a-image-preview", maxOutputTokens: undefined, ...target }),
    );
    return [body.modalities, losses];
  };
  const lost = [undefined, [{ path: "modalities", weight: "meaning" }]];
  assert.deepEqual(asked({ quirks }), [modalities, []]);
  assert.deepEqual(asked({ model: "a/a", quirks }), lost);
  assert.deepEqual(asked({}), lost);
});
