import { sha256Hex } from "../../../base/hash.ts";
import { Fault } from "../../../shared/fault.ts";
import type { Usage } from "../../../shared/usage.ts";
import type { AnswerPart, CanonicalAnswer, CanonicalChoice } from "../../kernel/canonical.ts";
import { summaryIn } from "../../kernel/summary.ts";
import { shownUsage } from "../../kernel/shown_usage.ts";
import { isRecord } from "../../kernel/json.ts";
import type { AnswerContext } from "../../kernel/dialect.ts";
import { ownMembersOf } from "../../kernel/own_fields.ts";
import { readArguments } from "../../kernel/read_arguments.ts";
import { writeCitation } from "./answer/citation.ts";
import { writeFinishReason } from "./finish_reason.ts";
import { writeSearchBlocks } from "./answer/search_blocks.ts";
import { writeUsage } from "./usage.ts";

type Json = Record<string, unknown>;

/**
 * Writes a whole answer. With a context: for a caller whose vendor speaks another dialect, under an
 * id of our own; throws upstream_invalid_response when the arguments of a tool call aren't a JSON
 * object, which this dialect can't express. Without: as the vendor answered, for the record.
 */
export function encodeAnswer(answer: CanonicalAnswer, context?: AnswerContext): Json {
  const [written] = answer.choices;
  const choice = context?.request.asksForSummary ? asSummary(written, context.request) : written;
  if (!context) {
    const { id = "", model = "", usage } = answer;
    const raw = choice?.finish?.raw;
    return {
      ...writeMessage(choice, { id, model, usage, showsReasoning: true }),
      ...(raw ? { stop_reason: raw } : {}),
      ...(usage?.raw ? { usage: usage.raw } : {}),
      ...ownMembersOf("messages", answer),
    };
  }
  requireObjects(choice);
  return writeMessage(choice, {
    id: context.id("msg_"),
    model: context.shownModel ?? answer.model ?? context.model,
    usage: shownUsage(answer, context.inputTokens),
    showsReasoning: context.request.reasoning?.show !== false,
  });
}

/**
 * Replaces an answer by the summary in it, as the block that its caller sends back in place of the
 * conversation. An answer without a summary becomes an empty block, with which a caller keeps its
 * conversation. The empty signature tells that Anthropic didn't write the block.
 */
export function asSummary(
  choice: CanonicalChoice | undefined,
  { toolChanges = [] }: AnswerContext["request"],
): CanonicalChoice {
  const content = choice && summaryIn(choice) || null;
  const signature = content === null ? null : "";
  const changes = content !== null && toolChanges.length > 0 ? { tool_changes: toolChanges } : {};
  const value = { type: "compaction", content, encrypted_content: null, signature, ...changes };
  const reason = choice?.finish?.reason;
  const isWhole = reason !== "length" && reason !== "content_filter";
  return {
    index: 0,
    parts: [{ kind: "vendor", dialect: "messages", value, text: "" }],
    logprobs: undefined,
    finish: isWhole ? { reason: "stop", raw: "compaction" } : choice?.finish,
  };
}

function requireObjects(choice: CanonicalChoice | undefined): void {
  if (choice?.finish?.reason === "length") return;
  for (const part of choice?.parts ?? []) {
    if (part.kind !== "tool-call" || readInput(part)) continue;
    throw new Fault("upstream_invalid_response", {
      message: "The model called a tool with arguments that are not a JSON object.",
    });
  }
}

/** Writes a message; without a choice, one that has just begun. */
export function writeMessage(
  choice: CanonicalChoice | undefined,
  about: { id: string; model: string; usage: Usage | undefined; showsReasoning: boolean },
): Json {
  const parts = choice?.parts ?? [];
  const content = parts.flatMap((part, index) => writePart(part, index, about.showsReasoning));
  const refusal = parts.filter((part) => part.kind === "refusal").map((part) => part.text).join("");
  return {
    id: about.id,
    type: "message",
    role: "assistant",
    model: about.model,
    content,
    ...(choice?.finish || refusal !== ""
      ? writeEnding(choice?.finish, refusal, parts.some((part) => part.kind === "tool-call"))
      : { stop_reason: null, stop_sequence: null, stop_details: null }),
    container: null,
    diagnostics: null,
    ...(about.usage ? { usage: writeUsage(about.usage) } : {}),
  };
}

/** Writes how an answer ended. The text of a refusal is written here, outside of the content. */
export function writeEnding(
  finish: CanonicalChoice["finish"],
  refusal: string,
  sawToolCall: boolean,
): Json {
  const isRefused = refusal !== "";
  return {
    stop_reason: isRefused ? "refusal" : writeFinishReason(finish, sawToolCall),
    stop_sequence: finish?.stopSequence ?? null,
    stop_details: isRefused || finish?.reason === "content_filter"
      ? { type: "refusal", category: null, explanation: isRefused ? refusal : null }
      : null,
  };
}

function writePart(part: AnswerPart, index: number, showsReasoning: boolean): Json[] {
  switch (part.kind) {
    case "text":
      if (part.text === "" && !part.citations?.length) return [];
      return [{
        type: "text",
        text: part.text,
        ...(part.citations?.length ? { citations: part.citations.map(writeCitation) } : {}),
        ...ownMembersOf("messages", part),
      }];
    case "reasoning":
      return writeReasoning(part, showsReasoning);
    case "tool-call":
      return [{
        type: "tool_use",
        id: part.id || derivedCallId(part.name, index),
        name: part.name,
        // If the output limit cut the JSON off, the text so far is put into the object that the
        // dialect requires.
        input: readInput(part) ?? { _raw: part.text },
        caller: { type: "direct" },
        ...ownMembersOf("messages", part),
      }];
    case "media":
      return [{ type: "text", text: mediaNote(part.media, part.mimeType) }];
    case "vendor":
      if (part.dialect === "messages") return isRecord(part.value) ? [part.value] : [];
      return part.search ? writeSearchBlocks(part.search) : [];
    case "refusal":
      return [];
  }
}

function writeReasoning(part: AnswerPart, shows: boolean): Json[] {
  const opaque = part.opaque?.dialect === "messages" ? part.opaque : undefined;
  if (opaque?.kind === "redacted") return [{ type: "redacted_thinking", data: opaque.value }];
  const thinking = shows ? part.text : "";
  if (thinking === "" && !opaque) return [];
  return [{ type: "thinking", thinking, signature: opaque?.value ?? "" }];
}

/** Returns a note in place of media: answers in this dialect hold only text and tool calls. */
export function mediaNote(media: string, mimeType: string): string {
  return `[${media} left out: ${mimeType}]`;
}

/** Returns an id for a call whose vendor gave none, derived from its position in the answer. */
export function derivedCallId(name: string, position: number): string {
  return `toolu_${sha256Hex(`${position} ${name}`).slice(0, 24)}`;
}

function readInput(part: AnswerPart): Json | undefined {
  if (part.kind === "tool-call" && part.custom) return { input: part.text };
  return readArguments(part);
}
