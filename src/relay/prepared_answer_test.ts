import assert from "@std/assert";
import { unquoteJson } from "../base/quoted_json.ts";
import { finish, type Steps } from "../base/steps.ts";
import type { Step } from "../base/heavy_work.ts";
import { responses } from "../dialects/text/responses/mod.ts";
import { type Retainer, retainerOf } from "./conversation/conversation.ts";
import { prepareAnswer } from "./prepared_answer.ts";

const { mediaFields: fields, credentialFields: credentials } = responses;
const limits = { maxBytes: 1_000, inlineBytes: 1_000, fields, credentials };

/** Runs steps one by one, and counts them. */
function countingStep() {
  const counted = { steps: 0 };
  const step = {
    isHeavy: true,
    async inSteps<T>(job: () => Steps<T>): Promise<T> {
      const steps = job();
      for (;; counted.steps++) {
        const made = steps.next();
        if (made.done) return await made.value;
      }
    },
  } as Step;
  return { counted, step };
}

Deno.test("what is stored of a large answer for later turns is made in steps", async () => {
  const said = 'a"\n\u{1f600}'.repeat(400_000);
  const content = [{ type: "output_text", text: said }];
  const output = [{ type: "message", id: "msg_1", role: "assistant", content }];
  const text = JSON.stringify({ id: "resp_1", object: "response", status: "completed", output });
  const retain = retainerOf(responses, { body: { input: "Hi." }, sources: [] }, "[]");
  const { counted, step } = countingStep();
  const { payload, stored } = await prepareAnswer(text, step, { limits, retain });
  assert.equal(payload?.truncated, true);
  const { answerText, ...response } = stored!.response!;
  assert.deepEqual(response, {
    ...{ responseId: "resp_1", inputItemsText: "[]", itemIds: ["msg_1"], sources: [] },
  });
  assert.ok(finish(unquoteJson(answerText as Uint8Array)) === text);
  // It is counted, parsed, quoted and cut, an eighth of a million characters at a time.
  assert.ok(counted.steps > 80, `${counted.steps} steps`);
});

Deno.test("what can't be made of an answer is left to settling", async () => {
  const { step } = countingStep();
  const fails: Retainer = () => {
    throw new Error("not today");
  };
  const prepared = await prepareAnswer("{}", step, { limits, retain: fails });
  assert.deepEqual(Object.keys(prepared), ["text", "payload"]);
  const unwanted = await prepareAnswer("{}", step, { limits, retain: undefined });
  assert.deepEqual(Object.keys(unwanted), ["text", "payload"]);
});
