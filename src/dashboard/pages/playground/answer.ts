import type { PlaygroundEvent } from "../../../playground/playground_calls.ts";
import { compact, count, counted, duration, usd } from "../../amounts.ts";
import { markdownHtml } from "../../markdown.ts";
import type { TalkField } from "./talk.ts";

/** An event of an answer for the script or the page: text as it comes, and figures at the end. */
export type LineEvent =
  | Exclude<PlaygroundEvent, { kind: "end" }>
  /** A field of the form was refused. */
  | { kind: "error"; message: string; field: TalkField }
  | Figures;

/** The call's tokens, cost and times as a text; `id` is that of its record. */
export interface Figures {
  kind: "end";
  id: string | null;
  summary: string;
  /** The whole answer, rendered from Markdown to HTML; null if it is shown as plain text. */
  html: string | null;
}

export async function* figuresOf(
  events: AsyncIterable<PlaygroundEvent>,
): AsyncGenerator<LineEvent> {
  let text = "";
  for await (const event of events) {
    if (event.kind === "text") text += event.text;
    if (event.kind !== "end") yield event;
    else {
      const { record } = event;
      yield {
        ...{ kind: "end", html: markdownHtml(text) ?? null },
        ...{ id: record?.transactionId ?? null, summary: record ? summarize(record) : "" },
      };
    }
  }
}

type Record = NonNullable<Extract<PlaygroundEvent, { kind: "end" }>["record"]>;

function summarize(record: Record): string {
  const { inputTokens, cacheReadTokens, outputTokens, reasoningTokens, costNanos } = record;
  const part = (value: number | null, unit: string) => value ? [`${count(value)} ${unit}`] : [];
  return [
    ...(inputTokens === null ? [] : [`${counted(inputTokens, "token")} in`]),
    ...part(cacheReadTokens, "of them cached"),
    ...(outputTokens === null ? [] : [`${count(outputTokens)} out`]),
    ...part(reasoningTokens, "of them reasoning"),
    costNanos === null ? "cost unknown" : usd(costNanos),
    ...(record.mode === "managed" ? [] : ["with your own vendor key"]),
    duration(record.latencyMs),
    ...(record.timeToFirstTokenMs === null
      ? []
      : [`first words after ${duration(record.timeToFirstTokenMs)}`]),
    ...speedOf(record),
    ...(record.translationLoss.length === 0
      ? []
      : [`not sent: ${record.translationLoss.join(", ")}`]),
  ].join(" · ");
}

function speedOf({ outputTokens, latencyMs, timeToFirstTokenMs }: Record): string[] {
  const ms = latencyMs - (timeToFirstTokenMs ?? 0);
  if (!outputTokens || outputTokens < 10 || ms < 100) return [];
  return [`${compact(Math.round(outputTokens / ms * 1000))} tokens a second`];
}

/** Encodes events as lines of JSON. Cancelling the stream stops the answer. */
export function eventLines(events: AsyncIterable<LineEvent>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  const reader = events[Symbol.asyncIterator]();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.next();
      if (done) controller.close();
      else controller.enqueue(encoder.encode(`${JSON.stringify(value)}\n`));
    },
    async cancel() {
      await reader.return?.();
    },
  });
}
