import assert from "@std/assert";
import { messages } from "../../dialects/text/messages/mod.ts";
import type { StoredResponseStore } from "../../shared/stored_response.ts";
import { continueConversation } from "./conversation.ts";

Deno.test("an id that is missing here is looked for again, unless the vendor may have it", async () => {
  let looks = 0;
  const store = {
    findResponse: () => Promise.resolve(undefined),
    lookAgain: () => Promise.resolve(void looks++),
  } as Partial<StoredResponseStore> as StoredResponseStore;
  const body = { messages: [], thread: { type: "continue", previous_message_id: "msg_1" } };
  const caller = { header: () => undefined, principal: { account: { id: 1 }, key: {} } };
  const request = { caller, dialect: messages, body, bodyText: JSON.stringify(body) };
  const goOn = (mayBeVendors: boolean) =>
    continueConversation(request as never, store, { mayBeVendors });
  assert.deepEqual(await goOn(true), {
    ...{ body, bodyText: request.bodyText, sources: [], isVendors: true },
  });
  assert.equal(looks, 0);
  await assert.rejects(goOn(false), { code: "previous_response_not_found" });
  assert.equal(looks, 1);
});
