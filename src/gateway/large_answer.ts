import { joinBytes } from "../base/bytes.ts";
import type { UpstreamAnswer } from "../vendors/upstream.ts";

/** Answers of fewer bytes are read at once. */
export const smallBytes = 256 * 1024;
/** What an answer is thought to have that doesn't say. */
const likelyBytes = 8 * 1024 * 1024;
/** A larger answer is none. */
const maxAnswerBytes = 96 * 1024 * 1024;

/**
 * A vendor's whole body. One that turns out to be large waits, unread, until `enter` has room for
 * it: meanwhile it stays with the vendor and in the network.
 */
export async function readLarge(
  answer: UpstreamAnswer,
  enter: (bytes: number) => Promise<void>,
): Promise<Uint8Array> {
  const said = Number(answer.headers["content-length"] ?? "");
  if (said <= smallBytes && said > 0) return await answer.body.readAll(maxAnswerBytes);
  if (said > smallBytes) {
    await enterOrClose(answer, enter, said);
    return await answer.body.readAll(maxAnswerBytes);
  }
  return await readGrowing(answer, enter);
}

/** A body of unknown length is let in once it is more than small. */
function readGrowing(
  answer: UpstreamAnswer,
  enter: (bytes: number) => Promise<void>,
): Promise<Uint8Array> {
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  const pieces: Uint8Array[] = [];
  let length = 0;
  let isLarge = false;
  answer.body.onData({
    data(piece) {
      length += piece.length;
      pieces.push(piece);
      if (length > maxAnswerBytes) throw new Error("The vendor's answer is too large");
      if (isLarge || length <= smallBytes) return;
      isLarge = true;
      answer.body.pause();
      enterOrClose(answer, enter, likelyBytes).then(() => answer.body.resume(), reject);
    },
    end: () => resolve(joinBytes(pieces)),
    error: reject,
  });
  return promise;
}

async function enterOrClose(
  answer: UpstreamAnswer,
  enter: (bytes: number) => Promise<void>,
  bytes: number,
): Promise<void> {
  try {
    await enter(bytes);
  } catch (thrown) {
    answer.body.destroy();
    throw thrown;
  }
}
