import type { Contract } from "../../contracts/kernel/contract.ts";
import type { ByteGate } from "../base/byte_gate.ts";
import type { Preview } from "../base/parse_in_steps.ts";
import { PermitLost } from "../base/byte_room.ts";
import { boundaryOf, MultipartError, parseMultipart } from "../base/multipart.ts";
import { formFields, type SentForm } from "../dialects/kernel/operation_request.ts";
import { Fault } from "../shared/fault.ts";
import { runAtOnce, type Step } from "../base/heavy_work.ts";
import { readBodyBytes, type Reading } from "./body.ts";
import { type HeavyBodies, readJson } from "./read_json.ts";

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
