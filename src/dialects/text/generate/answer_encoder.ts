import type {
  AnswerPart,
  BlockKind,
  CanonicalAnswer,
  CanonicalChoice,
  Citation,
} from "../../kernel/canonical.ts";
import { shownUsage } from "../../kernel/shown_usage.ts";
import { innerJson, isRecord, type JsonRecord } from "../../kernel/json.ts";
import { ownMembersOf } from "../../kernel/own_fields.ts";
import type { AnswerContext } from "../../kernel/dialect.ts";
import { answerPart, isInvalidCall } from "./answer/encode_parts.ts";
import { writeFinishReason } from "./finish_reason.ts";
import { writeGrounding } from "./answer/grounding.ts";
import { writeLogprobs } from "./answer/logprobs.ts";
import { Fields } from "./request/fields.ts";
import { writeUsage } from "./usage.ts";

/**
 * Writes a whole answer as GenerateContentResponse. With a context: for a caller whose vendor
 * speaks another dialect, under an id of our own. Without: as the vendor answered, for the record.
 */
export function encodeAnswer(answer: CanonicalAnswer, context?: AnswerContext): JsonRecord {
  if (!context) return recordOf(answer);
  const choices = wantsBareEnum(context.body)
    ? answer.choices.map((choice) => ({ ...choice, parts: choice.parts.map(bareEnum) }))
    : answer.choices;
  return writeResponse({
    ...answer,
    id: context.id(""),
    model: answer.model ?? context.model,
    created: answer.created ?? context.created,
    usage: shownUsage(answer, context.inputTokens),
  }, choices.map(encodeChoice));
}

/**
 * Writes the answer for the record, without derived fields. A blocked prompt has no candidates, but
 * reports the reason.
 */
function recordOf(answer: CanonicalAnswer): JsonRecord {
  const own = ownMembersOf("generate", answer);
  const choices = answer.choices.filter(({ parts, own: has }) =>
    parts.length > 0 || has || !isRecord(own.promptFeedback)
  );
  const candidates = choices.map((choice) => ({
    content: { role: "model", parts: choice.parts.flatMap((part) => answerPart(part) ?? []) },
    ...(choice.finish ? { finishReason: choice.finish.raw } : {}),
    index: choice.index,
    ...ownMembersOf("generate", choice),
  }));
  return {
    ...writeResponse(answer, candidates),
    ...(answer.usage?.raw ? { usageMetadata: answer.usage.raw } : {}),
    ...own,
  };
}

function writeResponse(answer: CanonicalAnswer, candidates: readonly JsonRecord[]): JsonRecord {
  return {
    candidates,
    ...(answer.usage ? { usageMetadata: writeUsage(answer.usage) } : {}),
    ...(answer.model === undefined ? {} : { modelVersion: answer.model }),
    ...(answer.created === undefined
      ? {}
      : { createTime: new Date(answer.created * 1000).toISOString() }),
    ...(answer.id === undefined ? {} : { responseId: answer.id }),
  };
}

/**
 * Whether the caller asked for one word of a list (`text/x.enum`), which other dialects can only
 * answer as `{"value": …}`.
 */
export function wantsBareEnum(body: unknown): boolean {
  if (!isRecord(body)) return false;
  const config = new Fields(body, "").value("generationConfig");
  return isRecord(config) && new Fields(config, "").value("responseMimeType") === "text/x.enum";
}

/** Returns the word in `{"value": …}`; any other text is unchanged. */
export function bareEnumText(text: string): string {
  const json = innerJson(text);
  return isRecord(json) && typeof json.value === "string" ? json.value : text;
}

/** Returns the `finishReason` of a choice; undefined if it never ended. */
export function endingOf(
  choice: { parts: readonly Pick<AnswerPart, "kind">[]; finish: CanonicalChoice["finish"] },
  sawInvalidCall: boolean,
): string | undefined {
  if (!choice.finish) return undefined;
  if (sawInvalidCall && choice.finish.reason !== "length") return "MALFORMED_FUNCTION_CALL";
  const refused = choice.parts.some(({ kind }) => kind === "refusal");
  const reason = refused && choice.finish.reason === "stop"
    ? "content_filter"
    : choice.finish.reason;
  return writeFinishReason(reason, choice.finish.raw);
}

function encodeChoice(choice: CanonicalChoice): Record<string, unknown> {
  const parts = joinTexts(choice.parts).flatMap((part) => answerPart(part) ?? []);
  const ending = endingOf(choice, choice.parts.some(isInvalidCall));
  return {
    content: { role: "model", parts },
    ...(ending === undefined ? {} : { finishReason: ending }),
    index: choice.index,
    ...grounding(choice.parts),
    ...(choice.logprobs ? { logprobsResult: writeLogprobs(choice.logprobs) } : {}),
  };
}

/** Writes the sources of a choice; their offsets refer to all of its texts joined. */
function grounding(parts: readonly AnswerPart[]): JsonRecord {
  const texts = parts.filter((part) => part.kind === "text");
  let from = 0;
  const citations = texts.flatMap((part) => {
    const moved = (part.citations ?? []).map((citation) => moveCitation(citation, from));
    from += part.text.length;
    return moved;
  });
  return writeGrounding(citations, texts.map(({ text }) => text).join(""), searchQueries(parts));
}

export function moveCitation(citation: Citation, by: number): Citation {
  const { start, end } = citation;
  return start === undefined || end === undefined
    ? citation
    : { ...citation, start: start + by, end: end + by };
}

export function searchQueries(parts: readonly BlockKind[]): string[] {
  return parts.flatMap((part) => part.kind === "vendor" ? part.search?.queries ?? [] : []);
}

/**
 * If there are sources, texts with nothing visible between them become one part: other vendors
 * split their text at each cited passage.
 */
function joinTexts(parts: readonly AnswerPart[]): readonly AnswerPart[] {
  if (!parts.some(({ citations }) => citations?.length)) return parts;
  const joined: AnswerPart[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (part.kind === "vendor" && !answerPart(part)) continue;
    if (part.kind === "text" && last?.kind === "text" && !last.opaque) {
      joined[joined.length - 1] = { ...part, text: last.text + part.text };
    } else joined.push(part);
  }
  return joined;
}

function bareEnum(part: AnswerPart): AnswerPart {
  return part.kind === "text" ? { ...part, text: bareEnumText(part.text) } : part;
}
