import type { Reply } from "./reply.ts";

const pieceBytes = 64 * 1024;

/**
 * A whole reply that gives its room back once its caller has read it, or has left. It goes out in
 * pieces, no faster than they are read; without `release` it stays as it is.
 */
export function backpressuredReply(
  reply: Reply & { body: string | Uint8Array },
  release: (() => void) | undefined,
): Reply {
  if (!release) return reply;
  const { body } = reply;
  const bytes = typeof body === "string" ? new TextEncoder().encode(body) : body;
  let at = 0;
  const stream = new ReadableStream<Uint8Array>({
    pull(controller) {
      controller.enqueue(bytes.subarray(at, at += pieceBytes));
      if (at < bytes.length) return;
      // With all announced bytes out nobody asks for the end any more.
      controller.close();
      release();
    },
    cancel: release,
  }, { highWaterMark: 0 });
  return {
    ...reply,
    headers: { ...reply.headers, "content-length": String(bytes.length) },
    body: stream,
  };
}
