import type { Dialect } from "../dialects/dialect.ts";
import { Fault } from "../domain/fault.ts";
import type { KeptResponse, KeptStore } from "../domain/kept.ts";
import type { Caller } from "./caller.ts";

/** Makes what is kept of an answer, given its JSON text as the caller received it. */
export type Keeper = (answerText: string) => KeptResponse | undefined;

/**
 * The request with the conversation that it continues, out of our own store for every vendor: a
 * vendor's state would be open to whoever shares the service's key there. Throws
 * `previous_response_not_found` when the account has no such answer.
 */
export async function continueConversation(
  request: { caller: Caller; dialect: Dialect; body: unknown; bodyText: string },
  store: KeptStore,
): Promise<{ body: unknown; bodyText: string }> {
  const { body, bodyText, dialect } = request;
  const previousId = dialect.conversation?.previousId(body);
  if (!dialect.conversation || previousId === undefined) return { body, bodyText };
  const kept = await store.findResponse(request.caller.principal.account.id, previousId);
  if (!kept) {
    throw new Fault("previous_response_not_found", {
      param: "previous_response_id",
      message: `previous_response_id: no stored response has the id '${previousId.slice(0, 100)}'.`,
    });
  }
  return dialect.conversation.continueFrom({
    body,
    bodyText,
    inputItems: JSON.parse(kept.inputItemsText) as unknown[],
    answer: JSON.parse(kept.answerText),
  });
}

/** Keeps the answer to a request, unless its caller said not to; `body` is the whole conversation. */
export function keeperOf(dialect: Dialect, body: unknown): Keeper | undefined {
  const { conversation } = dialect;
  if (!conversation?.wantsKept(body)) return undefined;
  return (answerText) => {
    const responseId = conversation.answerId(JSON.parse(answerText));
    if (responseId === undefined) return undefined;
    const inputItemsText = JSON.stringify(conversation.inputItems(body));
    return { responseId, inputItemsText, answerText };
  };
}
