import { errorBody } from "../../contracts/kernel/error_bodies.ts";
import type { Fault } from "../shared/fault.ts";

/** How a stream of named events, of pictures or sound, tells that no more comes. */
export function errorEvent({ code, message, param }: Fault, requestId: string): Uint8Array {
  const told = errorBody({ code, message, param, requestId }, "chat");
  const body = JSON.stringify({ type: "error", ...told as object });
  return new TextEncoder().encode(`event: error\ndata: ${body}\n\n`);
}
