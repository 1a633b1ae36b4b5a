/** Resolves when the promise has settled or the caller has left (`signal`). Never rejects. */
export function orLeft(promise: Promise<unknown>, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve();
  const { promise: either, resolve } = Promise.withResolvers<void>();
  const done = () => {
    signal.removeEventListener("abort", done);
    resolve();
  };
  signal.addEventListener("abort", done);
  promise.then(done, done);
  return either;
}
