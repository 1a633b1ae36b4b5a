import type { AuditNote } from "../audit/audit.ts";
import type { Account } from "./account.ts";
import type { KeyDefaults } from "./key_defaults.ts";

/** What happens to the vendor call when the caller hangs up. */
export type OnDisconnect = "cancel" | "drain";
/**
 * How much of a call is recorded: `metadata` is the row with usage and money, without any content.
 */
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
  /** Whether translated calls without cache marks get some, for vendors that need them. */
  promptCache: boolean;
  /** How long the response cache answers its calls; absent: only calls that ask for it. */
  cacheTtlSeconds?: number;
  /** `full` when absent. */
  recording?: RecordMode;
  /** Settings for calls that don't say otherwise. */
  defaults?: KeyDefaults | undefined;
  capDayNanos: bigint | null;
  capMonthNanos: bigint | null;
  createdAt: Date;
  expiresAt: Date | null;
  revokedAt: Date | null;
}

/** A caller whose key was verified. */
export interface Principal {
  key: ApiKey;
  account: Account;
}

export interface NewApiKey extends Omit<ApiKey, "promptCache" | "createdAt" | "revokedAt"> {
  hash: string;
  /** True when absent. */
  promptCache?: boolean;
}

/** The changes of a key; absent fields stay, null removes a cap. */
export interface ApiKeyChange {
  name?: string;
  capDayNanos?: bigint | null;
  capMonthNanos?: bigint | null;
}

/** Builds the audit entry for a change of a key. */
export type KeyChangeAudit = (before: ApiKey, after: ApiKey) => AuditNote;

/** The store of keys. Implemented in `src/keys/store/api_keys.ts`. */
export interface ApiKeyStore {
  insert(key: NewApiKey, audit?: AuditNote): Promise<ApiKey>;
  /** The key with this hash, revoked or not, with its account. */
  findByHash(hash: string): Promise<Principal | undefined>;
  /** The same by the key's id, for work that goes on after the request that asked for it. */
  findById(id: string): Promise<Principal | undefined>;
  /** Returns the keys of this name that aren't revoked. */
  named(name: string, limit: number): Promise<ApiKey[]>;
  /** Lists keys by id, those after `after`; of one account, or, for null, of all. */
  page(accountId: number | null, page: { after: string | null; limit: number }): Promise<ApiKey[]>;
  /**
   * Changes a key; undefined when there is none. Calls that began before keep to its old values:
   * what a key spent without a cap doesn't count against a cap that it gets.
   */
  change(
    id: string,
    change: ApiKeyChange,
    audit?: KeyChangeAudit,
  ): Promise<ApiKey | undefined>;
  /** Marks a key revoked. False when there is no such key or it was revoked before. */
  revoke(id: string, audit?: (key: ApiKey) => AuditNote): Promise<boolean>;
}
