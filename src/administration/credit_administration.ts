import type { Audited } from "../audit/audit.ts";
import { nanosToUsd, parseStatedUsd } from "../base/money.ts";
import { BalanceRangeError, type Credit, type Ledger } from "../credit/ledger.ts";
import type { Account } from "../keys/account.ts";
import { OptionError } from "../shared/fault.ts";
import { type Administrator, noteBy } from "./administration.ts";

/** Reads the amount of a grant or deduction, such as `2.50`, in nano-dollars. Throws `OptionError`. */
export function grantAmount(text: string): bigint {
  let nanos = 0n;
  try {
    nanos = parseStatedUsd(text);
  } catch {
    // Reported below, like an amount of 0.
  }
  if (nanos > 0n) return nanos;
  throw new OptionError(
    "usd",
    "expected an amount above 0 in US dollars such as 2.50, at most 1000000000",
  );
}

/**
 * Grants credit, or deducts it as a correction of the balance, only once a day for the same
 * `operationId`. Returns the credit afterwards.
 */
export async function changeCredit(
  { ledger, recallCredit, showCredit }: {
    ledger: Pick<Audited<Ledger>, "grant" | "adjust">;
    /** Makes this process give back what it holds of an account's credit. */
    recallCredit: (accountId: number) => void;
    /** Returns the account's current credit, including this process's calls. */
    showCredit: (accountId: number) => Promise<Credit>;
  },
  by: Administrator,
  account: Account,
  change: { verb: "granted" | "deducted"; nanos: bigint; note?: string; operationId?: string },
): Promise<Credit> {
  const { verb, nanos, ...more } = change;
  const note = (action: string) =>
    noteBy(by, account.id, action, `${nanosToUsd(nanos)} USD`, more.note);
  if (verb === "granted") {
    await ledger.grant(account.id, nanos, { ...more, audit: note("credit.granted") })
      .catch(namingAmount);
  } else {
    await ledger.adjust(account.id, -nanos, { ...more, audit: note("credit.deducted") })
      .catch(namingAmount);
    // Other processes see within about a second that the balance no longer covers their leases.
    recallCredit(account.id);
  }
  return await showCredit(account.id);
}

function namingAmount(thrown: unknown): never {
  throw thrown instanceof BalanceRangeError ? new OptionError("usd", thrown.message) : thrown;
}

/** Returns an account's credit as command line and API show it. */
export function creditJson({ balanceNanos, reservedNanos }: Credit) {
  return { balance_usd: nanosToUsd(balanceNanos), reserved_usd: nanosToUsd(reservedNanos) };
}
