import { shortKey } from "../../base/hash.ts";
import { pushAll } from "../../base/lists.ts";
import type { Clock } from "../../base/clock.ts";
import { type SetTimer, within } from "../../base/deadline.ts";
import { Fault } from "../../shared/fault.ts";
import type { SettledCall } from "../../shared/interaction.ts";
import type {
  RetainedReasoning,
  StoredResponse,
  StoredResponseStore,
} from "../../shared/stored_response.ts";
import type { SelectableCall } from "../../shared/interaction.ts";

/** Long enough for a slow write; short, since another process may delete the response. */
const rememberMs = 5_000;
/** The most UTF-16 units that are remembered. */
const maxChars = 64 * 1024 * 1024;
const maxGone = 10_000;
/** How long other workers may take to write what they have answered. */
const flushMs = 10_000;

interface StoredResponseCacheDeps {
  store: StoredResponseStore;
  clock: Pick<Clock, "monotonicMs">;
  isErased: (call: SelectableCall) => boolean;
  /** The waits, one after the other, before a response that isn't found counts as missing. */
  waits?: readonly Wait[];
}

/** Waits for other processes that answer the account; resolves to false if there are none. */
export type Wait = (accountId: number) => Promise<boolean>;

/**
 * Returns the waits for other processes that answer the account. Workers are asked to write what
 * they have answered. Replicas can't be asked: they write by themselves, a quarter of a second
 * later if they aren't busy, and within two seconds. The first write of one that has just started
 * on a busy machine was seen to take longer, so the wait is twice that.
 */
export function waitsForOthers({ isShared, flushOthers, pause, setTimer }: {
  isShared: (accountId: number) => Promise<boolean>;
  flushOthers: (options: { accountId: number; timeoutMs: number }) => Promise<unknown>;
  pause: (ms: number) => Promise<void>;
  setTimer?: SetTimer;
}): Wait[] {
  const written: Wait = async (accountId) => {
    if (!await isShared(accountId)) return false;
    // If a worker fails or ends meanwhile, others write what it has answered: the search goes on.
    const flushing = flushOthers({ accountId, timeoutMs: flushMs });
    const flushed = flushing.catch(() => {}).then(() => "written" as const);
    if (await within(flushMs, flushed, "late", setTimer) === "written") return true;
    // The late worker may hold the response, so it can't be reported as missing.
    throw new Fault("store_unavailable", {
      note: `other workers have not written their records after ${flushMs} ms`,
    });
  };
  const pauses = [200, 200, 300, 500, 800, 1000, 1000].map((ms) => () =>
    pause(ms).then(() => true)
  );
  return [written, ...pauses];
}

interface Remembered {
  value: StoredResponse | RetainedReasoning;
  /** The calls whose text it holds. */
  sources: readonly string[];
  atMs: number;
  chars: number;
}

/**
 * Stored answers as calls see them. A new answer is in memory, since its row may not be written
 * when the next turn comes; everything else is in the store.
 */
export class StoredResponseCache implements StoredResponseStore {
  readonly #store: StoredResponseStore;
  readonly #clock: StoredResponseCacheDeps["clock"];
  readonly #isErased: StoredResponseCacheDeps["isErased"];
  readonly #waits: readonly Wait[];
  /** Oldest first. */
  readonly #entries = new Map<string, Remembered>();
  /** Recently forgotten calls, for running calls that continue them. */
  readonly #gone = new Set<string>();
  /** Requests that have waited in vain, and don't wait again. */
  readonly #waited = new WeakSet<object>();
  #chars = 0;

  constructor({ store, clock, isErased, waits = [] }: StoredResponseCacheDeps) {
    this.#store = store;
    this.#clock = clock;
    this.#isErased = isErased;
    this.#waits = waits;
  }

  /** Takes what a call stores, unless the call was erased. */
  remember(interaction: SettledCall): void {
    // At every call: those that retain nothing may be all that follow.
    this.#forgetOld();
    const { accountId, transactionId, retained } = interaction;
    if (!retained || this.#isErased(interaction)) return;
    if (retained.response && !retained.response.sources.some((id) => this.#gone.has(id))) {
      const { response } = retained;
      const chars = response.inputItemsText.length + response.answerText.length;
      const sources = [transactionId, ...response.sources];
      const value = { ...response, transactionId };
      this.#put(responseKey(accountId, response.responseId), { value, sources, chars });
    }
    for (const one of retained.reasoning) {
      const chars = one.reasoningText.length;
      const sources = [transactionId];
      this.#put(reasoningKey(accountId, one.callId), { value: one, sources, chars });
    }
    this.#forgetOld();
  }

  /** Forgets the text of these calls, in later responses too. */
  forget(transactionIds: readonly string[]): void {
    for (const id of transactionIds) this.#gone.add(id);
    for (const [key, { sources }] of this.#entries) {
      if (sources.some((id) => this.#gone.has(id))) this.#drop(key);
    }
    for (const id of this.#gone) {
      if (this.#gone.size <= maxGone) break;
      this.#gone.delete(id);
    }
  }

  async findResponse(accountId: number, responseId: string): Promise<StoredResponse | undefined> {
    const remembered = this.#get(responseKey(accountId, responseId));
    return remembered as StoredResponse | undefined ??
      await this.#store.findResponse(accountId, responseId);
  }

  async lookAgain<T>(
    accountId: number,
    request: object,
    find: () => Promise<T | undefined>,
  ): Promise<T | undefined> {
    if (this.#waited.has(request)) return undefined;
    for (const wait of this.#waits) {
      const mayContinue = await wait(accountId);
      // Search even if nobody was waited for: a process that has just ended has written its
      // answers.
      const found = await find();
      if (found !== undefined) return found;
      if (!mayContinue) break;
    }
    this.#waited.add(request);
    return undefined;
  }

  async backgroundState(accountId: number, responseId: string): Promise<string | undefined> {
    return await this.#store.backgroundState?.(accountId, responseId);
  }

  async findByItems(accountId: number, itemIds: readonly string[]): Promise<StoredResponse[]> {
    this.#forgetOld();
    const prefix = responseKey(accountId, "");
    const found: StoredResponse[] = [];
    const missing = new Set(itemIds);
    for (const [key, { value }] of this.#entries) {
      if (!key.startsWith(prefix)) continue;
      const response = value as StoredResponse;
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

  async findReasoning(accountId: number, callIds: readonly string[]): Promise<RetainedReasoning[]> {
    const found: RetainedReasoning[] = [];
    const missing: string[] = [];
    for (const callId of callIds) {
      const remembered = this.#get(reasoningKey(accountId, callId));
      if (remembered) found.push(remembered as RetainedReasoning);
      else missing.push(callId);
    }
    if (missing.length > 0) pushAll(found, await this.#store.findReasoning(accountId, missing));
    return found;
  }

  #put(key: string, one: Omit<Remembered, "atMs">): void {
    this.#drop(key);
    this.#entries.set(key, { ...one, atMs: this.#clock.monotonicMs() });
    this.#chars += one.chars;
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
  return shortKey(`${accountId}/reasoning/${callId}`);
}
