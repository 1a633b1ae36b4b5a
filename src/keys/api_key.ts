import type { AuditNote } from "../audit/audit.ts";
import type { Account } from "./account.ts";
import type { KeyDefaults } from "./key_defaults.ts";

/** What a hang-up of the caller does to the vendor call. */
export type OnDisconnect = "cancel" | "drain";
/** What is recorded of calls: `metadata` is the row with usage and money, without any content. */
export type RecordMode = "full" | "metadata";
export type TranslationMode = "default" | "strict" | "lenient";

/** A stored service key; the value itself is never stored, only its hash. */
export interface ApiKey {
  id: string;
  accountId: number;
  name: string;
  /** First characters of the value, for people to recognise it by. */
  prefix: string;
  /** Empty = everything. */
  scopes: readonly string[];
  /** Empty = every model; else names as calls to the unified endpoint have them. */
  models: readonly string[];
  onDisconnect: OnDisconnect;
  translationMode: TranslationMode;
  /** Whether translated calls without cache marks get some, where the vendor wants them. */
  promptCache: boolean;
  /** How long answers to its calls are given again; absent: only where a call asks for that. */
  cacheTtlSeconds?: number;
  /** `full` when absent. */
  recording?: RecordMode;
  /** What it says for calls that don't say it themselves. */
  defaults?: KeyDefaults | undefined;
  capDayNanos: bigint | null;
  capMonthNanos: bigint | null;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

/** What a caller is after its key was verified. */
export interface Principal {
  key: ApiKey;
  account: Account;
}

export interface NewApiKey extends Omit<ApiKey, "promptCache" | "createdAt" | "revokedAt"> {
  hash: string;
  /** True when absent. */
  promptCache?: boolean;
}

/** What may be changed of a key; what is absent stays, null takes a cap away. */
export interface ApiKeyChange {
  name?: string;
  capDayNanos?: bigint | null;
  capMonthNanos?: bigint | null;
}

/** Where keys live. Implemented in `src/keys/store/api_keys.ts`. */
export interface ApiKeyStore {
  insert(key: NewApiKey, audit?: AuditNote): Promise<ApiKey>;
  /** The key with this hash, revoked or not, with its account. */
  findByHash(hash: string): Promise<Principal | undefined>;
  /** The same by the key's id, for work that goes on after the request that asked for it. */
  findById(id: string): Promise<Principal | undefined>;
  list(accountId?: number): Promise<ApiKey[]>;
  /** By id, those behind `after`; of one account, or with null of all. */
  page(accountId: number | null, page: { after: string | null; limit: number }): Promise<ApiKey[]>;
  /**
   * Changes a key; undefined when there is none. Calls that began before go by what it was: what a
   * key without a cap has spent doesn't count against one that it gets.
   */
  change(
    id: string,
    change: ApiKeyChange,
    audit?: (key: ApiKey) => AuditNote,
  ): Promise<ApiKey | undefined>;
  /** Marks a key revoked. False when there is no such key or it was revoked before. */
  revoke(id: string, audit?: (key: ApiKey) => AuditNote): Promise<boolean>;
}
