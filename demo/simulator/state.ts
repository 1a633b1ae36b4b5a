import { hash, hexOf } from "./tokens.ts";

/** One request as a simulated vendor received it. Header names are lower case. */
export interface Received {
  method: string;
  /** Path with the base URL's part, and the query. */
  path: string;
  headers: Record<string, string>;
  /** Parsed JSON, or the text if it is not JSON; a form's bytes; undefined without a body. */
  body: unknown;
}

const KEPT_REQUESTS = 200;
/** Only the last few bodies larger than this are kept. */
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

  /** Returns an id that is unique, even over several runs. */
  nextId(prefix: string, digits = 24): string {
    return prefix + hexOf(`${this.#nonce}:${this.#sequence++}`, digits);
  }

  /**
   * Counts an attempt with this text, and returns whether it is one of the first `times`, which
   * fail. The count restarts after the attempt that succeeds.
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

  /** Whether the prompt prefix was seen before. With `write` it counts as seen from now on. */
  isCached(prefix: string, mode: "read" | "write" = "write"): boolean {
    const key = `${prefix.length}:${hash(prefix)}`;
    if (this.#cachedPrefixes.has(key)) return true;
    if (mode === "read") return false;
    if (this.#cachedPrefixes.size >= KEPT_PREFIXES) this.#cachedPrefixes.clear();
    this.#cachedPrefixes.add(key);
    return false;
  }
}
