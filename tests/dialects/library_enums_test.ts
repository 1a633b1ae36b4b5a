/** What the vendor's newest library names is known here: its next version may name more. */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import { BlockedReason, FinishReason, ThinkingLevel } from "@google/genai";
import type { ResponseError } from "openai/resources/responses/responses";
import { Secret } from "../../src/base/secret.ts";
import { readFailure } from "../../src/dialects/text/responses/answer/failure.ts";
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
