/** What the vendor's newest library names is known here: its next version may name more. */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import { BlockedReason, FinishReason, ThinkingLevel } from "@google/genai";
import type { BetaStopReason } from "@anthropic-ai/sdk/resources/beta/messages/messages";
import type { ChatCompletion } from "openai/resources/chat/completions/completions";
import type { Response, ResponseError } from "openai/resources/responses/responses";
import { Secret } from "../../src/base/secret.ts";
import { readFinishReason as readChatReason } from "../../src/dialects/text/chat/finish_reason.ts";
import { readFinishReason as readMessagesReason } from "../../src/dialects/text/messages/finish_reason.ts";
import { readFailure } from "../../src/dialects/text/responses/answer/failure.ts";
import { responseObject } from "../../src/dialects/text/responses/answer/response_object.ts";
import { vendorFault } from "../../src/relay/vendor_fault.ts";
import {
  isBlocked,
  readFinishReason,
  writeFinishReason,
} from "../../src/dialects/text/generate/finish_reason.ts";
import { decodeRequest } from "../../src/dialects/text/generate/request_decoder.ts";

Deno.test("every finishReason of @google/genai is written as it was read", () => {
  const reasons = Object.values(FinishReason);
  assert.ok(reasons.length > 20, `${reasons.length} reasons`);
  for (const raw of reasons) {
    for (const sawToolCall of [false, true]) {
      const ending = readFinishReason(raw, sawToolCall);
      assert.equal(writeFinishReason(ending === "invalid" ? "stop" : ending, raw), raw);
    }
  }
  for (const raw of [FinishReason.ESCALATION, FinishReason.PUP_LIMITED_DISABLED]) {
    assert.equal(readFinishReason(raw, false), "content_filter");
  }
  assert.equal(readFinishReason(FinishReason.MISSING_THOUGHT_SIGNATURE, false), "invalid");
});

Deno.test("every blockReason of @google/genai but the unspecified one blocks", () => {
  for (const raw of Object.values(BlockedReason)) {
    assert.equal(isBlocked(raw), raw !== BlockedReason.BLOCKED_REASON_UNSPECIFIED, raw);
  }
});

Deno.test("every thinkingLevel of @google/genai is an effort, but for the unspecified one", () => {
  const effortOf = (thinkingLevel: ThinkingLevel) =>
    finish(decodeRequest({
      contents: [{ parts: [{ text: "Hello" }] }],
      generationConfig: { thinkingConfig: { thinkingLevel } },
    })).reasoning?.effort;
  for (const level of Object.values(ThinkingLevel)) {
    const isNamed = level !== ThinkingLevel.THINKING_LEVEL_UNSPECIFIED;
    assert.equal(effortOf(level), isNamed ? level.toLowerCase() : undefined, level);
  }
});

/** Its next version's reasons fail the type check. */
const stopReasons: Record<BetaStopReason, string> = {
  end_turn: "stop",
  max_tokens: "length",
  stop_sequence: "stop",
  tool_use: "tool_calls",
  pause_turn: "stop",
  compaction: "stop",
  refusal: "content_filter",
  model_context_window_exceeded: "length",
};

Deno.test("every stop_reason of @anthropic-ai/sdk has its unified one", () => {
  for (const [raw, ours] of Object.entries(stopReasons)) {
    assert.equal(readMessagesReason(raw, raw === "tool_use"), ours, raw);
  }
});

const finishReasons: Record<ChatCompletion.Choice["finish_reason"], string> = {
  stop: "stop",
  length: "length",
  tool_calls: "tool_calls",
  content_filter: "content_filter",
  function_call: "tool_calls",
};

Deno.test("every finish_reason of openai has its unified one", () => {
  for (const [raw, ours] of Object.entries(finishReasons)) {
    assert.equal(readChatReason(raw, ours === "tool_calls"), ours, raw);
  }
});

/** Its next version's codes fail the type check. */
const responseErrors: Record<ResponseError["code"], string> = {
  server_error: "upstream_error",
  rate_limit_exceeded: "upstream_rate_limited",
  invalid_prompt: "invalid_request",
  data_residency_mismatch: "invalid_request",
  bio_policy: "content_policy_violation",
  misalignment_policy_violation: "content_policy_violation",
  vector_store_timeout: "upstream_error",
  invalid_image: "invalid_request",
  invalid_image_format: "invalid_request",
  invalid_base64_image: "invalid_request",
  invalid_image_url: "invalid_request",
  image_too_large: "invalid_request",
  image_too_small: "invalid_request",
  image_parse_error: "invalid_request",
  image_content_policy_violation: "content_policy_violation",
  invalid_image_mode: "invalid_request",
  image_file_too_large: "invalid_request",
  unsupported_image_media_type: "invalid_request",
  empty_image_file: "invalid_request",
  failed_to_download_image: "invalid_request",
  image_file_not_found: "invalid_request",
};

Deno.test("every code of a failed response of openai says whose failure it is", () => {
  const context = { mode: "managed", address: "https://a.example", key: new Secret("k") } as const;
  for (const [code, ours] of Object.entries(responseErrors)) {
    const error = { code, message: "No." };
    for (const told of [{ status: "failed", error }, { type: "error", ...error }]) {
      assert.equal(vendorFault(readFailure(told), context).code, ours, code);
    }
  }
});

type RequiredOf<T> = {
  [Name in keyof T]-?: object extends Pick<T, Name> ? never : Name;
}[keyof T];

/** Its next version's fields fail the type check. The library itself adds `output_text`. */
const responseFields: Record<Exclude<RequiredOf<Response>, "output_text">, true> = {
  id: true,
  object: true,
  created_at: true,
  error: true,
  incomplete_details: true,
  instructions: true,
  metadata: true,
  model: true,
  output: true,
  parallel_tool_calls: true,
  temperature: true,
  tool_choice: true,
  tools: true,
  top_p: true,
  access_programs: true,
};

const toolUsageFields: Record<RequiredOf<Response.ToolUsage>, true> = {
  image_gen: true,
  web_search: true,
};

Deno.test("a translated response has every field that the type of openai requires", () => {
  const response = responseObject({}, {
    id: "resp_1",
    created: 1,
    completed: 2,
    model: "m",
    stage: { type: "ended", reason: "stop" },
    output: [],
    usage: { input: 1, output: 1, webSearches: 2 },
  });
  for (const name of Object.keys(responseFields)) assert.ok(name in response, name);
  const usage = response.tool_usage as Response.ToolUsage;
  for (const name of Object.keys(toolUsageFields)) assert.ok(name in usage, name);
  assert.deepEqual(usage, {
    image_gen: {
      input_tokens: 0,
      input_tokens_details: { image_tokens: 0, text_tokens: 0 },
      output_tokens: 0,
      output_tokens_details: { image_tokens: 0, text_tokens: 0 },
      total_tokens: 0,
    },
    web_search: { num_requests: 2 },
  });
});
