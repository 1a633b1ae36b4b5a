import assert from "@std/assert";
import { finish } from "../../../base/steps.ts";
import type { CanonicalRequest, Part } from "../../kernel/canonical_request.ts";
import type { Target } from "../../kernel/dialect.ts";
import { encodeRequest } from "./request_encoder.ts";

function encoded(parts: readonly Part[], target: Partial<Target> = {}) {
  const request: CanonicalRequest = {
    ...{ model: "m", stream: false, system: [], tools: [], unsupported: [], paths: {} },
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
