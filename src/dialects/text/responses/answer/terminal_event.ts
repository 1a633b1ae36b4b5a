import type { SseEvent } from "../../../../base/sse.ts";
import { isRecord, type JsonRecord } from "../../../kernel/json.ts";

/** The whole response that the terminal event of a good answer holds (responses.md §5). */
export function wholeOf(event: SseEvent): JsonRecord | undefined {
  const { data } = event;
  // Two kinds of all events are worth parsing once more.
  if (data === undefined || !/"type"\s*:\s*"response\.(completed|incomplete)"/.test(data)) {
    return undefined;
  }
  try {
    const json: unknown = JSON.parse(data);
    const isTerminal = isRecord(json) && terminal.has(json.type);
    return isTerminal && isRecord(json.response) ? json.response : undefined;
  } catch {
    return undefined;
  }
}

const terminal: ReadonlySet<unknown> = new Set(["response.completed", "response.incomplete"]);
