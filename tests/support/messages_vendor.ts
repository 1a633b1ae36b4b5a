import { checkMessages, checkParameters } from "../../demo/simulator/messages_checks.ts";
import { findMessagesModel } from "../../demo/simulator/messages.ts";
import { require } from "../../demo/simulator/messages_problems.ts";
import { BODY, SAMPLING } from "../../demo/simulator/messages_rules.ts";

/**
 * Throws if the simulated messages vendor would refuse the request: for unknown fields, calls and
 * results that don't pair, or settings that the model doesn't take. The vendor shares no code with
 * our codecs.
 */
export function acceptedByMessagesVendor(body: unknown): void {
  const checked = require(body, { ...BODY, ...SAMPLING }, "");
  const model = findMessagesModel(checked.model);
  checkParameters(checked, model);
  // Signatures in tests are made up, so blocks with thinking aren't checked.
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
