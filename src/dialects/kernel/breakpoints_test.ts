import assert from "@std/assert";
import { finish } from "../../base/steps.ts";
import { encodeRequest as toChat } from "../text/chat/request_encoder.ts";
import { encodeRequest as toResponses } from "../text/responses/request_encoder.ts";
import type { CanonicalRequest, Part, TextPart, ToolResultPart } from "./canonical_request.ts";

const cache = { ttl: undefined };
const marked = (text: string, path: string): TextPart => ({
  ...{ type: "text", text, path },
  cache,
});

const result = (more: Partial<ToolResultPart> = {}): ToolResultPart => ({
  ...{ type: "tool-result", callId: "c", parts: [], isError: false, path: "r" },
  ...more,
});

function encoded(encode: typeof toChat, parts: Part[], cacheMarks: "ephemeral" | "breakpoints") {
  const request: CanonicalRequest = {
    ...{ model: "m", stream: false, system: [], tools: [], unsupported: [], paths: {} },
    turns: [{
      role: "assistant",
      parts: [{
        ...{ type: "tool-call", id: "c", name: "f" },
        ...{ arguments: "", custom: false, path: "c" },
      }],
      path: "c",
    }, { role: "user", parts, path: "m" }],
  };
  const target = { model: "m", maxOutputTokens: undefined, cacheMarks };
  const { body, losses } = finish(encode(request, target as never));
  const text = JSON.stringify(body);
  return {
    sent: text.match(/"(cache_control|prompt_cache_breakpoint)":/g)?.length ?? 0,
    lost: losses.map(({ path }) => path),
  };
}

const encoders = [toChat, toResponses as typeof toChat];

Deno.test("a mark on an empty text takes no place of a mark that can be sent", () => {
  const full = ["a", "b", "c", "d"].map((text) => marked(text, text));
  for (const encode of encoders) {
    for (const form of ["ephemeral", "breakpoints"] as const) {
      const { sent, lost } = encoded(encode, [result(), ...full, marked("", "e")], form);
      assert.deepEqual([sent, lost], [4, ["e.cache_control"]]);
    }
  }
});

Deno.test("the mark of a tool's result stands on its last text that isn't empty", () => {
  for (const encode of encoders) {
    const parts = [marked("a", "a"), marked("", "e")].map(({ cache: _, ...part }) =>
      part as TextPart
    );
    const { sent, lost } = encoded(encode, [result({ parts, cache })], "ephemeral");
    assert.deepEqual([sent, lost], [1, []]);
  }
});
