import assert from "@std/assert";
import { runAtOnce, type Step } from "../base/heavy_work.ts";
import type { Steps } from "../base/steps.ts";
import { chat } from "../dialects/text/chat/mod.ts";
import { messages } from "../dialects/text/messages/mod.ts";
import { countTokens } from "./count_tokens.ts";

Deno.test("a small count that continues a large conversation runs in turns", async () => {
  const question = { role: "user", content: "a\n".repeat(600_000) };
  const answer = { type: "message", id: "msg_1", role: "assistant", content: [] };
  const previous = {
    ...{ transactionId: "t1", responseId: "msg_1", itemIds: [], sources: [] },
    inputItemsText: JSON.stringify([{}, question]),
    answerText: JSON.stringify(answer),
  };
  const vendor = { label: "vendor-b", dialects: ["chat"], aliases: [], quirks: {} };
  let isContinued = false;
  const deps = {
    dialects: { chat },
    targetHealth: { isCooling: () => false },
    storedResponses: {
      findResponse: () => {
        isContinued = true;
        return Promise.resolve(previous);
      },
    },
  };
  /** Only what the caller sent may be read at once. */
  const own: Step = Object.assign(<T>(job: () => T) => {
    assert.equal(isContinued, false, "at once");
    return runAtOnce(job);
  }, {
    inSteps: <T>(job: () => Steps<T>) => {
      assert.equal(isContinued, false, "at once");
      return runAtOnce.inSteps(job);
    },
    isHeavy: false,
  });
  const heavy: Step = Object.assign(runAtOnce.bind(undefined), {
    inSteps: runAtOnce.inSteps,
    isHeavy: true,
  });
  const caller = {
    ...{
      header: () => undefined,
      trace: {},
      principal: { account: { id: 1 }, key: { models: [] } },
    },
    step: own,
    heavyStep: () => heavy,
  };
  const body = {
    model: "m",
    messages: [{ role: "user", content: "?" }],
    thread: { type: "continue", previous_message_id: "msg_1" },
  };
  const counted = await countTokens(
    deps as never,
    { caller, dialect: messages, vendor, body, bodyText: JSON.stringify(body) } as never,
  );
  assert.ok(isContinued);
  assert.equal(counted.headers["x-token-count"], "estimated");
  assert.ok(JSON.parse(counted.body as string).input_tokens > 100_000);
});
