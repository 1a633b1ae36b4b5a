import { readEndUser } from "./request/end_user.ts";
import { unsignedEdits } from "./request/unsigned_thinking.ts";
import type { RequestFacts } from "../../kernel/dialect.ts";
import { asString, type JsonRecord } from "../../kernel/json.ts";
import { splicer } from "../../kernel/splice_request.ts";
import {
  firstText,
  firstTextIn,
  type LocatedText,
  readTagBlocks,
} from "../../kernel/tag_blocks.ts";

/** Returns what the gateway must know about a messages request; `body` has passed the contract. */
export function readRequest(body: unknown): RequestFacts {
  const request = body as JsonRecord;
  const { user, session } = readEndUser(request.metadata);
  return {
    model: String(request.model),
    stream: request.stream === true,
    wantsStreamUsage: true,
    endUser: user,
    ...(user === undefined ? {} : { endUserField: "metadata.user_id" }),
    ...(session === undefined ? {} : { session }),
    maxOutputTokens: typeof request.max_tokens === "number" ? request.max_tokens : undefined,
    choices: 1,
    serviceTier: asString(request.speed) ?? asString(request.service_tier),
    ...readTagBlocks([
      firstText(request.system, ["system"]) ?? firstOf("system", request.messages),
      firstOf("user", request.messages),
    ]),
  };
}

/**
 * Returns the request's text for a vendor of this dialect: model, tag lines and unsigned thinking
 * changed.
 */
export const spliceRequest = splicer({
  *edits(bodyText, members, changes) {
    return changes.unsigned ? yield* unsignedEdits(bodyText, members, changes.unsigned) : [];
  },
});

/** Returns the first text in a message with this role. */
function firstOf(role: "system" | "user", messages: unknown): LocatedText | undefined {
  return firstTextIn(messages, ["messages"], (message) => message.role === role);
}
