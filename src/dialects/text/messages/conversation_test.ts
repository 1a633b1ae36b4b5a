import { finish } from "../../../base/steps.ts";
import assert from "@std/assert";
import { conversation } from "./conversation.ts";

Deno.test("a thread goes on after an answer that was cut amid its thinking", () => {
  const thinking = { type: "thinking", thinking: "hm", signature: "V" };
  const said = { type: "text", text: "a" };
  const question = { role: "user", content: "q" };
  const body = {
    messages: [question],
    thread: { type: "continue", previous_message_id: "msg_1" },
  };
  const continued = (content: unknown[]) =>
    finish(conversation.continueFrom({
      ...{ body, bodyText: JSON.stringify(body), inputItems: [{}, question] },
      answer: { type: "message", id: "msg_1", content },
    }));
  assert.deepEqual(JSON.parse(continued([thinking]).bodyText), { messages: [question, question] });
  const { bodyText } = continued([thinking, said, thinking]);
  const answer = { role: "assistant", content: [thinking, said] };
  assert.deepEqual(JSON.parse(bodyText), { messages: [question, answer, question] });
});
