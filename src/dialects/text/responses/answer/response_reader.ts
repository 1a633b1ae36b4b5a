import type { CanonicalEvent, StartEvent } from "../../../kernel/canonical.ts";
import type { DialectQuirks } from "../../../kernel/dialect.ts";
import {
  asRecord,
  asString,
  isRecord,
  type JsonRecord,
  jsonValue,
  unixTime,
} from "../../../kernel/json.ts";
import { readFinishReason } from "../finish_reason.ts";
import type { OutputReader } from "./output_reader.ts";
import { readUsage, tier } from "../usage.ts";
import type { SseEvent } from "../../../../base/sse.ts";

/** Returns the start event of a response object, whole or streamed. */
export function startEvent(response: JsonRecord): StartEvent {
  return {
    type: "start",
    id: asString(response.id),
    model: asString(response.model),
    created: unixTime(response.created_at),
    ...tier(response),
  };
}

/** Returns the usage event, and the finish event if the answer has ended. */
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

/**
 * Returns the whole response in the terminal event of a successful answer; undefined for any other
 * event.
 */
export function finalResponse(event: SseEvent): JsonRecord | undefined {
  const { data } = event;
  // Only these two kinds of events are worth parsing again.
  if (data === undefined || !/"type"\s*:\s*"response\.(completed|incomplete)"/.test(data)) {
    return undefined;
  }
  const json = asRecord(event.json ?? jsonValue(data));
  return terminal.has(json.type) && isRecord(json.response) ? json.response : undefined;
}

const terminal: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete"]);
