import { changeCredit, creditJson, grantAmount } from "../administration/credit_administration.ts";
import { defined } from "../base/defined.ts";
import type { Clock } from "../base/clock.ts";
import { nanosToUsd } from "../base/money.ts";
import { OptionError } from "../shared/fault.ts";
import type { AccountStore } from "../keys/account.ts";
import type { Credit, Ledger } from "../credit/ledger.ts";
import {
  accountOption,
  chosenAccount,
  type Command,
  commandLineAt,
  type CommandResult,
  done,
  optional,
  required,
  textOption,
  UsageError,
  type Values,
} from "./command.ts";

export interface CreditDeps {
  accounts: AccountStore;
  ledger: Ledger;
  clock: Clock;
  /** Makes this process give back what it holds of an account's credit. */
  recallCredit: (accountId: number) => void;
  /** Returns the account's present credit, with this process's calls included. */
  showCredit: (accountId: number) => Promise<Credit>;
}

const changeOptions = { usd: textOption, account: textOption, note: textOption };

/** The commands `credits …`; amounts are decimal strings in USD with nine decimals. */
export const creditCommands: Readonly<Record<string, Command<CreditDeps>>> = {
  "credits grant": {
    summary: "Adds credit to an account.",
    example: "credits grant --usd 25 --account team",
    usage: "credits grant --usd X [--account A] [--note TEXT]",
    options: changeOptions,
    run: (deps, values) => change(deps, values, "granted"),
  },
  "credits deduct": {
    summary: "Takes credit back from an account, such as a grant made by mistake.",
    example: "credits deduct --usd 25 --account team",
    usage: "credits deduct --usd X [--account A] [--note TEXT]",
    options: changeOptions,
    run: (deps, values) => change(deps, values, "deducted"),
  },
  "credits show": {
    summary: "Shows an account's balance, and how much of it calls in flight reserve.",
    example: "credits show",
    usage: "credits show [--account A]",
    options: accountOption,
    run: show,
  },
};

async function change(
  deps: CreditDeps,
  values: Values,
  verb: "granted" | "deducted",
): Promise<CommandResult> {
  const text = required(values, "usd");
  const nanos = amount(text);
  const note = optional(values, "note");
  if (note !== undefined && note.length > 500) {
    throw new UsageError("--note: at most 500 characters");
  }
  const account = await chosenAccount(deps.accounts, values);
  const options = { verb, nanos, ...defined({ note }) };
  const credit = await changeCredit(deps, commandLineAt(deps.clock), account, options);
  const amountUsd = nanosToUsd(nanos);
  const what = verb === "granted" ? "granted to" : "deducted from";
  return done({ account_id: account.id, [`${verb}_usd`]: amountUsd, ...creditJson(credit) }, [
    `${amountUsd} USD ${what} account '${account.name}': the balance is ${
      nanosToUsd(credit.balanceNanos)
    } USD.`,
  ]);
}

function amount(text: string): bigint {
  try {
    return grantAmount(text);
  } catch (thrown) {
    throw thrown instanceof OptionError
      ? new UsageError(`--usd ${text}: ${thrown.problem}`)
      : thrown;
  }
}

async function show(deps: CreditDeps, values: Values): Promise<CommandResult> {
  const account = await chosenAccount(deps.accounts, values);
  const credit = await deps.showCredit(account.id);
  return done(creditJson(credit), [
    `Account '${account.name}': balance ${nanosToUsd(credit.balanceNanos)} USD, of which ${
      nanosToUsd(credit.reservedNanos)
    } USD are reserved by calls under way.`,
  ]);
}
