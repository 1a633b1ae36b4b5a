import type { Contract } from "../../contracts/kernel/contract.ts";
import type { ByteGate } from "../base/byte_gate.ts";
import { JsonTextError, parseInSteps, type Preview } from "../base/parse_in_steps.ts";
import { PermitLost } from "../base/byte_room.ts";
import { boundaryOf, MultipartError, parseMultipart } from "../base/multipart.ts";
import { formFields, type SentForm } from "../dialects/kernel/operation_request.ts";
import { Fault } from "../shared/fault.ts";
import { type HeavyWork, runAtOnce, runInTurns, type Step } from "../base/heavy_work.ts";
import { heavyUnits, heavyValues } from "../base/heavy_json.ts";
import { JsonCount, type JsonExcess } from "../base/json_count.ts";
import { systemSetTimer } from "../base/deadline.ts";
import type { ValueGate } from "../base/value_gate.ts";
import { joinBytes } from "../base/bytes.ts";

/** A request's body as it was sent. */
export interface SentBody {
  /** Empty for a form. */
  text: string;
  form: SentForm | undefined;
  /** What the contract's schema is held against. */
  value: (glance?: Preview) => Promise<unknown>;
  /** Does what is to be done with it: a body that holds much is worked on in turns. */
  step: Step;
}

/** The room that a large body takes up until its answer is there. */
export interface BodyMemory {
  release?: () => void;
  /** Gives back the room among bodies that hold much. */
  leaveHeavy?: () => void;
  /** The caller left before there was room. */
  isLeft?: boolean;
}

/** Reads the body that a contract takes; nothing where it takes none. */
export async function readSent(
  request: Request,
  contract: Pick<Contract, "body" | "form">,
  { maxBodyBytes, bodies, heavy }: { maxBodyBytes: number; bodies: ByteGate; heavy: HeavyBodies },
  { room, who }: { room: BodyMemory; who: string },
): Promise<SentBody> {
  if (!contract.body && !contract.form) return nothing;
  const reading = takeRoom(request, bodies, room, who);
  const contentType = request.headers.get("content-type") ?? undefined;
  const boundary = contract.form ? boundaryOf(contentType) : undefined;
  if (boundary !== undefined) {
    const bytes = await readBodyBytes(request, maxBodyBytes, reading);
    const form = readForm(bytes, contentType!, boundary);
    return {
      text: "",
      form,
      value: () => runAtOnce(() => formFields(form.parts)),
      step: runAtOnce,
    };
  }
  if (!contract.body) {
    throw new Fault("invalid_request", {
      param: "Content-Type",
      message: "Content-Type: expected multipart/form-data.",
    });
  }
  const { release, ...json } = await readJson(request, maxBodyBytes, { heavy, who, reading });
  room.leaveHeavy = release;
  return { ...json, form: undefined };
}

const nothing: SentBody = {
  text: "",
  form: undefined,
  value: () => Promise.resolve(undefined),
  step: runAtOnce,
};

/** Room for what has arrived, piece by piece; `room` gives it back. */
function takeRoom(
  request: Request,
  bodies: ByteGate,
  room: BodyMemory,
  who: string,
): Reading {
  const length = request.headers.get("content-length");
  const { signal } = request;
  const lost = Promise.withResolvers<never>();
  lost.promise.catch(() => {});
  const taken = bodies.open({
    key: who,
    signal,
    bytes: length === null ? undefined : Number(length) || 0,
    lost: () => lost.reject(madeWay()),
  });
  room.release = () => taken.release();
  const refused = (thrown: unknown): never => {
    room.isLeft = signal.aborted;
    throw thrown instanceof PermitLost ? madeWay() : thrown;
  };
  return {
    ready: () => taken.ready()?.catch(refused),
    onPiece: (piece) => taken.take(piece.length)?.catch(refused),
    stopped: lost.promise,
    complete: () => taken.complete(),
  };
}

function madeWay(): Fault {
  return new Fault("overloaded", {
    message: "The request body came slowly while others waited for its room. Retry later.",
    retryAfterSeconds: 10,
  });
}

function readForm(bytes: Uint8Array, contentType: string, boundary: string): SentForm {
  if (boundary === "") {
    throw new Fault("invalid_request", {
      param: "Content-Type",
      message: "Content-Type: multipart/form-data without a boundary.",
    });
  }
  try {
    return { bytes, contentType, parts: parseMultipart(bytes, boundary) };
  } catch (thrown) {
    if (!(thrown instanceof MultipartError)) throw thrown;
    throw new Fault("invalid_request", {
      message: `The request body is no multipart/form-data: ${thrown.message}.`,
    });
  }
}

/** What a body of JSON may hold, whatever it is for (interface.md §5). */
export const jsonLimits = {
  values: 1_000_000,
  depth: 128,
  members: 10_000,
  names: 50_000,
} as const;

/** Where bodies that hold much are worked on. */
export interface HeavyBodies {
  readonly work: HeavyWork;
  /** Room for values of heavy bodies: what is made of a text takes many times its memory. */
  readonly room: ValueGate;
}

/** A body of JSON as it was sent. */
interface JsonBody {
  readonly text: string;
  /** Parses it; of one that holds much the first elements of lists are shown before the rest. */
  readonly value: (glance?: Preview) => Promise<unknown>;
  /** Does what else is to be done with it. */
  readonly step: Step;
  /** Gives back what room it took. */
  readonly release: () => void;
}

/**
 * Reads a body of JSON. What it holds is counted while it arrives; beyond the limits it is refused
 * at once, and the rest is read away. Only valid UTF-8.
 */
export async function readJson(
  request: Request,
  maxBytes: number,
  { heavy, who, reading }: { heavy: HeavyBodies; who: string; reading: Reading },
): Promise<JsonBody> {
  const count = new JsonCount(jsonLimits);
  const text = await readText(request, maxBytes, { count, reading });
  if (count.isBroken) throw notJson();
  if (count.values <= heavyValues && text.length <= heavyUnits) {
    return {
      text,
      value: () => runAtOnce(() => parseJson(text)),
      step: runAtOnce,
      release: () => {},
    };
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
  request: Request,
  maxBytes: number,
  { count, reading }: { count: JsonCount; reading: Reading },
): Promise<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true });
  const pieces: string[] = [];
  const take = (piece: string) => {
    const excess = count.add(piece);
    if (excess !== undefined) throw tooMuch(excess);
    pieces.push(piece);
  };
  let looked = 0;
  for await (const bytes of bodyPieces(request, maxBytes, reading)) {
    take(decoded(() => decoder.decode(bytes, { stream: true })));
    looked += bytes.length;
    if (looked < lookedBytes) continue;
    looked = 0;
    // What has arrived already comes without a pause: others have their turn between.
    await new Promise<void>((resolve) => systemSetTimer(0, resolve));
  }
  take(decoded(() => decoder.decode()));
  return pieces.join("");
}

/** Read in one go. */
const lookedBytes = 512 * 1024;

function decoded(decode: () => string): string {
  try {
    return decode();
  } catch {
    throw new Fault("invalid_json", { message: "The request body is not valid UTF-8." });
  }
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
        message: `The request body has members of more than ${most} different names.`,
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
  try {
    return yield* parseInSteps(text, count, { glance });
  } catch (thrown) {
    throw thrown instanceof JsonTextError ? notJson(thrown.position) : thrown;
  }
}

interface Reading {
  /** Awaited before the first piece is read. */
  ready?: () => Promise<void> | undefined;
  /**
   * Done with each piece as it comes. The next piece is read only then: what waits stays with the
   * caller and in the network. What it throws ends the reading.
   */
  onPiece?: (piece: Uint8Array) => Promise<void> | undefined;
  /** Ends the reading at once when it rejects. */
  stopped?: Promise<never>;
  /** Called when all has come. */
  complete?: () => void;
}

/** Reads a request's body; at most `maxBytes`. */
async function readBodyBytes(
  request: Request,
  maxBytes: number,
  reading: Reading = {},
): Promise<Uint8Array> {
  const pieces: Uint8Array[] = [];
  for await (const piece of bodyPieces(request, maxBytes, reading)) pieces.push(piece);
  return joinBytes(pieces);
}

/** A body that says that it is small is read at once, which costs a third less than pieces do. */
const wholeBytes = 64 * 1024;

/**
 * A request's body as it arrives; at most `maxBytes`. Who stops looking need not read on: the rest is
 * read away.
 */
async function* bodyPieces(
  request: Request,
  maxBytes: number,
  { ready, onPiece = () => undefined, stopped, complete = () => {} }: Reading = {},
): AsyncGenerator<Uint8Array, void, void> {
  const tooLarge = () =>
    new Fault("request_too_large", {
      message: `The request body is larger than ${maxBytes} bytes.`,
    });
  const announced = request.headers.get("content-length");
  if (Number(announced ?? "0") > maxBytes) throw tooLarge();
  if (announced !== null && Number(announced) <= wholeBytes) {
    const bytes = new Uint8Array(await whileWhole(request.arrayBuffer()));
    await onPiece(bytes);
    complete();
    yield bytes;
    return;
  }
  await ready?.();
  const reader = request.body?.getReader();
  if (!reader) return complete();
  let length = 0;
  const next = () => {
    const piece = whileWhole(reader.read());
    return stopped ? Promise.race([piece, stopped]) : piece;
  };
  try {
    for (;;) {
      const { done, value } = await next();
      if (done) return complete();
      length += value.length;
      if (length > maxBytes) throw tooLarge();
      await onPiece(value);
      yield value;
    }
  } finally {
    void discard(reader);
  }
}

async function whileWhole<T>(reading: Promise<T>): Promise<T> {
  try {
    return await reading;
  } catch (thrown) {
    // The caller left in the middle of its body: no failure of ours.
    throw new Fault("invalid_request", {
      message: "The request body ended before it was complete.",
      cause: thrown,
    });
  }
}

/**
 * Reads on what nobody wants, so that the connection stays good for the caller's next request. The
 * listener ends it where this goes on for long after the answer.
 */
async function discard(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
  try {
    while (!(await reader.read()).done);
  } catch {
    // The caller left.
  }
}

/** Parses JSON; malformed text is the caller's mistake, and the position is worth knowing. */
export function parseJson(text: string): unknown {
  if (text.trim() === "") {
    throw new Fault("invalid_json", {
      message: "The request body is empty; expected a JSON object.",
    });
  }
  try {
    return JSON.parse(text);
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
