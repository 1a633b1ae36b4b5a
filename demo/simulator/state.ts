import { hash, hexOf } from "./tokens.ts";

/** One request as a simulated vendor received it. Header names are lower case. */
export interface Received {
  method: string;
  /** Path with the base address's part, and the query. */
  path: string;
  headers: Record<string, string>;
  /** Parsed JSON; the text itself where it is none, a form's bytes; undefined without a body. */
  body: unknown;
}

const KEPT_REQUESTS = 200;
/** Of bodies larger than this only the last few are kept. */
const LARGE_BYTES = 256 * 1024;
const KEPT_LARGE = 8;
const KEPT_ATTEMPTS = 1000;
const KEPT_PREFIXES = 1000;

/** What one simulated vendor remembers between requests. */
export class VendorState {
  readonly label: string;
  readonly apiKey: string;
  readonly received: Received[] = [];
  /** Answers that are under way. */
  active = 0;
  /** Calls whose client left before the answer's end. */
  aborted = 0;
  readonly #large: Received[] = [];
  readonly #nonce = crypto.randomUUID();
  readonly #attempts = new Map<string, number>();
  readonly #cachedPrefixes = new Set<string>();
  #sequence = 0;

  constructor(label: string, apiKey: string) {
    this.label = label;
    this.apiKey = apiKey;
  }

  remember(received: Received, bytes: number): void {
    this.received.push(received);
    if (this.received.length > KEPT_REQUESTS) this.received.shift();
    if (bytes <= LARGE_BYTES) return;
    this.#large.push(received);
    if (this.#large.length > KEPT_LARGE) this.#large.shift()!.body = undefined;
  }

  /** An id that no other call has, this run or another. */
  nextId(prefix: string, digits = 24): string {
    return prefix + hexOf(`${this.#nonce}:${this.#sequence++}`, digits);
  }

  /**
   * Whether the next attempt of this text is one of its first `times`, which fail. The count begins
   * anew after the attempt that is let through.
   */
  isFailingAttempt(text: string, times: number): boolean {
    const failed = this.#attempts.get(text) ?? 0;
    if (failed >= times || this.#attempts.size > KEPT_ATTEMPTS) {
      this.#attempts.delete(text);
      return false;
    }
    this.#attempts.set(text, failed + 1);
    return true;
  }

  /** Whether the prompt prefix was seen before; it is from now on, unless it's only looked for. */
  isCached(prefix: string, mode: "read" | "write" = "write"): boolean {
    const key = `${prefix.length}:${hash(prefix)}`;
    if (this.#cachedPrefixes.has(key)) return true;
    if (mode === "read") return false;
    if (this.#cachedPrefixes.size >= KEPT_PREFIXES) this.#cachedPrefixes.clear();
    this.#cachedPrefixes.add(key);
    return false;
  }
}
