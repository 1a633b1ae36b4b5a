import { joinBytes } from "../base/bytes.ts";
import type { MemoryPermit } from "../base/byte_room.ts";
import { Fault } from "../shared/fault.ts";
import type { UpstreamAnswer } from "../vendors/upstream.ts";

/** A larger answer is none. */
const maxAnswerBytes = 96 * 1024 * 1024;

/**
 * A vendor's whole body. Each piece takes room: while there is none the rest waits, unread, with
 * the vendor and in the network. `heard` is told of each piece, so that what came is known though
 * the rest may not.
 */
export async function readLarge(
  answer: UpstreamAnswer,
  room: MemoryPermit,
  heard: (bytes: number) => void,
): Promise<Uint8Array> {
  try {
    await room.ready();
  } catch (thrown) {
    answer.body.destroy();
    throw thrown;
  }
  return await readPieces(answer, room, heard);
}

function readPieces(
  { body }: UpstreamAnswer,
  room: MemoryPermit,
  heard: (bytes: number) => void,
): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const pieces: Uint8Array[] = [];
  let length = 0;
  body.onData({
    data(piece) {
      length += piece.length;
      heard(piece.length);
      pieces.push(piece);
      if (length > maxAnswerBytes) {
        const note = `The vendor's answer is larger than ${maxAnswerBytes} bytes`;
        throw new Fault("upstream_invalid_response", { note });
      }
      const waiting = room.take(piece.length);
      if (!waiting) return;
      body.pause();
      waiting.then(() => body.resume(), (thrown) => {
        body.destroy();
        reject(thrown);
      });
    },
    end: () => resolve(joinBytes(pieces)),
    error: reject,
  });
  return promise;
}
