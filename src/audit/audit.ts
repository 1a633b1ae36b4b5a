/** Who acts: a person of the dashboard, the operator's command line, or an API key. */
export interface Actor {
  personId: string | null;
  /** As people know the actor. */
  name: string;
}

/** The operator's command line as an actor. */
export const commandLine: Actor = { personId: null, name: "command line" };

interface NamedPerson {
  id: string;
  email: string | null;
  name: string;
}

/**
 * Returns how the log names a person: by the verified e-mail address, or else by name. People choose
 * their names, so a name is marked as one, and has the end of the person's id: it must read neither
 * as another actor's nor as that of another person with the same name.
 */
export function personText({ id, email, name }: NamedPerson): string {
  return email ?? `person '${name}' (…${idEnd(id)})`;
}

/** Returns the end of a person's id, which differs between people: ids begin with a time. */
export function idEnd(id: string): string {
  return id.slice(-8);
}

export function personAsActor(person: NamedPerson): Actor {
  return { personId: person.id, name: personText(person) };
}

export function keyAsActor({ name, prefix }: { name: string; prefix: string }): Actor {
  return { personId: null, name: `API key '${name}' (${prefix}…)` };
}

/** One administrative act. Never holds a secret. */
export interface AuditEntry {
  accountId: number;
  actor: Actor;
  /** What was done, such as `api_key.created`. */
  action: string;
  /** What it was done to: a key's name, an address. */
  subject: string;
  /** More about it in words; may be empty. */
  detail: string;
}

/**
 * An act that is noted in the same transaction that performs it: there is never one without the
 * other.
 */
export interface AuditNote extends AuditEntry {
  at: Date;
}

type Entry = AuditNote | ((...about: never[]) => AuditNote);

/**
 * A store as the service uses it: calls that can have an audit entry must have one. (Tests call the
 * store itself without.)
 */
export type Audited<Store> = {
  [Name in keyof Store]: Store[Name] extends (...input: infer Input) => infer Result
    ? (...input: WithEntry<Input>) => Result
    : Store[Name];
};

type WithEntry<Input extends unknown[]> = number extends Input["length"] ? Input
  : Input extends [] ? []
  : Input extends [infer First, ...infer Rest] ? [Noted<First>, ...WithEntry<Rest>]
  : Input extends [(infer First)?, ...infer Rest]
    ? NonNullable<First> extends Entry ? [Exclude<First, undefined>, ...WithEntry<Rest>]
    : "audit" extends keyof NonNullable<First> ? [Noted<NonNullable<First>>, ...WithEntry<Rest>]
    : [First?, ...WithEntry<Rest>]
  : Input;

type Noted<Options> = "audit" extends keyof Options ? Options & Required<Pick<Options, "audit">>
  : Options;

export interface AuditRow extends AuditEntry {
  id: bigint;
  at: Date;
}

/** The permanent log of acts. Implemented in `src/audit/store/audit.ts`. */
export interface AuditLog {
  record(entry: AuditEntry): Promise<void>;
  /**
   * Lists the acts of one account, or, for null, of all, the latest first; `before` is the last id
   * of the previous page.
   */
  list(
    accountId: number | null,
    page: { before: bigint | null; limit: number },
  ): Promise<AuditRow[]>;
}
