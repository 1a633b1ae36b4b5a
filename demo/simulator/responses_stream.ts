import type {
  Response as ApiResponse,
  ResponseOutputItem,
  ResponseStreamEvent,
} from "openai/resources/responses/responses";
import { type StreamScript } from "./answers.ts";
import { fragments, type Output } from "./model.ts";
import { type ResponseBody } from "./responses.ts";
import { hexOf } from "./tokens.ts";

type WithoutNumber<T> = T extends unknown ? Omit<T, "sequence_number"> : never;
type Event = WithoutNumber<ResponseStreamEvent>;
type Part = Extract<ResponseStreamEvent, { type: "response.content_part.added" }>["part"];

const FAILURE = "The simulated vendor fails in the middle, as asked.";

/** Creates the stream that builds up a finished response, event by event. */
export function responsesScript(
  finished: ResponseBody,
  output: Output,
  isObfuscated: boolean,
): StreamScript {
  const frames: string[] = [];
  const write = (event: Event) => {
    const padding = isObfuscated && "delta" in event
      ? { obfuscation: hexOf(`${finished.id}${frames.length}`, 5 + (frames.length % 7)) }
      : {};
    frames.push(frameOf({ ...event, sequence_number: frames.length, ...padding }));
  };
  const begun = { ...finished, status: "in_progress", completed_at: null, output: [], usage: null };
  write({ type: "response.created", response: asApi(begun) });
  write({ type: "response.in_progress", response: asApi(begun) });
  finished.output.forEach((item, index) => {
    for (const event of itemEvents(item, index, output)) write(event);
  });
  const half = Math.ceil(frames.length / 2);
  const type = finished.status === "incomplete" ? "response.incomplete" : "response.completed";
  write({ type, response: asApi(finished) });
  return {
    contentType: "text/event-stream; charset=utf-8",
    frames,
    closing: 1,
    errorFrame: errorFrames(asApi(begun), half),
  };
}

function* itemEvents(item: ResponseOutputItem, index: number, output: Output): Generator<Event> {
  yield { type: "response.output_item.added", output_index: index, item: openItem(item) };
  const at = { item_id: "id" in item ? item.id ?? "" : "", output_index: index };
  switch (item.type) {
    case "reasoning":
      yield* reasoningEvents(item, at, output);
      break;
    case "message":
      yield* messageEvents(item, at, output);
      break;
    case "web_search_call":
      yield { type: "response.web_search_call.in_progress", ...at };
      yield { type: "response.web_search_call.searching", ...at };
      yield { type: "response.web_search_call.completed", ...at };
      break;
    case "function_call":
      for (const delta of fragments(item.arguments)) {
        yield { type: "response.function_call_arguments.delta", ...at, delta };
      }
      yield {
        type: "response.function_call_arguments.done",
        ...at,
        arguments: item.arguments,
      };
      break;
    case "custom_tool_call":
      for (const delta of fragments(item.input)) {
        yield { type: "response.custom_tool_call_input.delta", ...at, delta };
      }
      yield { type: "response.custom_tool_call_input.done", ...at, input: item.input };
      break;
  }
  yield { type: "response.output_item.done", output_index: index, item };
}

interface Place {
  item_id: string;
  output_index: number;
}

function* reasoningEvents(
  item: Extract<ResponseOutputItem, { type: "reasoning" }>,
  at: Place,
  output: Output,
): Generator<Event> {
  const text = output.reasoning.chunks.join("");
  for (const [summary_index] of item.summary.entries()) {
    const place = { ...at, summary_index };
    const part = (shown: string) => ({ type: "summary_text" as const, text: shown });
    yield { type: "response.reasoning_summary_part.added", ...place, part: part("") };
    for (const delta of output.reasoning.chunks) {
      yield { type: "response.reasoning_summary_text.delta", ...place, delta };
    }
    yield { type: "response.reasoning_summary_text.done", ...place, text };
    yield { type: "response.reasoning_summary_part.done", ...place, part: part(text) };
  }
  for (const [content_index] of (item.content ?? []).entries()) {
    const place = { ...at, content_index };
    const part = (shown: string): Part => ({ type: "reasoning_text", text: shown });
    yield { type: "response.content_part.added", ...place, part: part("") };
    for (const delta of output.reasoning.chunks) {
      yield { type: "response.reasoning_text.delta", ...place, delta };
    }
    yield { type: "response.reasoning_text.done", ...place, text };
    yield { type: "response.content_part.done", ...place, part: part(text) };
  }
}

function* messageEvents(
  item: Extract<ResponseOutputItem, { type: "message" }>,
  at: Place,
  output: Output,
): Generator<Event> {
  for (const [content_index, part] of item.content.entries()) {
    const place = { ...at, content_index };
    if (part.type === "refusal") {
      yield { type: "response.content_part.added", ...place, part: { ...part, refusal: "" } };
      for (const delta of fragments(part.refusal)) {
        yield { type: "response.refusal.delta", ...place, delta };
      }
      yield { type: "response.refusal.done", ...place, refusal: part.refusal };
    } else {
      const empty: Part = { ...part, text: "", annotations: [], logprobs: [] };
      const known = [...part.logprobs ?? []];
      yield { type: "response.content_part.added", ...place, part: empty };
      for (const delta of output.chunks) {
        let length = delta.length;
        const logprobs = [];
        while (length > 0 && known.length > 0) {
          const next = known.shift();
          if (next === undefined) break;
          length -= next.token.length;
          logprobs.push(next);
        }
        yield { type: "response.output_text.delta", ...place, delta, logprobs };
      }
      for (const [annotation_index, annotation] of part.annotations.entries()) {
        yield {
          type: "response.output_text.annotation.added",
          ...place,
          annotation_index,
          annotation,
        };
      }
      const { text, logprobs = [] } = part;
      yield { type: "response.output_text.done", ...place, text, logprobs };
    }
    yield { type: "response.content_part.done", ...place, part };
  }
}

/** Returns the item as the stream announces it: without content. */
function openItem(item: ResponseOutputItem): ResponseOutputItem {
  switch (item.type) {
    case "reasoning":
      return {
        ...{ ...item, summary: [] },
        ...(item.content ? { content: [] } : {}),
        ...(item.status ? { status: "in_progress" } : {}),
      };
    case "message":
      return { ...item, status: "in_progress", content: [] };
    case "function_call":
      return { ...item, status: "in_progress", arguments: "" };
    case "custom_tool_call":
      return { ...item, input: "" };
    case "web_search_call":
      return { ...item, status: "in_progress" };
    default:
      return item;
  }
}

/** The error event in its usual form, the error nested, and then the failed response. */
function errorFrames(response: ApiResponse, sequence: number): string {
  const error = { type: "server_error", code: "server_error", message: FAILURE, param: null };
  const failed = {
    ...response,
    status: "failed",
    error: { code: "server_error", message: FAILURE },
  };
  return frameOf({ type: "error", sequence_number: sequence, error }) +
    frameOf({ type: "response.failed", sequence_number: sequence + 1, response: failed });
}

function frameOf(event: { type: string; sequence_number: number } & Record<string, unknown>) {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

/** Casts the body to the published type, which also has members that only the client computes. */
function asApi(body: object): ApiResponse {
  return body as ApiResponse;
}
