import type { Contract } from "../../contracts/contract.ts";
import type { ByteGate } from "../base/byte_gate.ts";
import { boundaryOf, MultipartError, parseMultipart } from "../base/multipart.ts";
import { formFields, type SentForm } from "../dialects/operations/request.ts";
import { Fault } from "../domain/fault.ts";
import { atOnce, type Step } from "../base/heavy_work.ts";
import { readBodyBytes } from "./body.ts";
import { type HeavyBodies, readJson } from "./read_json.ts";

/** A request's body as it was sent. */
export interface SentBody {
  /** Empty for a form. */
  text: string;
  form: SentForm | undefined;
  /** What the contract's schema is held against. */
  value: () => Promise<unknown>;
  /** Does what is to be done with it: a body that holds much is worked on in turns. */
  step: Step;
}

/** The room that a large body takes up until its answer is there. */
export interface BodyRoom {
  release?: () => void;
  /** Gives back the room among bodies that hold much. */
  leaveHeavy?: () => void;
  /** The caller left before there was room. */
  isLeft?: boolean;
}

/** Smaller bodies come in at once. */
const smallBytes = 256 * 1024;
/** What a body is thought to have that doesn't say. */
const likelyBytes = 8 * 1024 * 1024;

/** Reads the body that a contract takes; nothing where it takes none. */
export async function readSent(
  request: Request,
  contract: Pick<Contract, "body" | "form">,
  { maxBodyBytes, bodies, heavy }: { maxBodyBytes: number; bodies: ByteGate; heavy: HeavyBodies },
  { room, who }: { room: BodyRoom; who: string },
): Promise<SentBody> {
  if (!contract.body && !contract.form) return nothing;
  const bytes = announced(request);
  if (bytes > smallBytes && bytes <= maxBodyBytes) {
    const { signal } = request;
    room.release = await bodies.enter(bytes, { key: who, signal }).catch((thrown) => {
      room.isLeft = true;
      throw thrown;
    });
  }
  const contentType = request.headers.get("content-type") ?? undefined;
  const boundary = contract.form ? boundaryOf(contentType) : undefined;
  if (boundary !== undefined) {
    const form = readForm(await readBodyBytes(request, maxBodyBytes), contentType!, boundary);
    return { text: "", form, value: () => atOnce(() => formFields(form.parts)), step: atOnce };
  }
  if (!contract.body) {
    throw new Fault("invalid_request", {
      param: "Content-Type",
      message: "Content-Type: expected multipart/form-data.",
    });
  }
  const { release, ...json } = await readJson(request, maxBodyBytes, heavy, who);
  room.leaveHeavy = release;
  return { ...json, form: undefined };
}

const nothing: SentBody = {
  text: "",
  form: undefined,
  value: () => Promise.resolve(undefined),
  step: atOnce,
};

function announced(request: Request): number {
  const length = request.headers.get("content-length");
  if (length !== null) return Number(length) || 0;
  // Looked at only here: a body once made a stream of is no longer read off the connection when
  // it is refused unread, and the connection would be cut half a second later.
  return request.body ? likelyBytes : 0;
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
