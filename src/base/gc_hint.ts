/** Has the engine look for garbage where large buffers come and go. */
export interface GcHint {
  /** So many bytes have been worked on and are needed no more. */
  left(bytes: number): void;
}

/** What the runtime gives with `--expose-gc`; the tasks set it. */
type Collect = (options: { type: "minor" }) => void;

/**
 * Looks once so many bytes were left. Buffers are outside of the engine's heap: by itself it lets
 * them pile up by 64 MiB and more before it looks, while a look at what is young, as these are,
 * takes milliseconds. Does nothing where the runtime was started without `--expose-gc`.
 */
export function createGcHint(
  everyBytes: number,
  collect = (globalThis as { gc?: Collect }).gc,
): GcHint {
  let bytesLeft = 0;
  return {
    left(bytes) {
      bytesLeft += bytes;
      if (bytesLeft < everyBytes) return;
      bytesLeft = 0;
      collect?.({ type: "minor" });
    },
  };
}

/** Frees a large buffer at once that nobody looks at any more; the bytes are gone then. */
export function released({ buffer, length }: Uint8Array): void {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === length;
  if (isWhole && length >= leastBytes) buffer.transfer(0);
}

const leastBytes = 256 * 1024;
