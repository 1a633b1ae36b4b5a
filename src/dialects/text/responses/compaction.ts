import {
  changeMembersSteps,
  type Edit,
  forEachItem,
  itemsAt,
  locateInSteps,
  membersAtSteps,
  spliceSteps,
  type TextRange,
  topLevelMembersSteps,
} from "../../../base/json_text.ts";
import { pushAll } from "../../../base/lists.ts";
import type { Steps } from "../../../base/steps.ts";
import type { CanonicalAnswer } from "../../kernel/canonical.ts";
import type { CanonicalRequest } from "../../kernel/canonical_request.ts";
import type { AnswerContext, Dialect, RequestChanges } from "../../kernel/dialect.ts";
import { shownUsage } from "../../kernel/shown_usage.ts";
import { asString, type JsonRecord } from "../../kernel/json.ts";
import { summaryIn } from "../../kernel/summary.ts";
import { conversation } from "./conversation.ts";
import { inputItems, type Item } from "./conversation/state.ts";
import { writeSummary } from "./conversation/summary.ts";
import { decodeRequest } from "./request_decoder.ts";
import { writeUsage } from "./usage.ts";

/**
 * Returns the dialect as spoken at `POST …/responses/compact`: a request without a trigger, whose
 * answer is always a summary. Nothing is streamed, stored or done in the background there.
 */
export function compactionOf(responses: Dialect): Dialect {
  const { stateless: _, background: __, socket: ___, ...create } = responses;
  return {
    ...create,
    isOptional: true,
    resendRules: { ...create.resendRules, set: [] },
    upstreamPath: () => "/responses/compact",
    asksForSummary: () => true,
    spliceRequest: (bodyText, facts, changes) =>
      create.spliceRequest(bodyText, facts, unstored(changes)),
    decodeRequest: decodeWithTrigger,
    // The user's messages are a part of the answer.
    answerFields: ["input"],
    encodeAnswer: (answer, context) =>
      context && writeCompacted(answer, context) || create.encodeAnswer(answer, context),
    withoutRepeated,
    conversation: {
      ...conversation,
      wantsStored: () => false,
      // A stored conversation may be compacted without new input.
      requireInput(body) {
        if (conversation.previousId(body) === undefined) conversation.requireInput!(body);
      },
    },
  };
}

/**
 * Removes the change that sets `store: false`: the endpoint stores nothing, and refuses the field.
 */
function unstored({ keepNothing: _, ...changes }: RequestChanges): RequestChanges {
  return changes;
}

/** Reads the request as if it had been sent to `POST …/responses` with a trigger. */
function* decodeWithTrigger(body: unknown): Steps<CanonicalRequest> {
  const input = [...inputItems(body), { type: "compaction_trigger" }];
  const request = yield* decodeRequest({ ...body as JsonRecord, input });
  return { ...request, asksForSummary: "required" };
}

/** Writes the compacted conversation; undefined if the answer has no summary. */
function writeCompacted(answer: CanonicalAnswer, context: AnswerContext): JsonRecord | undefined {
  const choice = answer.choices.find(({ index }) => index === 0);
  const summary = choice && summaryIn(choice);
  if (summary === undefined) return undefined;
  const { id, created, body, inputTokens } = context;
  const messages = inputItems(body)
    .filter(({ role, type }) => role === "user" && (type ?? "message") === "message")
    .map((item) => userMessage(item, id));
  return {
    id: id("resp_"),
    object: "response.compaction",
    created_at: created,
    output: [...messages, writeSummary(id("cmp_"), summary)],
    usage: writeUsage(shownUsage(answer, inputTokens)),
  };
}

/**
 * Returns the answer's text with its items, except the summary, reduced to `nameFields`: only the
 * summary is new. Everything else stays byte for byte.
 */
function* withoutRepeated(answerText: string): Steps<string> {
  const top = yield* topLevelMembersSteps(answerText);
  const output = top && (yield* locateInSteps(answerText, top, ["output"]));
  if (!output) return answerText;
  const edits: Edit[] = [];
  const items = yield* itemsAt(answerText, output);
  yield* forEachItem(items, (item) => reduceItem(answerText, item, edits));
  return yield* spliceSteps(answerText, edits);
}

function* reduceItem(text: string, item: TextRange, edits: Edit[]): Steps<void> {
  const members = yield* membersAtSteps(text, item.start);
  if (!members) return;
  const type = members.members.get("type");
  if (type && text.slice(type.valueStart, type.valueEnd) === '"compaction"') return;
  const remove = [...members.members.keys()].filter((name) => !nameFields.includes(name));
  pushAll(edits, yield* changeMembersSteps(text, item, { remove }));
}

const nameFields = ["id", "type", "role", "status"];

function userMessage({ id, content }: Item, newId: AnswerContext["id"]): JsonRecord {
  return {
    ...{ id: asString(id) ?? newId("msg_"), type: "message", status: "completed", role: "user" },
    content: typeof content === "string" ? [{ type: "input_text", text: content }] : content,
  };
}
