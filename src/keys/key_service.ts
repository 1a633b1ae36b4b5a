import type { ApiKey, ApiKeyChange, KeyChangeAudit, NewApiKey } from "./api_key.ts";
import type { AuditNote } from "../audit/audit.ts";

/** The age at which a key should be replaced: leaks are found late. */
const rotationDueMs = 90 * 24 * 3_600_000;

/** A key with what the dashboard shows beside it. */
export interface KeyRow extends ApiKey {
  /** production, staging…; empty when none was given. */
  environment: string;
  /** Id of the key that this one was made to replace. */
  replaces: string | null;
  /**
   * Who made it in the dashboard, named as in the audit log; the name is null once that person
   * belongs to no account.
   */
  madeBy: { id: string; name: string | null } | null;
  isReplaced: boolean;
  /** When a call of it was last recorded. */
  lastUsedAt: Date | null;
}

export type KeyState = "active" | "expiring" | "expired" | "revoked";

/** `expiring`: it ends within a week, as a key does that was replaced. */
export function keyState(key: Pick<ApiKey, "revokedAt" | "expiresAt">, now: Date): KeyState {
  if (key.revokedAt !== null) return "revoked";
  if (key.expiresAt === null) return "active";
  const leftMs = key.expiresAt.getTime() - now.getTime();
  if (leftMs <= 0) return "expired";
  return leftMs <= 7 * 24 * 3_600_000 ? "expiring" : "active";
}

/** Whether a key in use is old enough to be replaced. */
export function rotationDue(key: Pick<ApiKey, "revokedAt" | "expiresAt" | "createdAt">, now: Date) {
  const state = keyState(key, now);
  return state === "active" && now.getTime() - key.createdAt.getTime() >= rotationDueMs;
}

/** Which of an account's keys a list has, all of them by default. */
export interface KeyFilter {
  limit?: number;
  /** The key after which the list begins. */
  after?: Pick<ApiKey, "id"> | undefined;
  /** A part of the name, in any case, or the beginning of the value. */
  search?: string | undefined;
  /** Only keys with a cap that aren't revoked. */
  isCapped?: boolean;
  /** Only keys that are neither revoked nor expired. */
  isInUse?: boolean;
}

/** A key in use that somebody made in the dashboard. */
export interface MadeKey extends Pick<ApiKey, "name" | "prefix" | "scopes"> {
  personId: string;
}

/**
 * Keys as one account's people manage them, with no access to another account's. Each act is
 * written to the audit log (`audit`) in the same transaction.
 */
export interface KeyService {
  /** Lists keys, the newest first: ids are made in the order of time. */
  list(accountId: number, filter?: KeyFilter): Promise<KeyRow[]>;
  /** Lists the newest keys, all or those in use, without what only their page shows beside them. */
  offered(
    accountId: number,
    filter: Pick<KeyFilter, "isInUse"> & { limit: number },
  ): Promise<ApiKey[]>;
  /** Lists the keys in use that these people made, the newest first. */
  madeBy(accountId: number, personIds: readonly string[]): Promise<MadeKey[]>;
  /** Returns the names of keys by their ids; unknown ids are left out. */
  names(accountId: number, ids: readonly string[]): Promise<ReadonlyMap<string, string>>;
  find(accountId: number, id: string): Promise<KeyRow | undefined>;
  create(
    key: NewApiKey,
    note: { environment: string; madeBy?: string; audit?: AuditNote },
  ): Promise<void>;
  /**
   * Changes name and caps, as far as they are given. False when the account has no such key, or it
   * was revoked.
   */
  change(
    accountId: number,
    id: string,
    change: ApiKeyChange,
    audit?: KeyChangeAudit,
  ): Promise<boolean>;
  /** False when the account has no such key in use. */
  revoke(accountId: number, id: string, audit?: AuditNote): Promise<boolean>;
  /**
   * Replaces a key that is in use by the one that `next` makes of its state at that moment; the old
   * one then ends at `oldEndsAt` at the latest. False when the account has no such key in use, or
   * it was replaced before.
   */
  rotate(
    accountId: number,
    id: string,
    next: (old: ApiKey) => NewApiKey,
    times: {
      oldEndsAt: Date;
      now: Date;
      madeBy?: string;
      /** Builds the audit entry; `oldEndsAt` is when the old key does end. */
      audit?: (made: ApiKey, oldEndsAt: Date) => AuditNote;
    },
  ): Promise<boolean>;
}
