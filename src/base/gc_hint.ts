/**
 * Triggers a GC after a number of released bytes, since V8 doesn't count off-heap buffers soon
 * enough.
 */
export interface GcHint {
  /** Records that `bytes` of buffers are no longer needed. */
  addReleased(bytes: number): void;
}

/** Available with `--expose-gc`, which the tasks set. */
type Collect = (options: { type: GcType }) => void;

/** `major` collects the whole heap, with what has survived minor collections. */
type GcType = "minor" | "major";

/**
 * Collects after every `everyBytes` released. Buffers are outside V8's heap: by itself V8 lets 64
 * MiB and more of them pile up, while a minor GC takes milliseconds. Does nothing without
 * `--expose-gc`.
 */
export function createGcHint(
  everyBytes: number,
  type: GcType = "minor",
  collect = (globalThis as { gc?: Collect }).gc,
): GcHint {
  let bytesLeft = 0;
  return {
    addReleased(bytes) {
      bytesLeft += bytes;
      if (bytesLeft < everyBytes) return;
      bytesLeft = 0;
      collect?.({ type });
    },
  };
}

/** Frees a buffer at once unless it is small; its bytes must not be used any more. */
export function released({ buffer, length }: Uint8Array): void {
  const isWhole = buffer instanceof ArrayBuffer && buffer.byteLength === length;
  if (isWhole && length >= minBytes) buffer.transfer(0);
}

const minBytes = 16 * 1024;
