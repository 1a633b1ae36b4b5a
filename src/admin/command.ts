import type { ParseArgsConfig } from "node:util";
import { errors } from "../../contracts/kernel/errors.ts";
import type { Administrator } from "../administration/administration.ts";
import { commandLine } from "../audit/audit.ts";
import type { Clock } from "../base/clock.ts";
import { readStatedUsd } from "../base/money.ts";
import type { Account, AccountStore } from "../keys/account.ts";
import { isStoreAway, messageOf, type OptionError } from "../shared/fault.ts";
import { momentOf } from "../shared/time_span.ts";

/** What a command prints: one JSON value with `--json`, else lines for people. */
export interface CommandResult {
  exitCode: 0 | 1 | 2;
  json: unknown;
  lines: readonly string[];
}

export class UsageError extends Error {}

/**
 * Why a command failed. Of a store's failure callers of the API learn only that there is one; the
 * operator reads what it is.
 */
export function commandFailure(thrown: unknown): string {
  const message = messageOf(thrown);
  const isUnexplained = isStoreAway(thrown) && message === errors.store_unavailable.message;
  return isUnexplained && thrown.note ? `The store is unavailable (${thrown.note}).` : message;
}

/** What is wrong with an option, in the words of the command line. */
export function usageOf({ code, field, problem }: OptionError): UsageError {
  const option = `--${field.split("[", 1)[0]!.replaceAll("_", "-")}`;
  // "--rpm is missing: …"
  const colon = code === "missing_required_field" ? "" : ":";
  return new UsageError(`${option}${colon} ${problem}`);
}

/** The operator's command line as who changes something. */
export function commandLineAt(clock: Pick<Clock, "now">): Administrator {
  return { actor: commandLine, at: clock.now() };
}

/** Options by their names; `about` is a sentence where `option_texts.ts` has none that fits. */
export type Options = Readonly<
  Record<string, NonNullable<ParseArgsConfig["options"]>[string] & { about?: string }>
>;
export type Values = Readonly<
  Record<string, string | boolean | (string | boolean)[] | undefined>
>;

/** How a command is written: what parsing, `--help` and the test of their completeness read. */
export interface CommandForm {
  usage: string;
  /** What it does, in one sentence. */
  summary?: string;
  /** None when absent, as are `positionals`. */
  options?: Options;
  /** Names of the arguments without a dash, in order. */
  positionals?: readonly string[];
  /** It takes a value from standard input: a secret, or what is too long for an argument. */
  readsInput?: true;
  /** A use of it, from its own words on. */
  example?: string;
  /** What writes the example's standard input. */
  exampleInput?: string;
}

/** One command of the operator; `Parts` is what it works on. */
export interface Command<Parts> extends CommandForm {
  /** `input`: what standard input held, for commands that read it. */
  run: (
    deps: Parts,
    values: Values,
    args: readonly string[],
    input: string,
  ) => Promise<CommandResult>;
}

/** A text as an option. */
export const textOption = { type: "string" } as const;
export const accountOption = { account: textOption } as const;

export function done(json: unknown, lines: readonly string[]): CommandResult {
  return { exitCode: 0, json, lines };
}

/** There is nothing to do it to. */
export function failed(json: unknown, line: string): CommandResult {
  return { exitCode: 1, json, lines: [line] };
}

/** Rows that a command lists; `none` tells people that there are none. */
export function listed<Row>(
  rows: readonly Row[],
  json: (row: Row) => unknown,
  line: (row: Row) => string,
  none: string,
): CommandResult {
  return done(rows.map(json), rows.length === 0 ? [none] : rows.map(line));
}

export function optional(values: Values, name: string): string | undefined {
  const value = values[name];
  return typeof value === "string" ? value : undefined;
}

export function required(values: Values, name: string): string {
  const value = optional(values, name)?.trim();
  if (!value) throw new UsageError(`--${name} is missing`);
  if (value.length > 200) throw new UsageError(`--${name}: at most 200 characters`);
  return value;
}

/** Null when the option is not given. */
export function usdOption(values: Values, name: string): bigint | null {
  const value = optional(values, name);
  return value === undefined ? null : readUsd(name, value);
}

export function readUsd(name: string, value: string): bigint {
  return readStatedUsd(value, (expected) => new UsageError(`--${name} ${value}: ${expected}`));
}

/** A moment such as `2027-01-31T00:00:00Z`; undefined when the option is not given. */
export function timeOption(values: Values, name: string): Date | undefined {
  const value = optional(values, name);
  if (value === undefined) return undefined;
  // Without its zone a time would mean another moment on another machine.
  const [, day] = /^(\d{4}-\d\d-\d\d)T.*(?:Z|[+-]\d\d:\d\d)$/i.exec(value) ?? [];
  const at = new Date(value);
  if (day === undefined || Number.isNaN(at.getTime()) || !isDay(day)) {
    throw new UsageError(`--${name} ${value}: expected a time such as 2027-01-31T00:00:00Z`);
  }
  return momentOf(value);
}

/** `Date` takes the 31st of November for the 1st of December. */
function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

/** The account meant: by id or name, the first one when nothing is said. */
export async function findAccount(
  accounts: Pick<AccountStore, "first" | "find">,
  idOrName: string | undefined,
): Promise<Account> {
  const found = idOrName === undefined ? await accounts.first() : await accounts.find(idOrName);
  if (found) return found;
  throw new Error(
    idOrName === undefined
      ? "No accounts yet: start the service once."
      : `No account has the id or name '${idOrName}'.`,
  );
}

/** The account of `--account`, the first one without it. */
export function chosenAccount(
  accounts: Pick<AccountStore, "first" | "find">,
  values: Values,
): Promise<Account> {
  return findAccount(accounts, optional(values, "account"));
}

/** The id of the account that a list is limited to, if it is. */
export async function listedAccount(
  accounts: Pick<AccountStore, "first" | "find">,
  values: Values,
): Promise<number | undefined> {
  if (optional(values, "account") === undefined) return undefined;
  return (await chosenAccount(accounts, values)).id;
}

/** Longest text that a command takes from standard input. */
const maxInputBytes = 64 * 1024;

/**
 * What standard input holds, for a command that takes a secret: arguments would be seen by
 * everyone on the machine. Throws an Error when it is longer than any secret.
 */
export async function readInput(source: ReadableStream<Uint8Array>): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let length = 0;
  for await (const chunk of source) {
    length += chunk.length;
    if (length > maxInputBytes) {
      throw new Error(`standard input: expected at most ${maxInputBytes} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}
