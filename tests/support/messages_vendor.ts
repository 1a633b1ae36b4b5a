import { checkMessages, checkParameters } from "../../demo/simulator/messages_checks.ts";
import { findMessagesModel } from "../../demo/simulator/messages.ts";
import { require } from "../../demo/simulator/messages_problems.ts";
import { BODY, SAMPLING } from "../../demo/simulator/messages_rules.ts";

/**
 * Throws what the simulated messages vendor would refuse a request with: unknown fields, broken
 * pairing, settings that the model doesn't take. It knows nothing of our codecs.
 */
export function acceptedByMessagesVendor(body: unknown): void {
  const checked = require(body, { ...BODY, ...SAMPLING }, "");
  const model = findMessagesModel(checked.model);
  checkParameters(checked, model);
  // Signatures in tests are made up: they are told apart from missing ones only.
  checkMessages(withoutThinking(checked), model, new Headers());
}

function withoutThinking(body: Record<string, unknown>): Record<string, unknown> {
  const messages = Array.isArray(body.messages) ? body.messages : [];
  return {
    ...body,
    thinking: undefined,
    messages: messages.map((message) => ({
      ...message,
      content: Array.isArray(message.content)
        ? message.content.filter((block: { type: string }) => !block.type.endsWith("thinking"))
        : message.content,
    })),
  };
}
