import type { CanonicalEvent, StartEvent } from "../../../kernel/canonical.ts";
import type { DialectQuirks } from "../../../kernel/dialect.ts";
import { asString, type JsonRecord, unixTime } from "../../../kernel/json.ts";
import { readFinishReason } from "../finish_reason.ts";
import type { OutputReader } from "./output_reader.ts";
import { readUsage } from "../usage.ts";

/** What a response object says of the answer beside its output; the same whole and streamed. */
export function startEvent(response: JsonRecord): StartEvent {
  return {
    type: "start",
    id: asString(response.id),
    model: asString(response.model),
    created: unixTime(response.created_at),
  };
}

/** Usage, and the finish where the answer has ended. */
export function endingEvents(
  response: JsonRecord,
  reader: OutputReader,
  quirks: DialectQuirks,
): CanonicalEvent[] {
  const events: CanonicalEvent[] = [];
  const usage = readUsage(response, quirks);
  if (usage) events.push({ type: "usage", usage });
  const ending = readFinishReason(response, {
    toolCall: reader.sawToolCall,
    cutToolCall: reader.sawCutToolCall,
  });
  if (ending) events.push({ type: "finish", choice: 0, ...ending });
  return events;
}

/** Whether a response ended without an answer. */
export function isFailed(response: JsonRecord): boolean {
  return response.status === "failed" || response.status === "cancelled";
}
