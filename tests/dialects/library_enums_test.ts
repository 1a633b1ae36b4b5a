/** What the vendor's newest library names is known here: its next version may name more. */
import assert from "@std/assert";
import { finish } from "../../src/base/steps.ts";
import { BlockedReason, FinishReason, ThinkingLevel } from "@google/genai";
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
