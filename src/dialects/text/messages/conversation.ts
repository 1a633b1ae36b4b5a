import {
  changeMembersSteps,
  locateSteps,
  splice,
  type TextRange,
  wholeRange,
} from "../../../base/json_text.ts";
import type { Steps } from "../../../base/steps.ts";
import { writeJson } from "../../../base/write_json.ts";
import type { Conversation } from "../../kernel/conversation.ts";
import { invalidValue, missingField } from "../../../shared/fault.ts";
import {
  asRecord,
  asString,
  type BodyAndText,
  isRecord,
  type JsonRecord,
  recordsIn,
} from "../../kernel/json.ts";

/**
 * How the gateway continues a message thread (npm @anthropic-ai/sdk 1.12.0, `thread`). A thread
 * holds the system prompt, the tools and the messages; a request that continues it sends only new
 * messages.
 */
export const conversation: Conversation = {
  previousField: "thread.previous_message_id",
  inputField: "messages",
  notFoundDetails: { error_code: "thread_not_found" },

  previousId(body) {
    const thread = threadOf(body);
    return thread?.type === "continue" ? thread.previousId : undefined;
  },

  wantsStored: hasThread,

  /**
   * The first item has the system prompt and the tools, which later requests don't repeat; the
   * messages follow.
   */
  inputItems(body) {
    const { system, tools, messages } = body as JsonRecord;
    const listed = Array.isArray(messages) ? messages : [];
    return [{ system, tools }, ...listed];
  },

  answerId: (answer) =>
    isRecord(answer) && answer.type === "message" ? asString(answer.id) : undefined,

  own: {
    field: "thread",
    unsupportedDetails: { error_code: "thread_unsupported_request", unsupported: ["thread"] },
    check(body) {
      const { messages } = body as JsonRecord;
      const isEmpty = Array.isArray(messages) && messages.length === 0;
      if (!isEmpty || threadOf(body)?.type === "continue") return;
      throw invalidValue("messages", "expected at least 1 item");
    },
    isAsked: hasThread,
    *start({ body, bodyText }) {
      const edits = yield* changeMembersSteps(bodyText, wholeRange(bodyText), {
        remove: ["thread"],
      });
      return { body, bodyText: splice(bodyText, edits) };
    },
  },

  referencedIds: () => [],
  itemIds: () => [],
  unsealedIds: () => [],
  sealItems: (items) => items,

  *continueFrom({ body, bodyText, inputItems: [first, ...earlier], answer }) {
    const request = body as JsonRecord;
    const created = asRecord(first);
    const before = [...earlier.map(withoutMarks), ...answerTurns(answer)];
    const added = ["system", "tools"].flatMap((name): [string, unknown][] =>
      isSet(request[name]) || !isSet(created[name]) ? [] : [[name, created[name]]]
    );
    const own = Array.isArray(request.messages) ? request.messages : [];
    return {
      // The body keeps `thread`, so that its answer is stored; the vendor doesn't get that field.
      body: { ...request, ...Object.fromEntries(added), messages: [...before, ...own] },
      bodyText: yield* continuedText({ body, bodyText }, added, before),
    };
  },
};

/** Returns the text of the continued request; the caller's own messages stay byte for byte. */
function* continuedText(
  { body, bodyText }: BodyAndText,
  added: readonly (readonly [string, unknown])[],
  before: readonly unknown[],
): Steps<string> {
  const insert: [string, string][] = [];
  for (const [name, value] of added) insert.push([name, yield* writeJson(value)]);
  const changes = { remove: ["thread"], insert };
  const edits = yield* changeMembersSteps(bodyText, wholeRange(bodyText), changes);
  const range = (yield* locateSteps(bodyText, ["messages"])) as TextRange;
  const isEmpty = (body as { messages: unknown[] }).messages.length === 0;
  const stored = yield* writeJson(before);
  const own = bodyText.slice(range.start + 1, range.end);
  const comma = isEmpty || before.length === 0 ? "" : ",";
  const text = stored.slice(0, -1) + comma + own;
  return splice(bodyText, [...edits, { ...range, text }]);
}

/**
 * Returns the answer as a turn, without thinking after which it was cut: the vendor refuses it as
 * the last block, and a turn without blocks.
 */
function answerTurns(answer: unknown): JsonRecord[] {
  const blocks = recordsIn(asRecord(answer).content);
  const last = blocks.findLastIndex(({ type }) => !String(type).endsWith("thinking"));
  return last < 0 ? [] : [{ role: "assistant", content: blocks.slice(0, last + 1) }];
}

/**
 * Returns a stored message without its cache marks. They were set for the request that added the
 * message; all marks of a thread together would exceed the vendor's limit for one request.
 */
function withoutMarks(message: unknown): unknown {
  if (!isRecord(message)) return message;
  const { cache_control: _, ...rest } = message;
  if (!Array.isArray(rest.content)) return rest;
  return { ...rest, content: rest.content.map(withoutMarks) };
}

interface Thread {
  type: "create" | "continue";
  previousId?: string;
}

function hasThread(body: unknown): boolean {
  return threadOf(body) !== undefined;
}

/**
 * Reads a request's thread; undefined if it has none. Throws `invalid_value` or
 * `missing_required_field`.
 */
function threadOf(body: unknown): Thread | undefined {
  const thread = asRecord(body).thread;
  if (thread === undefined || thread === null) return undefined;
  if (!isRecord(thread)) throw invalidValue("thread", "expected an object");
  const { type, previous_message_id: previousId } = thread;
  if (type === "create") return { type };
  if (type !== "continue") throw invalidValue("thread.type", "expected 'create' or 'continue'");
  if (previousId === undefined || previousId === null) {
    throw missingField("thread.previous_message_id");
  }
  if (typeof previousId !== "string" || previousId === "") {
    throw invalidValue("thread.previous_message_id", "expected the id of a message");
  }
  return { type, previousId };
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null;
}
