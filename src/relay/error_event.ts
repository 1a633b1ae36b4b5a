import { errorBody } from "../../contracts/kernel/error_bodies.ts";
import type { Fault } from "../shared/fault.ts";

/** The event that ends a stream of pictures or sound with an error. */
export function errorEvent({ code, message, param }: Fault, requestId: string): Uint8Array {
  const envelope = errorBody({ code, message, param, requestId }, "chat");
  const body = JSON.stringify({ type: "error", ...envelope as object });
  return new TextEncoder().encode(`event: error\ndata: ${body}\n\n`);
}
