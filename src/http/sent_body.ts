import type { Contract } from "../../contracts/kernel/contract.ts";
import type { ByteGate } from "../base/byte_gate.ts";
import type { MemoryPermit } from "../base/byte_room.ts";
import { JsonTextError, parseInSteps, type Preview } from "../base/parse_in_steps.ts";
import { PermitLost } from "../base/byte_room.ts";
import { boundaryOf, MultipartError, parseMultipart } from "../base/multipart.ts";
import { formFields, type SentForm } from "../dialects/kernel/operation_request.ts";
import { Fault, invalidValue } from "../shared/fault.ts";
import { maxLongIdentifiers, refuseLongIdentifiers } from "../shared/long_identifiers.ts";
import { runAtOnce, runInTurns, type Step } from "../base/heavy_work.ts";
import {
  countInSteps,
  type HeavyBodies,
  heavyUnits,
  heavyValues,
  jsonLimits,
} from "../base/heavy_json.ts";
import { JsonCount, type JsonExcess, maxNameUnits } from "../base/json_count.ts";
import { systemSetTimer } from "../base/deadline.ts";
import { finish, type Steps } from "../base/steps.ts";
import { countValues, countValuesInSteps, findDuplicateName } from "../base/duplicate_names.ts";
import { joinAndFree } from "../base/bytes.ts";
import { parseExactly } from "../base/exact_json.ts";
import type { HttpRequest } from "./http_request.ts";

/** The parts of a request that reading its body needs. */
export type UnreadRequest = Pick<HttpRequest, "header" | "signal" | "body">;

export interface SentBody {
  /** Empty for a form. */
  text: string;
  form: SentForm | undefined;
  /** Returns the value to validate against the contract; for a heavy body a promise of it. */
  value: (glance?: Preview) => unknown;
  /** Runs work on the body: at once, or in turns if the body is heavy. */
  step: Step;
}

/** The memory that a body holds until it is answered. */
export interface BodyHold {
  permit?: MemoryPermit;
  /** Releases the room for heavy bodies. */
  leaveHeavy?: () => void;
  /** Called when the body's last byte has arrived. */
  arrived?: () => void;
  /** The caller left before there was room. */
  hasCallerLeft?: boolean;
}

interface BodyLimits {
  maxBodyBytes: number;
  bodies: ByteGate;
  heavy: HeavyBodies;
}

export async function readSent(
  request: UnreadRequest,
  contract: Pick<Contract, "body" | "form">,
  limits: BodyLimits,
  caller: { room: BodyHold; who: string },
): Promise<SentBody> {
  if (!contract.body && !contract.form) return nothing;
  try {
    return await readBody(request, contract, limits, caller);
  } catch (thrown) {
    throw thrown instanceof UnreadableBody && isCompressed(request) ? compressed(thrown) : thrown;
  }
}

/** The bytes are not those of the format that the endpoint takes. */
class UnreadableBody extends Fault {}

/** A label alone does no harm: some proxies decompress a body and leave the header. */
function isCompressed(request: UnreadRequest): boolean {
  const coding = request.header("content-encoding")?.trim().toLowerCase();
  return coding !== undefined && coding !== "" && coding !== "identity";
}

function compressed({ code }: UnreadableBody): Fault {
  return new Fault(code, {
    param: "Content-Encoding",
    message: "Content-Encoding: expected a body that isn't compressed.",
  });
}

async function readBody(
  request: UnreadRequest,
  contract: Pick<Contract, "body" | "form">,
  { maxBodyBytes, bodies, heavy }: BodyLimits,
  { room, who }: { room: BodyHold; who: string },
): Promise<SentBody> {
  const reading = new ReservedReading(request, bodies, room, who);
  const contentType = request.header("content-type");
  const boundary = boundaryOf(contentType);
  if (boundary !== undefined) {
    // Clients send forms where their own vendor takes them, such as edits of images.
    if (!contract.form) throw wrongContentType("invalid_json", "application/json, not a form");
    const bytes = await readBodyBytes(request, maxBodyBytes, reading);
    const step = bytes.length > heavyUnits
      ? runInTurns(heavy.work, { key: who, signal: request.signal })
      : runAtOnce;
    const form = await step.inSteps(() => readForm(bytes, contentType!, boundary));
    return { text: "", form, value: () => formFields(form.parts), step };
  }
  if (!contract.body) throw wrongContentType("invalid_request", "multipart/form-data");
  const json = await readJson(request, maxBodyBytes, { heavy, who, reading });
  if (json.release) room.leaveHeavy = json.release;
  return { text: json.text, form: undefined, value: json.value, step: json.step };
}

function wrongContentType(code: "invalid_json" | "invalid_request", expected: string): Fault {
  return new Fault(code, {
    param: "Content-Type",
    message: `Content-Type: expected ${expected}.`,
  });
}

const nothing: SentBody = {
  text: "",
  form: undefined,
  value: () => undefined,
  step: runAtOnce,
};

/** Reserves memory for the pieces as they arrive; releasing the permit of `room` frees it. */
class ReservedReading implements Reading {
  readonly #signal: AbortSignal;
  readonly #room: BodyHold;
  readonly #permit: MemoryPermit;
  #isLost = false;
  #lost: PromiseWithResolvers<never> | undefined;

  constructor(request: UnreadRequest, bodies: ByteGate, room: BodyHold, who: string) {
    const length = request.header("content-length");
    this.#signal = request.signal;
    this.#room = room;
    this.#permit = bodies.open({
      key: who,
      signal: request.signal,
      bytes: length === undefined ? undefined : Number(length) || 0,
      lost: () => this.#lose(),
    });
    room.permit = this.#permit;
  }

  ready(): Promise<void> | undefined {
    return this.#permit.ready()?.catch((thrown) => this.#refuse(thrown));
  }

  onPiece(piece: Uint8Array): Promise<void> | undefined {
    return this.#permit.take(piece.length)?.catch((thrown) => this.#refuse(thrown));
  }

  /** Created only for bodies in pieces: a small one is complete before it could be dropped. */
  get stopped(): Promise<never> {
    if (this.#lost === undefined) {
      this.#lost = Promise.withResolvers<never>();
      this.#lost.promise.catch(() => {});
      if (this.#isLost) this.#lost.reject(bodyDropped());
    }
    return this.#lost.promise;
  }

  complete(): void {
    this.#room.arrived?.();
    this.#permit.complete();
  }

  #lose(): void {
    this.#isLost = true;
    this.#lost?.reject(bodyDropped());
  }

  #refuse(thrown: unknown): never {
    this.#room.hasCallerLeft = this.#signal.aborted;
    throw thrown instanceof PermitLost ? bodyDropped() : thrown;
  }
}

function bodyDropped(): Fault {
  return new Fault("overloaded", {
    message:
      "The request body arrived too slowly while other requests waited for memory. Retry later.",
    retryAfterSeconds: 10,
  });
}

function* readForm(bytes: Uint8Array, contentType: string, boundary: string): Steps<SentForm> {
  if (boundary === "") {
    throw new Fault("invalid_request", {
      param: "Content-Type",
      message: "Content-Type: multipart/form-data without a boundary.",
    });
  }
  try {
    return { bytes, contentType, parts: yield* parseMultipart(bytes, boundary) };
  } catch (thrown) {
    if (!(thrown instanceof MultipartError)) throw thrown;
    throw new UnreadableBody("invalid_request", {
      message: `The request body is not valid multipart/form-data: ${thrown.message}.`,
    });
  }
}

interface JsonBody {
  readonly text: string;
  /**
   * Parses the body. For a heavy one it returns a promise, and `glance` is called with the first
   * elements of large lists before the rest is parsed.
   */
  readonly value: (glance?: Preview) => unknown;
  /** Runs further work on the body. */
  readonly step: Step;
  /** Releases the memory of a heavy body. */
  readonly release?: () => void;
}

/**
 * Reads a JSON body of valid UTF-8. Its contents are counted while it arrives; beyond the limits it is
 * refused at once, and the rest is discarded.
 */
export async function readJson(
  request: UnreadRequest,
  maxBytes: number,
  { heavy, who, reading }: { heavy: HeavyBodies; who: string; reading: Reading },
): Promise<JsonBody> {
  const count = new JsonCount(jsonLimits);
  const text = await readText(request, maxBytes, { count, reading });
  if (count.isBroken) throw notJson();
  if (count.values <= heavyValues && text.length <= heavyUnits) {
    const value = () => {
      const parsed = parseJson(text);
      if (countValues(parsed) !== count.values) finish(refuseDuplicate(text));
      if (count.longStrings > maxLongIdentifiers) finish(refuseLongIdentifiers(parsed));
      return parsed;
    };
    return { text, value, step: runAtOnce };
  }
  const worker = { key: who, signal: request.signal };
  return {
    text,
    value: (glance) => heavy.work.runSteps(worker, parsing(text, count, glance)),
    step: runInTurns(heavy.work, worker),
    release: await heavy.room.enter(Math.max(count.values, heavyValues), worker),
  };
}

async function readText(
  request: UnreadRequest,
  maxBytes: number,
  { count, reading }: { count: JsonCount; reading: Reading },
): Promise<string> {
  const take = (piece: string) => {
    const excess = count.add(piece);
    if (excess !== undefined) throw tooMuch(excess);
    return piece;
  };
  if (isWhole(request, maxBytes)) {
    const bytes = await readWhole(request, reading);
    return take(decoded(() => strict.decode(bytes)));
  }
  const decoder = strictDecoder();
  const pieces: string[] = [];
  let sinceYield = 0;
  for await (const bytes of bodyPieces(request, maxBytes, reading)) {
    pieces.push(take(decoded(() => decoder.decode(bytes, { stream: true }))));
    sinceYield += bytes.length;
    if (sinceYield < yieldBytes) continue;
    sinceYield = 0;
    // Pieces that have already arrived come without a pause: yield to the event loop.
    await new Promise<void>((resolve) => systemSetTimer(0, resolve));
  }
  pieces.push(take(decoded(() => decoder.decode())));
  return pieces.join("");
}

function strictDecoder(): TextDecoder {
  return new TextDecoder("utf-8", { fatal: true });
}

/** Shared by all bodies that are decoded whole: it keeps no state between them. */
const strict = strictDecoder();

/** Bytes to read before yielding. */
const yieldBytes = 512 * 1024;

function decoded(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw new UnreadableBody("invalid_json", {
      message: "The request body is not valid UTF-8; expected JSON text that isn't compressed.",
    });
  }
}

/** Checks a complete text against the limits of bodies, before parsing; throws the same faults. */
export function* checkJsonLimits(text: string): Steps<void> {
  const count = new JsonCount(jsonLimits);
  yield* countInSteps(count, text);
  if (count.excess !== undefined) throw tooMuch(count.excess);
}

function tooMuch(excess: JsonExcess): Fault {
  const most = jsonLimits[excess].toLocaleString("en-US");
  switch (excess) {
    case "values":
      return new Fault("request_too_large", {
        message: `The request body holds more than ${most} JSON values.`,
      });
    case "depth":
      return new Fault("invalid_value", {
        message: `The request body is nested deeper than ${most} levels.`,
      });
    case "names":
      return new Fault("invalid_value", {
        message: `The request body has more than ${most} different member names.`,
      });
    case "longNames":
      return new Fault("invalid_value", {
        message: `The request body has a member name of more than ${
          maxNameUnits.toLocaleString("en-US")
        } characters.`,
      });
    case "bare":
      return new Fault("invalid_value", {
        message: `The request body has white space or a number of more than ${most} characters.`,
      });
    case "members":
      return new Fault("invalid_value", {
        message: `The request body holds an object with more than ${most} members.`,
      });
  }
}

function* parsing(
  text: string,
  count: JsonCount,
  glance: Preview | undefined,
): Generator<void, unknown, void> {
  let value: unknown;
  try {
    value = yield* parseInSteps(text, count, { glance });
  } catch (thrown) {
    throw thrown instanceof JsonTextError ? notJson(thrown.position) : thrown;
  }
  if ((yield* countValuesInSteps(value)) !== count.values) yield* refuseDuplicate(text);
  if (count.longStrings > maxLongIdentifiers) yield* refuseLongIdentifiers(value);
  return value;
}

/**
 * Refuses a body if an object in it has a name twice: a vendor might read the other value than the
 * one that is limited and priced. Called if fewer values were parsed than counted, which alone is no
 * proof.
 */
function* refuseDuplicate(text: string): Steps<void> {
  const path = yield* findDuplicateName(text);
  if (path !== undefined) throw invalidValue(path, "duplicate field");
}

interface Reading {
  /** Awaited before the first piece is read. */
  ready?: () => Promise<void> | undefined;
  /**
   * Called with each piece; the next piece is read when it resolves (backpressure). If it throws,
   * reading ends.
   */
  onPiece?: (piece: Uint8Array) => Promise<void> | undefined;
  /** Ends reading at once when it rejects. */
  stopped?: Promise<never>;
  /** Called when the whole body has arrived. */
  complete?: () => void;
}

async function readBodyBytes(
  request: UnreadRequest,
  maxBytes: number,
  reading: Reading = {},
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bodyPieces(request, maxBytes, reading)) pieces.push(piece);
  return await joinAndFree(pieces);
}

/** A body with a `Content-Length` of at most this is read whole, a third cheaper than in pieces. */
export const wholeBytes = 64 * 1024;

/** A request's body as it arrives; at most `maxBytes`. If iteration stops, the rest is discarded. */
async function* bodyPieces(
  request: UnreadRequest,
  maxBytes: number,
  reading: Reading = {},
): AsyncGenerator<Uint8Array, void, void> {
  const tooLarge = () =>
    new Fault("request_too_large", {
      message: `The request body is larger than ${maxBytes} bytes.`,
    });
  const announced = request.header("content-length");
  if (Number(announced ?? "0") > maxBytes) throw tooLarge();
  if (isWhole(request, maxBytes)) return yield await readWhole(request, reading);
  await reading.ready?.();
  // Of a request whose caller has left by now, the web framework can't open the body.
  const reader = await whileWhole(Promise.try(() => request.body.pieces()));
  if (!reader) return reading.complete?.();
  const { stopped } = reading;
  let length = 0;
  const next = () => {
    const piece = whileWhole(reader.read());
    return stopped ? Promise.race([piece, stopped]) : piece;
  };
  try {
    for (;;) {
      const { done, value } = await next();
      if (done) return reading.complete?.();
      length += value.length;
      if (length > maxBytes) throw tooLarge();
      await reading.onPiece?.(value);
      yield value;
    }
  } finally {
    void discard(reader);
  }
}

function isWhole(request: UnreadRequest, maxBytes: number): boolean {
  const announced = request.header("content-length");
  return announced !== undefined && Number(announced) <= Math.min(wholeBytes, maxBytes);
}

async function readWhole({ body }: UnreadRequest, reading: Reading): Promise<Uint8Array> {
  const bytes = await whileWhole(body.whole());
  const room = reading.onPiece?.(bytes);
  // A small body has room at once.
  if (room !== undefined) await room;
  reading.complete?.();
  return bytes;
}

async function whileWhole<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (thrown) {
    // The caller left before it had sent the whole body.
    throw new Fault("invalid_request", {
      message: "The request body ended before it was complete.",
      cause: thrown,
    });
  }
}

/**
 * Reads and drops the rest, so that the connection can be reused. The listener closes it if this goes
 * on for long after the response.
 */
async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // The caller left.
  }
}

/** Parses JSON. Throws `invalid_json`, with the position if the text is malformed. */
export function parseJson(text: string): unknown {
  if (text.trim() === "") {
    throw new Fault("invalid_json", {
      message: "The request body is empty; expected a JSON object.",
    });
  }
  try {
    return parseExactly(text);
  } catch (thrown) {
    // Only the position: the engine's message quotes the text around it, which may be a prompt.
    const position = thrown instanceof Error
      ? /position (\d+)/.exec(thrown.message)?.[1]
      : undefined;
    throw notJson(position);
  }
}

function notJson(position?: number | string): Fault {
  const where = position === undefined ? "" : ` (at character ${position})`;
  return new Fault("invalid_json", { message: `The request body is not valid JSON${where}.` });
}
