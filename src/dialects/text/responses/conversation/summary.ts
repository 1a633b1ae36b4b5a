import { asString, isRecord, type JsonRecord } from "../../../kernel/json.ts";
import { summaryText } from "../../../kernel/summary.ts";
import { isEnvelope, readEnvelope, writeEnvelope } from "./envelope.ts";

/**
 * Whether a request asks for a `compaction` item, with which its caller replaces the conversation:
 * its last item is a trigger.
 */
export function asksForSummary(body: unknown): boolean {
  const last: unknown = isRecord(body) && Array.isArray(body.input) ? body.input.at(-1) : undefined;
  return isRecord(last) && last.type === "compaction_trigger";
}

/** Writes a summary as an item that its caller sends back in place of the conversation. */
export function writeSummary(id: string, text: string): JsonRecord {
  const sealed = writeEnvelope({ dialect: "responses", kind: summaryKind, value: text });
  return { id, type: "compaction", encrypted_content: sealed };
}

/**
 * Returns the text of a summary that a gateway wrote; undefined for any other item, and if it is
 * damaged. The caller could have written it: it is trusted no more than a message.
 */
export function readSummary(item: unknown): string | undefined {
  if (!isSummary(item)) return undefined;
  const content = readEnvelope(String(item.encrypted_content));
  return content?.kind === summaryKind ? content.value : undefined;
}

/** Whether a gateway wrote the item, which no vendor can read. */
export function isSummary(item: unknown): item is JsonRecord {
  return isRecord(item) && item.type === "compaction" &&
    isEnvelope(asString(item.encrypted_content) ?? "");
}

/** Returns `summaryText` as an item for a vendor of this dialect. */
export function summaryMessage(summary: string): JsonRecord {
  const content = [{ type: "input_text", text: summaryText(summary) }];
  return { type: "message", role: "user", content };
}

const summaryKind = "summary";
