/** The aggregator's endpoint in the messages dialect, for all of its models. */
import { costOf } from "./chat_vendors.ts";
import { type ChatVendor, findModel } from "./chat_vendor.ts";
import { bodyOf } from "./exchange.ts";
import { answerMessages } from "./messages.ts";
import { type MessagesModel } from "./messages_models.ts";
import { require } from "./messages_problems.ts";
import { BODY, SAMPLING } from "./messages_rules.ts";
import { type ChatModel } from "./openai_models.ts";
import { type Rules } from "./rules.ts";
import { type Route } from "./server.ts";

/** The dialect's fields, and those that control how the aggregator chooses a provider. */
const RULES: Rules = {
  ...BODY,
  ...SAMPLING,
  models: { is: "array" },
  plugins: { is: "array" },
  provider: { is: "object" },
  session_id: { is: "string" },
  user: { is: "string" },
};

export function aggregatorMessages(vendor: ChatVendor): Route[] {
  return [{
    method: "POST",
    path: /^\/messages$/,
    handle: (exchange) => {
      const body = require(bodyOf(exchange), RULES, "");
      const model = findModel(vendor, body.model);
      return answerMessages(exchange, body, rulesOf(model), (counts) => costOf(counts, model));
    },
  }];
}

/** The aggregator accepts for every model what the dialect's vendor accepts for its older ones. */
function rulesOf({ id, maxOutputTokens, contextTokens, isReasoning }: ChatModel): MessagesModel {
  return {
    id,
    displayName: id,
    createdAt: "2026-01-01T00:00:00Z",
    line: null,
    maxOutputTokens,
    contextTokens,
    hasSampling: true,
    thinking: ["enabled", "adaptive", "disabled"],
    thinksByDefault: isReasoning,
    showsThinking: true,
    hasForcedTools: true,
    signsThinking: id.startsWith("anthropic/"),
    bindsThinking: false,
    hasMidSystem: false,
  };
}
