import { type Actor, type AuditNote, keyAsActor } from "../audit/audit.ts";
import type { Account, AccountStore } from "../keys/account.ts";
import type { ApiKey } from "../keys/api_key.ts";
import { Fault } from "../shared/fault.ts";

/** Who changes something, and when; command line and API differ in this alone. */
export interface Administrator {
  actor: Actor;
  at: Date;
}

/** A caller of the API who administers the service. */
export function administratorOf(key: Pick<ApiKey, "name" | "prefix">, at: Date): Administrator {
  return { actor: keyAsActor(key), at };
}

/** The audit log's entry of a change; `detail` never holds a secret. */
export function noteBy(
  { actor, at }: Administrator,
  accountId: number,
  action: string,
  subject: string,
  detail = "",
): AuditNote {
  return { accountId, actor, at, action, subject, detail };
}

/** The account of an id, the first one without. Throws `Fault("account_not_found")`. */
export async function accountOf(
  accounts: Pick<AccountStore, "first" | "find">,
  id: number | undefined,
): Promise<Account> {
  const found = id === undefined ? await accounts.first() : await accounts.find(String(id));
  if (found) return found;
  throw new Fault("account_not_found", {
    param: "account_id",
    message: `account_id: no account has the id ${id}.`,
  });
}
