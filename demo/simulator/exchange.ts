import { type Behaviours } from "./behaviours.ts";
import { asObject, type JsonObject, parseJson } from "./json.ts";
import { Problem } from "./problem.ts";
import { type VendorState } from "./state.ts";
import { wait } from "./timing.ts";

/** One request on its way through a simulated vendor. */
export interface Exchange {
  state: VendorState;
  url: URL;
  /** Path after the base URL, with a leading slash. */
  path: string;
  headers: Headers;
  text: string;
  /** The body as received. */
  bytes: Uint8Array<ArrayBuffer>;
  /** Aborts when the client leaves or the simulators close. */
  signal: AbortSignal;
  call: OpenCall;
}

/** Counts a call as under way until it is finished or its client has left, whichever is first. */
export class OpenCall {
  /** The body is still being written after the handler has returned. */
  isStreaming = false;
  readonly #state: VendorState;
  #isOver = false;

  constructor(state: VendorState) {
    this.#state = state;
    state.active++;
  }

  finish(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#state.active--;
  }

  leave(): void {
    if (this.#isOver) return;
    this.#state.aborted++;
    this.finish();
  }
}

/** The request's JSON object. Throws a 400 Problem when the body is something else. */
export function bodyOf(exchange: Exchange): JsonObject {
  const type = exchange.headers.get("content-type") ?? "";
  const body = type.includes("json") ? asObject(parseJson(exchange.text)) : null;
  if (body === null) {
    throw new Problem(400, "We could not parse the JSON body of your request.");
  }
  return body;
}

/** The request's form. Throws a 400 Problem when the body is something else. */
export async function formOf(exchange: Exchange): Promise<FormData> {
  const headers = { "content-type": exchange.headers.get("content-type") ?? "" };
  try {
    return await new Response(exchange.bytes, { headers }).formData();
  } catch {
    throw new Problem(400, "We could not parse your multipart form data.");
  }
}

/** Waits or fails as the last user text asks. Throws a Problem for `[error:…]`. */
export async function admit(
  exchange: Exchange,
  behaviours: Behaviours,
  userText: string,
): Promise<void> {
  if (behaviours.slowMs > 0) await wait(behaviours.slowMs, exchange.signal);
  const error = behaviours.error;
  if (error === null) return;
  const key = `${exchange.path} ${userText}`;
  if (error.times === null || exchange.state.isFailingAttempt(key, error.times)) {
    throw new Problem(error.status, `The simulated vendor answers ${error.status} as asked.`, {
      code: "simulated",
    });
  }
}

/** The caller's header names, sorted, for `[echo-headers]`. */
export function headerNames(exchange: Exchange): string[] {
  return [...exchange.headers.keys()].sort();
}
