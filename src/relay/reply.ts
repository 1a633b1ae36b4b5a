/** An answer on its way to the caller, before it becomes a response of the web framework. */
export interface Reply {
  status: number;
  headers: Record<string, string>;
  body: string | Uint8Array | ReadableStream<Uint8Array> | null;
}

/** On the answer to a repeat: the call was made before, and nothing was charged again. */
export const replayHeader: Readonly<Record<string, string>> = { "x-idempotent-replay": "true" };
