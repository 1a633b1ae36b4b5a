/**
 * A stream that takes from a generator only what its reader asks for, and nothing before it asks.
 * A reader that leaves ends the generator.
 */
export function pulledStream(bytes: AsyncIterable<Uint8Array>): ReadableStream<Uint8Array> {
  const pieces = bytes[Symbol.asyncIterator]();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await pieces.return?.();
    },
  }, { highWaterMark: 0 });
}
