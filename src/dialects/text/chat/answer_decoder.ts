import { Fault } from "../../../shared/fault.ts";
import type {
  AnswerPart,
  CanonicalAnswer,
  CanonicalChoice,
  CanonicalEvent,
  TokenLogprob,
} from "../../kernel/canonical.ts";
import type { DialectQuirks } from "../../kernel/dialect.ts";
import { estimatedUsage } from "../../kernel/estimated_usage.ts";
import { asString, choiceIndex, isRecord, type JsonRecord, unixTime } from "../../kernel/json.ts";
import { dataUrl } from "../../kernel/media_source.ts";
import { TextUnits } from "../../kernel/text_units.ts";
import type { AnswerContext } from "../../kernel/translator.ts";
import { carriesError, readVendorError } from "../../kernel/vendor_error.ts";
import { ChoiceReader } from "./answer/choice_reader.ts";
import { writeAnnotation } from "./answer/extras.ts";
import { readFailure, saysError } from "./finish_reason.ts";
import { asksOldShape, inOldShape } from "./answer/old_shape.ts";
import { readChatUsage, writeChatUsage } from "./usage.ts";

/** Events of a whole chat answer (chat-completions.md §4.1). */
export function decodeChatAnswer(answer: unknown, quirks: DialectQuirks): CanonicalEvent[] {
  // Some vendors wrap their errors in an array (pitfalls 119).
  const json: unknown = Array.isArray(answer) ? answer[0] : answer;
  if (!isRecord(json)) {
    throw new Fault("upstream_invalid_response", { note: "answer is no object" });
  }
  if (carriesError(json)) return [{ type: "error", error: readVendorError(json, undefined) }];
  const choices: unknown = json.choices;
  if (!Array.isArray(choices) || choices.length === 0 || !choices.every(isAnswer)) {
    throw new Fault("upstream_invalid_response", { note: "answer has no choices" });
  }
  const failed = choices.find((one) => saysError(one.finish_reason));
  if (failed) return [{ type: "error", error: readFailure(failed, json) }];
  const events: CanonicalEvent[] = [{
    type: "start",
    id: asString(json.id),
    model: asString(json.model),
    created: unixTime(json.created),
  }];
  const nextBlock = { value: 0 };
  for (const [position, choice] of choices.entries()) {
    const reader = new ChoiceReader(choiceIndex(choice.index, position), nextBlock);
    reader.read(choice, events);
    // A whole answer is over, even where the server forgot to say why.
    if (!reader.finished) reader.read({ finish_reason: "stop" }, events);
  }
  const usage = readChatUsage(json.usage, quirks);
  if (usage) {
    const tier = asString(json.service_tier);
    events.push({ type: "usage", usage: tier ? { ...usage, serviceTier: tier } : usage });
  }
  return events;
}

/** Whether a choice says anything, if only how it ended. */
function isAnswer(choice: unknown): choice is JsonRecord {
  return isRecord(choice) &&
    (isRecord(choice.message) || isRecord(choice.delta) ||
      asString(choice.finish_reason) !== undefined);
}

/** A whole answer as `chat.completion`, with the keys that the schema requires. */
export function encodeChatAnswer(answer: CanonicalAnswer): Record<string, unknown> {
  return {
    id: answer.id ?? "",
    object: "chat.completion",
    created: answer.created ?? 0,
    model: answer.model ?? "",
    choices: answer.choices.map(encodeChoice),
    ...(answer.usage ? { usage: writeChatUsage(answer.usage) } : {}),
  };
}

/** The answer of another dialect's vendor as `chat.completion`, under an id of our own. */
export function encodeWholeChat(answer: CanonicalAnswer, context: AnswerContext): unknown {
  const whole = encodeChatAnswer({
    ...answer,
    id: context.id("chatcmpl-"),
    created: context.created,
    model: answer.model ?? context.model,
    usage: answer.usage ?? estimatedUsage(answer, context.inputTokens),
  });
  return asksOldShape(context.body) ? inOldShape(whole) : whole;
}

function encodeChoice(choice: CanonicalChoice): Record<string, unknown> {
  const tools = choice.parts.filter((part) => part.kind === "tool-call");
  const text = textOf(choice, "text");
  const refusal = textOf(choice, "refusal");
  const reasoning = textOf(choice, "reasoning");
  return {
    index: choice.index,
    message: {
      role: "assistant",
      content: text ?? (tools.length > 0 || refusal !== undefined ? null : ""),
      refusal: refusal ?? null,
      ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
      ...(tools.length > 0 ? { tool_calls: tools.map(encodeToolCall) } : {}),
      ...encodeExtras(choice.parts),
    },
    finish_reason: choice.finish?.reason ?? null,
    logprobs: choice.logprobs
      ? { content: choice.logprobs.map(encodeLogprob), refusal: null }
      : null,
  };
}

/** Sources, pictures and sound beside the text. */
function encodeExtras(parts: readonly AnswerPart[]): Record<string, unknown> {
  const said = new TextUnits();
  const annotations = parts.flatMap((part) => {
    if (part.kind !== "text") return [];
    const from = said.length;
    said.add(part.text);
    return (part.citations ?? []).map((citation) => writeAnnotation(citation, said, from));
  });
  const media = parts.filter((part) => part.kind === "media");
  const images = media.filter((part) => part.media === "image").map((part) => ({
    type: "image_url",
    image_url: { url: dataUrl(part.mimeType, part.text) },
  }));
  const audio = media.find((part) => part.media === "audio");
  return {
    ...(annotations.length > 0 ? { annotations } : {}),
    ...(images.length > 0 ? { images } : {}),
    ...(audio ? { audio: { id: audio.id ?? "", data: audio.text } } : {}),
  };
}

/** Undefined for none: a block may be there only for its signature, without words. */
function textOf(choice: CanonicalChoice, kind: AnswerPart["kind"]): string | undefined {
  const parts = choice.parts.filter((part) => part.kind === kind);
  return parts.map((part) => part.text).join("") || undefined;
}

function encodeToolCall(part: AnswerPart): Record<string, unknown> {
  if (part.kind !== "tool-call") throw new Error("not a tool call");
  return part.custom
    ? { id: part.id, type: "custom", custom: { name: part.name, input: part.text } }
    : {
      id: part.id,
      type: "function",
      // A call without arguments is an empty object, never empty text (pitfalls 55).
      function: { name: part.name, arguments: part.text || "{}" },
    };
}

/** A token's log-probability in this dialect's words. */
export function encodeLogprob(entry: TokenLogprob): Record<string, unknown> {
  return {
    token: entry.token,
    logprob: entry.logprob,
    bytes: entry.bytes,
    top_logprobs: entry.top.map((one) => ({ ...one })),
  };
}
