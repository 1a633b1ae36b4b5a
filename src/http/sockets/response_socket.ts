import type { IncomingMessage } from "node:http";
import { streamOf } from "../../base/answer_bytes.ts";
import { type MemoryPermit, smallBytes } from "../../base/byte_room.ts";
import { heavyUnits } from "../../base/heavy_json.ts";
import type { FrameChannel, FrameReceiver } from "../../base/frame_channel.ts";
import { type SseEvent, SseSplitter } from "../../base/sse.ts";
import { finish, type Steps } from "../../base/steps.ts";
import { errors } from "../../../contracts/kernel/errors.ts";
import { Fault, invalidValue } from "../../shared/fault.ts";
import type { PromptTags } from "../../shared/prompt_tags.ts";
import type { Reply } from "../../relay/reply.ts";
import type { FoundEndpoint } from "../direct_endpoints.ts";
import { asFault, errorReply } from "../errors.ts";
import type { HttpRequest } from "../http_request.ts";
import { newRequestContext } from "../middleware/request_context.ts";
import { checkJsonLimits } from "../sent_body.ts";
import type { RequestContext } from "../request_context.ts";
import type { CancelFrame, CreateFrame, SteerFrame } from "../../dialects/kernel/socket_frames.ts";
import type { ResponseSocketsDeps } from "./response_sockets.ts";
import type { SocketTurn } from "./socket_turns.ts";

export type ResponseSocketDeps = ResponseSocketsDeps & {
  found: FoundEndpoint;
  path: string;
  remoteHost: string;
  /** The handshake's headers that each call inherits. */
  headers: ReadonlyMap<string, string>;
};

/** The protocol's own limit on a socket's age; clients then open another one. */
const maxAgeMs = 60 * 60_000;
/** Limit on the messages that wait for the running call, and on the frames that don't wait. */
const maxWaiting = 16;
/** Limit on the bytes of waiting messages that are too small for the gate to count. */
const maxUncountedBytes = smallBytes;
/** A message must make progress within this time, as a request's body must. */
const stalledMs = 30_000;
/** Up to this many pending bytes may be control frames only, which have no time limit. */
const controlFrameBytes = 256;
const maxEventBytes = 32 * 1024 * 1024;

interface Message {
  readonly bytes: Uint8Array;
  readonly permit: MemoryPermit | undefined;
}

/** A call that is under way. */
interface RunningCall {
  readonly leaving: AbortController;
  responseId: string | undefined;
  /** The turn of the socket that it continues, of which the endpoint gets the items alone. */
  previousId?: string | undefined;
  isCancelled: boolean;
}

/** One caller's socket: its frames are answered one at a time, in order. */
export class ResponseSocket implements FrameReceiver {
  readonly #deps: ResponseSocketDeps;
  readonly #request: IncomingMessage;
  #channel!: FrameChannel;
  #accountId = 0;
  #who = "";
  #onClosed = () => {};
  readonly #waiting: Message[] = [];
  #running: RunningCall | undefined;
  /** Frames that act at once and are being authenticated and rate limited. */
  #actsUnderWay = 0;
  /** Bytes so far of the message that is arriving. */
  #pending = 0;
  #permit: MemoryPermit | undefined;
  #progress: { pending: number; ms: number } | undefined;
  #openedMs: number | undefined;
  #isLeaving = false;
  #isClosed = false;
  #roomWaiter: (() => void) | undefined;

  constructor(deps: ResponseSocketDeps, request: IncomingMessage) {
    this.#deps = deps;
    this.#request = request;
  }

  opened(channel: FrameChannel, accountId: number, onClosed: () => void): void {
    this.#channel = channel;
    this.#accountId = accountId;
    this.#who = String(accountId);
    this.#onClosed = onClosed;
  }

  arrived(bytes: number): void {
    this.#pending = Math.max(0, this.#pending + bytes);
    if (this.#pending <= 64 * 1024 || bytes <= 0) return;
    this.#permit ??= this.#deps.messages.open({ key: this.#who, lost: () => this.#overloaded() });
    const room = this.#permit.take(bytes);
    if (room === undefined) return;
    this.#channel.pause();
    room.then(() => this.#channel.resume(), () => this.#overloaded());
  }

  message(bytes: Uint8Array): void {
    const permit = this.#permit;
    permit?.complete();
    // The message is complete, so it needs no more room. Resumes here, since a wait for room
    // doesn't end when its permit is released.
    if (permit) this.#channel.resume();
    this.#permit = undefined;
    this.#pending = 0;
    if (this.#actsAtOnce(bytes)) return permit?.release();
    if (!this.#mayWait({ bytes, permit })) {
      permit?.release();
      return this.#sendFault(
        new Fault("rate_limit_exceeded", {
          message:
            `A socket answers one request at a time; at most ${maxWaiting} may wait, small ` +
            `ones up to ${maxUncountedBytes} bytes in total.`,
        }),
      );
    }
    this.#waiting.push({ bytes, permit });
    this.#next();
  }

  /** Whether a message may wait. With none waiting any may: it is answered next. */
  #mayWait(message: Message): boolean {
    if (this.#waiting.length === 0) return true;
    const bytes = uncountedBytes(message);
    const waiting = this.#waiting.reduce((sum, one) => sum + uncountedBytes(one), 0);
    return this.#waiting.length < maxWaiting &&
      (bytes === 0 || waiting + bytes <= maxUncountedBytes);
  }

  drained(): void {
    this.#roomWaiter?.();
    this.#roomWaiter = undefined;
  }

  closed(): void {
    this.#isClosed = true;
    this.#permit?.release();
    for (const { permit } of this.#waiting) permit?.release();
    this.#waiting.length = 0;
    this.#running?.leaving.abort("Client connection prematurely closed.");
    this.drained();
    this.#deps.turns.closed(this);
    this.#onClosed();
  }

  check(nowMs: number): void {
    this.#openedMs ??= nowMs;
    if (nowMs - this.#openedMs >= maxAgeMs && this.#running === undefined && !this.#isLeaving) {
      this.#sendFault(new Fault("websocket_connection_limit_reached"));
      this.leave();
    }
    if (this.#pending <= controlFrameBytes || this.#progress?.pending !== this.#pending) {
      this.#progress = { pending: this.#pending, ms: nowMs };
    } else if (nowMs - this.#progress.ms >= stalledMs) {
      this.#sendFault(new Fault("request_timeout"));
      this.#channel.close(1008, "A message did not arrive in time.");
    }
  }

  leave(): void {
    this.#isLeaving = true;
    if (this.#running === undefined) this.#channel.close(1001, "The service closes this socket.");
  }

  #overloaded(): void {
    if (this.#isClosed) return;
    this.#sendFault(new Fault("overloaded"));
    this.#channel.close(1013, "Try again later.");
  }

  /**
   * Handles a frame about the running response, which doesn't wait for it, and returns true; false
   * for a request. Messages over 64 KiB are always requests.
   */
  #actsAtOnce(bytes: Uint8Array): boolean {
    if (bytes.length > 64 * 1024) return false;
    try {
      const frame = finish(this.#deps.frames.readFrame(decode(bytes)));
      if (frame.kind === "create") return false;
      void this.#limited(() => frame.kind === "steer" ? this.#steer(frame) : this.#cancel(frame));
    } catch (thrown) {
      void this.#limited(() => this.#sendFault(asFault(thrown)));
    }
    return true;
  }

  /**
   * Acts if the frame is admitted: each takes a rate token of its account, as every request does.
   * The store may be slow to hand one out, so the number of waiting frames is limited.
   */
  async #limited(act: () => void): Promise<void> {
    if (this.#actsUnderWay >= maxWaiting) {
      return this.#sendFault(
        new Fault("rate_limit_exceeded", {
          message:
            `${maxWaiting} frames of this socket are already waiting; send more when they are done.`,
        }),
      );
    }
    this.#actsUnderWay++;
    try {
      const refusal = await this.#refusalOf(this.#newContext({}));
      if (refusal === undefined) act();
      else this.#sendRefusal(refusal);
    } catch (thrown) {
      this.#sendFault(asFault(thrown));
    } finally {
      this.#actsUnderWay--;
    }
  }

  #steer(frame: SteerFrame): void {
    const isActive = frame.previousId !== "" && this.#running?.responseId === frame.previousId;
    this.#channel.send(this.#deps.frames.steerFailed(frame, isActive));
  }

  #cancel({ responseId }: CancelFrame): void {
    const running = this.#running;
    if (running === undefined || (responseId ?? running.responseId) !== running.responseId) {
      return this.#sendFault(
        new Fault("response_not_found", {
          param: "response_id",
          message: "response_id: no response with this id is under way on this socket.",
        }),
      );
    }
    running.isCancelled = true;
    running.leaving.abort("The caller cancelled the response.");
  }

  #next(): void {
    const message = this.#waiting[0];
    if (this.#running !== undefined || message === undefined || this.#isClosed) return;
    // Nobody would get its answer, though the caller may not have answered our close frame yet.
    if (this.#channel.isClosing) return;
    this.#waiting.shift();
    const running: RunningCall = {
      leaving: new AbortController(),
      responseId: undefined,
      isCancelled: false,
    };
    this.#running = running;
    this.#channel.working(true);
    this.#enter(message, running);
  }

  /** Runs the message's call once admission control has room for it, as for every request. */
  #enter(message: Message, running: RunningCall): void {
    const call = {};
    const { frontDoor } = this.#deps;
    const begin = () => {
      this.#run(message, running, call)
        .catch((thrown) => this.#sendFault(asFault(thrown)))
        .finally(() => {
          message.permit?.release();
          frontDoor.ended?.(call);
          this.#ended();
        });
    };
    const overloaded = frontDoor.enter ? frontDoor.enter(this.#request, call, begin) : void begin();
    if (overloaded === undefined) return;
    message.permit?.release();
    this.#sendFault(new Fault("overloaded", overloaded));
    queueMicrotask(() => this.#ended());
  }

  #ended(): void {
    this.#running = undefined;
    if (this.#isClosed) return;
    this.#channel.working(false);
    if (this.#isLeaving && this.#waiting.length === 0) this.leave();
    else this.#next();
  }

  async #run(message: Message, running: RunningCall, call: object): Promise<void> {
    // The socket may have closed while the request waited for admission.
    if (this.#channel.isClosing) return;
    const context = this.#newContext(call);
    const refusal = await this.#refusalOf(context);
    if (refusal !== undefined) {
      this.#deps.accessLog(context, "POST", refusal.status);
      return this.#sendRefusal(refusal);
    }
    // Or while it waited for a slow store.
    if (this.#channel.isClosing) return;
    const { frames } = this.#deps;
    const text = decode(message.bytes);
    await this.#inSteps(text, checkJsonLimits(text));
    const frame = await this.#inSteps(text, frames.readFrame(text));
    if (frame.kind !== "create") return;
    const turn = this.#turnOf(frame);
    const own = await this.#ownItems(frame, text);
    const before = turn ?? firstTurn(frame);
    const itemsText = own && joinItems(before.itemsText, own.itemsText);
    if (frame.isWarmUp) return this.#warmUp(frame, itemsText, before);
    const continued = turn && own ? this.#continue(turn, frame, own, context) : frame;
    running.previousId = turn?.responseId;
    const request = this.#requestOf(frames.bodyText(continued), running);
    // The endpoint counts the bytes that it reads in its own gate.
    message.permit?.release();
    const reply = await this.#deps.found.endpoint(request, context);
    this.#deps.accessLog(context, "POST", reply.status);
    const outputText = await this.#answer(reply, frame, running, context);
    if (outputText === undefined || running.responseId === undefined || frame.isStored) return;
    const allText = joinItems(itemsText ?? "", outputText);
    const since = await this.#inSteps(allText, frames.sinceSummary(allText));
    // The turn was forgotten during the call: its text was erased, or other turns needed the room.
    if (turn !== undefined && this.#turnOf(frame) !== turn) return;
    const { transactionId, settled } = context.trace;
    const remembered = {
      responseId: running.responseId,
      storedId: since.isSummary ? undefined : before.storedId,
      itemsText: since.itemsText,
      recordedUnits: since.itemsText.length,
      sources: [...before.sources, ...(transactionId ? [transactionId] : [])],
    };
    this.#deps.turns.remember(this, this.#accountId, remembered, settled);
  }

  /**
   * Returns the request's items; undefined if they aren't items. Those that continue a conversation
   * lose their tag lines, which would be ordinary text there.
   */
  async #ownItems(frame: CreateFrame, text: string): Promise<OwnItems | undefined> {
    const { frames } = this.#deps;
    const sentText = await this.#inSteps(text, frames.itemsOf(frame));
    if (sentText === undefined) return undefined;
    // A warm-up has no row that could have its tags.
    const mayTag = frame.previousId !== undefined && !frame.isWarmUp;
    if (!mayTag) return { sentText, itemsText: sentText, tags: {} };
    return { sentText, ...await this.#inSteps(sentText, frames.takeTags(sentText)) };
  }

  /**
   * Returns the request with all items so far. Notes in `context` which of them to record, and the
   * request's tags.
   */
  #continue(
    { storedId, itemsText, recordedUnits, sources }: SocketTurn,
    frame: CreateFrame,
    own: OwnItems,
    context: RequestContext,
  ): CreateFrame {
    const { frames } = this.#deps;
    // Earlier turns have rows of their own, which may be erased. Warm-ups have none, so their items
    // are recorded with this call.
    const warmed = itemsText.slice(recordedUnits).replace(/^,/, "");
    const recorded = warmed === ""
      ? frame
      : frames.withItems(frame, joinItems(warmed, own.sentText), storedId);
    context.sentText = frames.bodyText(recorded);
    context.tags = own.tags;
    context.sourceCallIds = sources;
    return frames.withItems(frame, joinItems(itemsText, own.itemsText), storedId);
  }

  #turnOf({ previousId }: CreateFrame): SocketTurn | undefined {
    return previousId === undefined ? undefined : this.#deps.turns.find(this, previousId);
  }

  /** Answers a warm-up. Nothing is generated or charged; the next request can continue from it. */
  #warmUp(
    frame: CreateFrame,
    itemsText: string | undefined,
    before: EarlierTurn,
  ): void {
    if (itemsText === undefined) throw invalidValue("input", "expected text, or a list of items");
    const id = `resp_${this.#deps.newId().replaceAll("-", "")}`;
    const createdAt = Math.floor(this.#deps.contexts.clock.now().getTime() / 1000);
    const events = this.#deps.frames.warmUp(frame, { id, createdAt });
    this.#deps.turns.remember(this, this.#accountId, { ...before, responseId: id, itemsText });
    for (const event of events) this.#sendEvent(event, frame.streamId);
  }

  /**
   * Sends an answer's events as frames. Returns JSON text of the output items, without brackets;
   * undefined if the answer is not complete.
   */
  async #answer(
    reply: Reply,
    frame: CreateFrame,
    running: RunningCall,
    context: RequestContext,
  ): Promise<string | undefined> {
    const { streamId } = frame;
    if (!(reply.body instanceof ReadableStream)) {
      if (reply.status === 200) return await this.#answerWhole(reply, frame, running, context);
      // The caller cancelled before the answer began.
      if (reply.status === 499) this.#sendCancelled(running, streamId);
      else this.#sendRefusal(reply, streamId, context.trace.transactionId);
      return undefined;
    }
    const splitter = new SseSplitter({ maxEventBytes });
    const reader = reply.body.getReader();
    const left = () => void reader.cancel().catch(() => {});
    running.leaving.signal.addEventListener("abort", left, { once: true });
    let outputText: string | undefined;
    const pass = async (events: readonly SseEvent[]) => {
      for (const { data } of events) {
        if (running.leaving.signal.aborted) break;
        // Comments keep a silent connection open; here pings do.
        if (data === undefined) this.#channel.ping();
        // A stream's end mark is no frame: clients parse each as JSON.
        else if (data.trim() !== "[DONE]") {
          outputText = await this.#pass(data, streamId, running) ?? outputText;
        }
      }
    };
    try {
      for (let next = await reader.read(); !next.done; next = await reader.read()) {
        await pass(splitter.push(next.value));
      }
      // The vendor's last event may lack its blank line.
      await pass(splitter.end());
      if (running.isCancelled) this.#sendCancelled(running, streamId);
      return outputText;
    } catch (thrown) {
      // The answer broke off without an event that says so.
      if (running.isCancelled) this.#sendCancelled(running, streamId);
      else this.#sendFault(asFault(thrown), streamId);
      return undefined;
    } finally {
      running.leaving.signal.removeEventListener("abort", left);
    }
  }

  /** Sends an answer that is no stream, although one was requested, as the frames of a stream. */
  async #answerWhole(
    reply: Reply,
    frame: CreateFrame,
    running: RunningCall,
    context: RequestContext,
  ): Promise<string | undefined> {
    const bytes = typeof reply.body === "string" ? encode(reply.body) : reply.body as Uint8Array;
    // A translated answer is already the text of the stream.
    if (reply.headers["content-type"]?.startsWith("text/event-stream")) {
      return await this.#answer({ ...reply, body: streamOf(bytes) }, frame, running, context);
    }
    const text = decode(bytes);
    let outputText: string | undefined;
    for (const data of await this.#inSteps(text, this.#deps.frames.wholeEvents(text))) {
      outputText = await this.#pass(data, frame.streamId, running) ?? outputText;
    }
    return outputText;
  }

  /**
   * Sends an event, and waits if the caller reads too slowly. Notes the response's id. Returns JSON
   * text of the response's output, without brackets, if the event completes it.
   */
  async #pass(
    data: string,
    streamId: string | undefined,
    running: RunningCall,
  ): Promise<string | undefined> {
    const { frames } = this.#deps;
    const { previousId } = running;
    running.responseId ??= frames.responseId(data);
    const shown = previousId === undefined ? data : frames.withPrevious(data, previousId);
    if (!this.#sendEvent(shown, streamId)) await this.#room();
    return frames.outputOf(data);
  }

  #sendEvent(data: string, streamId: string | undefined): boolean {
    const { frames } = this.#deps;
    return this.#channel.send(streamId === undefined ? data : frames.withStream(data, streamId));
  }

  #sendCancelled({ responseId }: RunningCall, streamId: string | undefined): void {
    this.#sendEvent(this.#deps.frames.cancelled(responseId), streamId);
  }

  #sendFault(fault: Fault, streamId?: string): void {
    this.#sendRefusal(errorReply(fault, "responses", ""), streamId);
    if (errors[fault.code].status >= 500) this.#deps.onFault(fault, { requestId: "" });
  }

  /** Sends an error in the protocol's form: status, body, and headers such as `Retry-After`. */
  #sendRefusal({ status, headers, body }: Reply, streamId?: string, transactionId?: string): void {
    const shown = Object.fromEntries(
      Object.entries({ ...headers, "x-transaction-id": transactionId ?? "" })
        .filter(([name, value]) => value !== "" && name !== "content-type"),
    );
    const bodyText = typeof body === "string" ? body : "{}";
    this.#sendEvent(this.#deps.frames.error(status, bodyText, shown), streamId);
  }

  #room(): Promise<void> {
    if (this.#isClosed) return Promise.resolve();
    return new Promise((resolve) => this.#roomWaiter = resolve);
  }

  #newContext(call: object): RequestContext {
    const { contexts, headers, remoteHost } = this.#deps;
    return newRequestContext(contexts, (name) => headers.get(name), { remoteHost, incoming: call });
  }

  /** Keys may be revoked, and rates reached, while a socket is open. */
  async #refusalOf(context: RequestContext): Promise<Reply | undefined> {
    const { authenticate, rateCheck, headers, path } = this.#deps;
    const header = (name: string) => headers.get(name);
    const noKey = await authenticate(context, { path, header });
    if (noKey !== undefined) return noKey;
    const { refusal } = await rateCheck(context, path);
    return refusal;
  }

  #requestOf(text: string, { leaving: { signal } }: RunningCall): HttpRequest {
    const bytes = encode(text);
    const headers = new Map([
      ...this.#deps.headers,
      ["content-type", "application/json"],
      ["content-length", String(bytes.length)],
    ]);
    return {
      method: "POST",
      path: this.#deps.path,
      header: (name) => headers.get(name),
      headerNames: () => [...headers.keys()],
      queries: () => ({}),
      params: () => ({ ...this.#deps.found.params }),
      signal,
      body: { whole: () => Promise.resolve(bytes), pieces: () => piecesOf(bytes) },
    };
  }

  #inSteps<T>(text: string, steps: Steps<T>): Promise<T> | T {
    if (text.length <= heavyUnits) return finish(steps);
    return this.#deps.heavy.work.runSteps({ key: this.#who }, steps);
  }
}

function uncountedBytes({ bytes, permit }: Message): number {
  return permit === undefined || permit.isEmpty ? bytes.length : 0;
}

function decode(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

function encode(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(text);
}

type EarlierTurn = Omit<SocketTurn, "responseId">;

/** A request's items as JSON text without brackets. */
interface OwnItems {
  readonly sentText: string;
  /** Without the tag lines that `tags` were read from. */
  readonly itemsText: string;
  readonly tags: PromptTags;
}

/** The state before a request that continues no turn of its socket. */
function firstTurn({ previousId: storedId }: CreateFrame): EarlierTurn {
  return { storedId, itemsText: "", recordedUnits: 0, sources: [] };
}

/** Joins JSON texts of items; empty ones are left out. */
function joinItems(...texts: readonly string[]): string {
  return texts.filter((text) => text !== "").join(",");
}

/** Returns a body's reader of bytes that are in memory, in pieces. */
function piecesOf(bytes: Uint8Array): ReadableStreamDefaultReader<Uint8Array> {
  let at = 0;
  return new ReadableStream<Uint8Array>({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.subarray(at, at += pieceBytes));
    },
  }, { highWaterMark: 0 }).getReader();
}

const pieceBytes = 64 * 1024;
