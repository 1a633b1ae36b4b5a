import type {
  AnswerPart,
  CanonicalAnswer,
  CanonicalChoice,
  TokenLogprob,
} from "../../kernel/canonical.ts";
import type { AnswerContext } from "../../kernel/dialect.ts";
import { shownUsage } from "../../kernel/shown_usage.ts";
import { asRecord, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { dataUrl } from "../../kernel/media_source.ts";
import { ownMembersOf } from "../../kernel/own_fields.ts";
import { TextUnits } from "../../kernel/text_units.ts";
import { writeAnnotation } from "./answer/extras.ts";
import { asksOldShape, inOldShape } from "./answer/old_shape.ts";
import { writeUsage } from "./usage.ts";

/**
 * Writes a whole answer as `chat.completion` with every required key. With a context: for a caller
 * whose vendor speaks another dialect, under an id of our own. Without: as the vendor answered, for
 * the record.
 */
export function encodeAnswer(answer: CanonicalAnswer, context?: AnswerContext): JsonRecord {
  if (!context) return recordOf(answer);
  const whole = {
    ...writeCompletion({
      ...answer,
      id: context.id("chatcmpl-"),
      created: context.created,
      model: answer.model ?? context.model,
      usage: shownUsage(answer, context.inputTokens),
    }),
    // OpenRouter's libraries refuse an answer without it.
    system_fingerprint: null,
  };
  return asksOldShape(context.body) ? inOldShape(whole) : whole;
}

/**
 * Writes the answer for the record: with finish reasons and usage as the vendor reported them, and
 * with its fields that have no canonical form.
 */
function recordOf(answer: CanonicalAnswer): JsonRecord {
  const whole = { ...writeCompletion(answer), choices: answer.choices.map(recordOfChoice) };
  const isOldShape = answer.choices.some(({ finish }) => finish?.raw === "function_call");
  return {
    ...(isOldShape ? inOldShape(whole) : whole),
    ...(answer.usage?.raw ? { usage: answer.usage.raw } : {}),
    ...ownMembersOf("chat", answer),
  };
}

function recordOfChoice(choice: CanonicalChoice): JsonRecord {
  const { message: own, logprobs, ...ownMembers } = ownMembersOf("chat", choice);
  const ownMessage = asRecord(own);
  const { message: written, ...members } = encodeChoice(choice);
  const { reasoning_content: reasoning, ...message } = written;
  const { audio } = ownMessage;
  return {
    ...members,
    message: {
      ...message,
      ...ownMessage,
      ...(reasoning === undefined ? {} : underOwnNames(reasoning, ownMessage)),
      ...(isRecord(audio) ? { audio: { ...message.audio, ...audio } } : {}),
    },
    finish_reason: choice.finish?.raw ?? null,
    logprobs: isRecord(logprobs)
      ? { content: null, ...members.logprobs, ...logprobs }
      : members.logprobs,
    ...ownMembers,
  };
}

/** Writes reasoning under the vendor's field names, under which `ownMessage` has its last piece. */
function underOwnNames(reasoning: string, ownMessage: JsonRecord): JsonRecord {
  const names = ["reasoning", "reasoning_content"].filter((name) =>
    typeof ownMessage[name] === "string"
  );
  if (names.length === 0) return { reasoning_content: reasoning };
  return Object.fromEntries(names.map((name) => [name, reasoning]));
}

function writeCompletion(answer: CanonicalAnswer): JsonRecord {
  return {
    id: answer.id ?? "",
    object: "chat.completion",
    created: answer.created ?? 0,
    model: answer.model ?? "",
    choices: answer.choices.map(encodeChoice),
    ...(answer.usage ? { usage: writeUsage(answer.usage) } : {}),
  };
}

function encodeChoice(choice: CanonicalChoice) {
  const tools = choice.parts.filter((part) => part.kind === "tool-call");
  const text = textOf(choice, (part) => part.kind === "text" && !part.isTranscript);
  const refusal = textOf(choice, ({ kind }) => kind === "refusal");
  const reasoning = textOf(choice, ({ kind }) => kind === "reasoning");
  const audio = audioOf(choice);
  const isElsewhere = tools.length > 0 || refusal !== undefined || audio !== undefined;
  return {
    index: choice.index,
    message: {
      role: "assistant",
      content: text ?? (isElsewhere ? null : ""),
      refusal: refusal ?? null,
      ...(reasoning === undefined ? {} : { reasoning_content: reasoning }),
      ...(tools.length > 0 ? { tool_calls: tools.map(encodeToolCall) } : {}),
      ...encodeExtras(choice.parts),
      ...(audio ? { audio } : {}),
    },
    finish_reason: choice.finish?.reason ?? null,
    logprobs: writeLogprobs(choice.logprobs),
  };
}

/** Returns the audio with its transcript. */
function audioOf(choice: CanonicalChoice): JsonRecord | undefined {
  const sound = choice.parts.find((part) => part.kind === "media" && part.media === "audio");
  const transcript = textOf(choice, (part) => part.kind === "text" && part.isTranscript === true);
  if (!sound && transcript === undefined) return undefined;
  const id = sound?.kind === "media" ? sound.id : undefined;
  return {
    id: id ?? "",
    data: sound?.text ?? "",
    ...(transcript === undefined ? {} : { transcript }),
  };
}

/** Writes the sources and pictures that accompany the text. */
function encodeExtras(parts: readonly AnswerPart[]) {
  const units = new TextUnits();
  const annotations = parts.flatMap((part) => {
    if (part.kind !== "text" || part.isTranscript) return [];
    const from = units.length;
    units.add(part.text);
    return (part.citations ?? []).map((citation) => writeAnnotation(citation, units, from));
  });
  const media = parts.filter((part) => part.kind === "media");
  const images = media.filter((part) => part.media === "image").map((part) => ({
    type: "image_url",
    image_url: { url: dataUrl(part.mimeType, part.text) },
  }));
  return {
    ...(annotations.length > 0 ? { annotations } : {}),
    ...(images.length > 0 ? { images } : {}),
  };
}

/**
 * Joins the texts of the matching parts; undefined if there is no text, as in a block that carries
 * only a signature.
 */
function textOf(
  choice: CanonicalChoice,
  matches: (part: AnswerPart) => boolean,
): string | undefined {
  const parts = choice.parts.filter(matches);
  return parts.map((part) => part.text).join("") || undefined;
}

function encodeToolCall(part: AnswerPart & { kind: "tool-call" }): Record<string, unknown> {
  const called = part.custom ? { type: "custom", custom: { name: part.name, input: part.text } } : {
    type: "function",
    // A call without arguments gets an empty object; clients fail to parse an empty text.
    function: { name: part.name, arguments: part.text || "{}" },
  };
  return { id: part.id, ...called, ...ownMembersOf("chat", part) };
}

/** Log-probabilities as chat writes them. */
export function writeLogprobs(list: readonly TokenLogprob[] | undefined) {
  if (!list) return null;
  const content = list.map(({ top, ...token }) => ({
    ...token,
    top_logprobs: top.map((one) => ({ ...one })),
  }));
  return { content, refusal: null };
}
