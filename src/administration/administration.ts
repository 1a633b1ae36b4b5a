import { type Actor, type AuditNote, keyAsActor } from "../audit/audit.ts";
import type { Clock } from "../base/clock.ts";
import type { Account, AccountStore } from "../keys/account.ts";
import type { ApiKey } from "../keys/api_key.ts";
import type { AccountPlace } from "../shared/account_page.ts";
import { Fault, OptionError } from "../shared/fault.ts";

/** Who changes something, and when; this is all in which command line and API differ. */
export interface Administrator {
  actor: Actor;
  at: Date;
}

/** Returns a function that makes an `Administrator` of an API caller. */
export function administratorBy(
  clock: Pick<Clock, "now">,
): (caller: { principal: { key: Pick<ApiKey, "name" | "prefix"> } }) => Administrator {
  return ({ principal: { key } }) => ({ actor: keyAsActor(key), at: clock.now() });
}

/** Returns the audit log's entry for a change; `detail` must never hold a secret. */
export function noteBy(
  { actor, at }: Administrator,
  accountId: number,
  action: string,
  subject: string,
  detail = "",
): AuditNote {
  return { accountId, actor, at, action, subject, detail };
}

/** Returns the account of an id, by default the first one. Throws `Fault("account_not_found")`. */
export async function accountOf(
  accounts: Pick<AccountStore, "first" | "find">,
  id: number | undefined,
  field = "account_id",
): Promise<Account> {
  const found = id === undefined ? await accounts.first() : await accounts.find(String(id));
  if (found) return found;
  throw new Fault("account_not_found", {
    param: field,
    message: `${field}: no account has the id ${id}.`,
  });
}

/** Returns the account that a list is limited to, if any. Throws `Fault("account_not_found")`. */
export async function accountFilter(
  accounts: Pick<AccountStore, "first" | "find">,
  id: number | undefined,
): Promise<Account | undefined> {
  return id === undefined ? undefined : await accountOf(accounts, id);
}

/** The rows of a page out of one row more than it has, and where the next one begins. */
export function pageOf<Row>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (row: Row) => string,
): { page: Row[]; next_cursor: string | null } {
  const page = rows.slice(0, limit);
  return { page, next_cursor: rows.length > limit ? cursorOf(page.at(-1)!) : null };
}

/** Reads a cursor that is the number of a row. Throws `OptionError`. */
export function rowCursor(cursor: string | undefined): bigint | null {
  if (cursor === undefined) return null;
  if (/^\d{1,18}$/.test(cursor)) return BigInt(cursor);
  throw wrongCursor();
}

/** Reads a cursor that is the id of a row. Throws `OptionError`. */
export function idCursor(cursor: string | undefined): string | null {
  if (cursor === undefined) return null;
  if (/^[0-9a-f-]{36}$/.test(cursor)) return cursor;
  throw wrongCursor();
}

/** Reads a cursor that `accountCursor` wrote. Throws `OptionError`. */
export function readAccountCursor(cursor: string | undefined): AccountPlace | undefined {
  if (cursor === undefined) return undefined;
  const [, accountId, name] = /^(\d{1,15})\/([\w.:-]{1,100})$/.exec(cursor) ?? [];
  if (accountId === undefined) throw wrongCursor();
  return { accountId: Number(accountId), name: name! };
}

export function accountCursor({ accountId, name }: AccountPlace): string {
  return `${accountId}/${name}`;
}

export function wrongCursor(): OptionError {
  return new OptionError("cursor", "expected `next_cursor` of the previous page");
}
