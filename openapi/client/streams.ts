import { type CallInfo, callInfo } from "./answer_headers.ts";
import { connectionError, factsIn, GatewayError, isAbort } from "./errors.ts";
import {
  createChatCompletion,
  createMessage,
  createResponse,
  generateImage,
  type Options,
  streamGenerateContent,
} from "./generated/sdk.gen.ts";
import type {
  ChatCompletion,
  ChatCompletionChunk,
  CreateChatCompletionData,
  CreateMessageData,
  CreateResponseData,
  GenerateAnswer,
  GenerateImageData,
  ImageAnswer,
  ImageList,
  ImageStreamEvent,
  MediaErrorEvent,
  Message,
  MessageErrorEvent,
  MessageStreamEvent,
  ResponseErrorEvent,
  ResponseObject,
  ResponseStreamEvent,
  SpeechStreamEvent,
  StreamGenerateContentData,
  Transcript,
  TranscriptStreamEvent,
} from "./generated/types.gen.ts";
import { readEvents } from "./sse.ts";

/** An operation that can stream, of any family. */
export type StreamOperation = (
  options: never,
) => Promise<{ data?: unknown; response?: Response }>;

/** The events of an operation's stream. Vendors may send newer, unknown ones: skip those. */
export type EventOf<Operation extends StreamOperation> = EventBeside<
  NonNullable<Awaited<ReturnType<Operation>>["data"]>
>;

/** The type of a stream's events, by the type of the answer that isn't streamed. */
type EventBeside<Answer> = Answer extends ChatCompletion ? ChatCompletionChunk
  : Answer extends ResponseObject ? Exclude<Named<ResponseStreamEvent>, ResponseErrorEvent>
  : Answer extends Message ? Exclude<Named<MessageStreamEvent>, MessageErrorEvent>
  : Answer extends readonly GenerateAnswer[] ? GenerateAnswer
  : Answer extends ImageAnswer | ImageList ? Exclude<Named<ImageStreamEvent>, MediaErrorEvent>
  // Speech is the only file that can come in events.
  : Answer extends Blob ? Exclude<Named<SpeechStreamEvent>, MediaErrorEvent>
  : Answer extends Transcript ? Exclude<Named<TranscriptStreamEvent>, MediaErrorEvent>
  : never;

/** Excludes the catch-all event of any `type`: with it no `type` would narrow down an event. */
type Named<Event extends { type: string }> = Event extends Event
  ? string extends Event["type"] ? never : Event
  : never;

/**
 * The events of one answer, which can be iterated once. A stream that fails or is cut off throws a
 * `GatewayError`; leaving the loop early ends the call at the vendor.
 */
export class EventStream<Event> implements AsyncIterable<Event> {
  /** The response, whose headers `callInfo` and `rateLimitOf` read. */
  readonly response: Response;
  readonly #events: AsyncGenerator<Event, void>;

  constructor(response: Response, events: AsyncGenerator<Event, void>) {
    this.response = response;
    this.#events = events;
  }

  get info(): CallInfo {
    return callInfo(this.response);
  }

  [Symbol.asyncIterator](): AsyncIterator<Event, void> {
    return this.#events;
  }

  /** Ends the call without reading it. */
  async cancel(): Promise<void> {
    // Returning a generator that was never started doesn't run its `finally`: cancel the body here.
    if (!this.response.body?.locked) await this.response.body?.cancel();
    await this.#events.return();
  }
}

/**
 * Streams any operation that supports it, such as `createChatCompletionVendorB` or
 * `createImageVendorB`. Speech of a vendor's family is streamed as events if its body has
 * `stream_format: "sse"`.
 */
export async function streamEvents<Operation extends StreamOperation>(
  operation: Operation,
  options: Parameters<Operation>[0],
): Promise<EventStream<EventOf<Operation>>> {
  const asked: object = { ...options as object, ...asking(options), parseAs: "stream" };
  const { response } = await operation(asked as never);
  if (!response) throw connectionError(new Error("the operation gave no answer"));
  return new EventStream(response, eventsOf(response) as AsyncGenerator<EventOf<Operation>, void>);
}

interface StreamAsk {
  body?: unknown;
  query?: unknown;
}

/**
 * Returns the options that make a request stream: a generate request does so by its query, speech
 * by a field that it already has, all others by `stream`, which is text in a form.
 */
function asking({ body, query }: StreamAsk): object {
  const fields = { ...body as Readonly<Record<string, unknown>> };
  if ("contents" in fields) return { query: { ...query as object, alt: "sse" } };
  if ("stream_format" in fields) return {};
  const isForm = Object.values(fields).some((value) => value instanceof Blob);
  return { body: { ...fields, stream: isForm ? "true" : true } };
}

/** Streams a chat completion of any vendor. */
export function streamChatCompletion(
  options: Options<CreateChatCompletionData, true>,
): Promise<EventStream<ChatCompletionChunk>> {
  return streamEvents(createChatCompletion, options);
}

/** Streams a response of any vendor. */
export function streamResponse(
  options: Options<CreateResponseData, true>,
): Promise<EventStream<EventOf<typeof createResponse>>> {
  return streamEvents(createResponse, options);
}

/** Streams a message of any vendor. */
export function streamMessage(
  options: Options<CreateMessageData, true>,
): Promise<EventStream<EventOf<typeof createMessage>>> {
  return streamEvents(createMessage, options);
}

/** Streams generated content of any vendor. */
export function streamContent(
  options: Options<StreamGenerateContentData, true>,
): Promise<EventStream<GenerateAnswer>> {
  return streamEvents(streamGenerateContent, options);
}

/** Streams pictures of a vendor that shows partial ones. */
export function streamImage(
  options: Options<GenerateImageData, true>,
): Promise<EventStream<EventOf<typeof generateImage>>> {
  return streamEvents(generateImage, options);
}

async function* eventsOf(response: Response): AsyncGenerator<unknown, void> {
  let whole = false;
  try {
    for await (const { data } of readEvents(response.body ?? new ReadableStream())) {
      if (data === "[DONE]") {
        whole = true;
        continue;
      }
      const event = parse(data);
      if (event === undefined) break;
      const facts = factsIn(event);
      if (facts) throw new GatewayError(facts, response);
      whole ||= isEnd(event);
      yield event;
    }
  } catch (thrown) {
    if (isAbort(thrown) || thrown instanceof GatewayError) throw thrown;
    throw connectionError(thrown, callInfo(response).requestId);
  }
  if (whole) return;
  throw new GatewayError({ ...cutOf(response), status: 0 }, response);
}

/** Explains an incomplete stream; some vendors answer whole although a stream was requested. */
function cutOf(response: Response): { code: string; message: string } {
  const type = response.headers.get("Content-Type") ?? "";
  return type.includes("json")
    ? { code: "unreadable_answer", message: `Expected a stream of events; the answer is ${type}.` }
    : { code: "stream_cut", message: "The stream ended before the answer did." };
}

function parse(data: string): object | undefined {
  try {
    const value: unknown = JSON.parse(data);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** Whether an event ends a stream. Chat ends with `[DONE]`, which some vendors omit. */
function isEnd(event: object): boolean {
  if ("type" in event) return endings.has(event.type);
  const { candidates, choices, promptFeedback } = event as GenerateOrChatEvent;
  if (Array.isArray(choices)) return choices.some((one) => Boolean(one?.finish_reason));
  if (Array.isArray(candidates)) return candidates.some((one) => Boolean(one?.finishReason));
  return promptFeedback !== undefined;
}

interface GenerateOrChatEvent {
  candidates?: { finishReason?: unknown }[];
  choices?: { finish_reason?: unknown }[];
  promptFeedback?: unknown;
}

const endings: ReadonlySet<unknown> = new Set([
  "message_stop",
  "response.completed",
  "response.incomplete",
  "response.failed",
  "image_generation.completed",
  "image_edit.completed",
  "speech.audio.done",
  "transcript.text.done",
]);
