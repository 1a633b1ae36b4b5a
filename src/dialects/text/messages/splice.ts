import { readEndUser } from "./request/end_user.ts";
import { unsignedEdits } from "./request/unsigned_thinking.ts";
import type { RequestFacts } from "../../kernel/dialect.ts";
import { asString, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { splicer } from "../../kernel/splice_request.ts";
import { type LocatedText, readTagBlocks } from "../../kernel/tag_blocks.ts";

/** What the gateway must know of a messages request; `body` has passed the contract. */
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

/** The request's text for a vendor of this dialect: model, tag lines and unsigned thinking changed. */
export const spliceRequest = splicer({
  *edits(bodyText, members, changes) {
    return changes.unsigned ? yield* unsignedEdits(bodyText, members, changes.unsigned) : [];
  },
});

/** The first text of the first message of this role that has one. */
function firstOf(role: "system" | "user", messages: unknown): LocatedText | undefined {
  if (!Array.isArray(messages)) return undefined;
  for (const [index, message] of messages.entries()) {
    if (!isRecord(message) || message.role !== role) continue;
    const found = firstText(message.content, ["messages", index, "content"]);
    if (found) return found;
  }
  return undefined;
}

function firstText(content: unknown, path: (string | number)[]): LocatedText | undefined {
  if (typeof content === "string") return { text: content, path };
  if (!Array.isArray(content)) return undefined;
  for (const [index, block] of content.entries()) {
    if (isRecord(block) && block.type === "text" && typeof block.text === "string") {
      return { text: block.text, path: [...path, index, "text"] };
    }
  }
  return undefined;
}
