/** Who acts: a person of the dashboard, the operator's command line, or an API key. */
export interface Actor {
  personId: string | null;
  /** As people know them. */
  name: string;
}

/** The operator's command line as an actor. */
export const commandLine: Actor = { personId: null, name: "command line" };

export function keyAsActor({ name, prefix }: { name: string; prefix: string }): Actor {
  return { personId: null, name: `API key '${name}' (${prefix}…)` };
}

/** One administrative act. Never holds a secret. */
export interface AuditEntry {
  accountId: number;
  actor: Actor;
  /** What was done, as `api_key.created`. */
  action: string;
  /** What it was done to: a key's name, an address. */
  subject: string;
  /** More about it in words; may be empty. */
  detail: string;
}

/** An act that is noted in the very transaction that does it: there is never one without the other. */
export interface AuditNote extends AuditEntry {
  at: Date;
}

export interface AuditRow extends AuditEntry {
  id: bigint;
  at: Date;
}

/** Where acts are noted, for good. Implemented in `src/audit/store/audit.ts`. */
export interface AuditLog {
  record(entry: AuditEntry): Promise<void>;
  /**
   * Those of an account, or with null of all, the latest first; `before` is the id of the last row
   * of the page before.
   */
  list(
    accountId: number | null,
    page: { before: bigint | null; limit: number },
  ): Promise<AuditRow[]>;
}
