import type { Clock } from "../base/clock.ts";
import type { Kept, KeptReasoning, KeptResponse, KeptStore } from "../domain/kept.ts";

/**
 * Kept answers as the gateway sees them: what was just kept is in memory, since its row may not be
 * written yet when the next turn comes; everything else is in the store.
 */
export interface KeptMemory extends KeptStore {
  remember(accountId: number, kept: Kept): void;
}

/** Long enough for a slow write; short, since another process may forget a response meanwhile. */
const rememberMs = 5_000;
/** UTF-16 units that are remembered at most. */
const maxChars = 64 * 1024 * 1024;

export function createKeptMemory(parts: { store: KeptStore; clock: Clock }): KeptMemory {
  return new KeptFront(parts.store, parts.clock);
}

interface Remembered {
  value: KeptResponse | KeptReasoning;
  atMs: number;
  chars: number;
}

class KeptFront implements KeptMemory {
  readonly #store: KeptStore;
  readonly #clock: Clock;
  /** Oldest first. */
  readonly #entries = new Map<string, Remembered>();
  #chars = 0;

  constructor(store: KeptStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  remember(accountId: number, kept: Kept): void {
    if (kept.response) {
      const { response } = kept;
      const chars = response.inputItemsText.length + response.answerText.length;
      this.#put(responseKey(accountId, response.responseId), response, chars);
    }
    for (const one of kept.reasoning) {
      this.#put(reasoningKey(accountId, one.callId), one, one.reasoningText.length);
    }
    this.#forgetOld();
  }

  async findResponse(accountId: number, responseId: string): Promise<KeptResponse | undefined> {
    const remembered = this.#get(responseKey(accountId, responseId));
    return remembered as KeptResponse | undefined ??
      await this.#store.findResponse(accountId, responseId);
  }

  async findByItems(accountId: number, itemIds: readonly string[]): Promise<KeptResponse[]> {
    this.#forgetOld();
    const prefix = responseKey(accountId, "");
    const found: KeptResponse[] = [];
    const missing = new Set(itemIds);
    for (const [key, { value }] of this.#entries) {
      if (!key.startsWith(prefix)) continue;
      const response = value as KeptResponse;
      if (!response.itemIds.some((id) => missing.has(id))) continue;
      found.push(response);
      for (const id of response.itemIds) missing.delete(id);
    }
    if (missing.size === 0) return found;
    return [...found, ...await this.#store.findByItems(accountId, [...missing])];
  }

  async removeResponse(accountId: number, responseId: string): Promise<boolean> {
    const key = responseKey(accountId, responseId);
    const remembered = this.#get(key) !== undefined;
    this.#drop(key);
    return await this.#store.removeResponse(accountId, responseId) || remembered;
  }

  async findReasoning(accountId: number, callIds: readonly string[]): Promise<KeptReasoning[]> {
    const found: KeptReasoning[] = [];
    const missing: string[] = [];
    for (const callId of callIds) {
      const remembered = this.#get(reasoningKey(accountId, callId));
      if (remembered) found.push(remembered as KeptReasoning);
      else missing.push(callId);
    }
    if (missing.length > 0) found.push(...await this.#store.findReasoning(accountId, missing));
    return found;
  }

  #put(key: string, value: Remembered["value"], chars: number): void {
    this.#drop(key);
    this.#entries.set(key, { value, atMs: this.#clock.monotonicMs(), chars });
    this.#chars += chars;
  }

  #get(key: string): Remembered["value"] | undefined {
    this.#forgetOld();
    return this.#entries.get(key)?.value;
  }

  #drop(key: string): void {
    this.#chars -= this.#entries.get(key)?.chars ?? 0;
    this.#entries.delete(key);
  }

  #forgetOld(): void {
    const nowMs = this.#clock.monotonicMs();
    for (const [key, { atMs }] of this.#entries) {
      if (nowMs - atMs < rememberMs && this.#chars <= maxChars) return;
      this.#drop(key);
    }
  }
}

function responseKey(accountId: number, responseId: string): string {
  return `${accountId}/response/${responseId}`;
}

function reasoningKey(accountId: number, callId: string): string {
  return `${accountId}/reasoning/${callId}`;
}
