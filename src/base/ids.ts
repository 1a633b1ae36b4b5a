import type { Clock } from "./clock.ts";

/** A version 7 UUID (RFC 9562 §5.7) for the current time. */
export function uuidv7(clock: Pick<Clock, "now">): string {
  return createUuidv7(clock)();
}

/**
 * A generator of strictly increasing version 7 UUIDs, also within a millisecond and when the clock
 * goes back: the 12 bits after the time are a counter with a random start (RFC 9562 §6.2, method 1).
 * Create one per process.
 */
export function createUuidv7(clock: Pick<Clock, "now">): () => string {
  let lastMs = -1;
  let counter = 0;
  return () => {
    const random = crypto.randomUUID();
    const nowMs = clock.now().getTime();
    if (nowMs > lastMs) {
      lastMs = nowMs;
      // The upper bit starts as 0, which leaves at least 2,048 ids to this millisecond.
      counter = parseInt(random.slice(0, 3), 16) & 0x7ff;
    } else if (++counter > 0xfff) {
      lastMs += 1;
      counter = 0;
    }
    const time = lastMs.toString(16).padStart(12, "0");
    const count = counter.toString(16).padStart(3, "0");
    // The end of a random UUID, which includes the variant bits.
    return `${time.slice(0, 8)}-${time.slice(8)}-7${count}${random.slice(18)}`;
  };
}

/** `length` random characters of `0-9A-Za-z`, each equally likely. */
export function randomBase62(length: number): string {
  let text = "";
  while (text.length < length) {
    for (const value of crypto.getRandomValues(new Uint8Array(length * 2))) {
      // 248 = 4 × 62: larger values would favour the first digits.
      if (value < 248 && text.length < length) text += base62Digits.charAt(value % 62);
    }
  }
  return text;
}

/**
 * The bytes as one big-endian number in base 62, padded on the left with `0` to `length`
 * characters. Throws when they don't fit.
 */
export function base62(bytes: Uint8Array, length: number): string {
  let number = 0n;
  for (const value of bytes) number = number << 8n | BigInt(value);
  let text = "";
  while (number > 0n) {
    text = base62Digits.charAt(Number(number % 62n)) + text;
    number /= 62n;
  }
  if (text.length > length) {
    throw new RangeError(`${bytes.length} bytes don't fit ${length} base62 characters`);
  }
  return text.padStart(length, "0");
}

/** A whole number in base 62, padded on the left with `0` to `length` characters. */
export function base62Number(value: number, length: number): string {
  let text = "";
  for (let rest = value; rest > 0; rest = Math.floor(rest / 62)) {
    text = base62Digits.charAt(rest % 62) + text;
  }
  return text.padStart(length, "0");
}

const base62Digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
