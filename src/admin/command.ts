import type { ParseArgsConfig } from "node:util";
import { errors } from "../../contracts/kernel/errors.ts";
import type { Administrator } from "../administration/administration.ts";
import { commandLine } from "../audit/audit.ts";
import { allRows } from "../base/all_pages.ts";
import type { Clock } from "../base/clock.ts";
import { readStatedUsd } from "../base/money.ts";
import type { Account, AccountStore } from "../keys/account.ts";
import { Fault, isStoreAway, messageOf, type OptionError, reasonOf } from "../shared/fault.ts";
import { momentOf } from "../shared/time_span.ts";

/** What a command prints: one JSON value with `--json`, else lines for people. */
export interface CommandResult {
  exitCode: 0 | 1 | 2;
  json: unknown;
  lines: readonly string[];
}

export class UsageError extends Error {}

/**
 * Returns why a command failed. For a failure of the store or of the service the operator also reads
 * its cause, which callers of the API don't.
 */
export function commandFailure(thrown: unknown): string {
  if (thrown instanceof Fault && thrown.code === "internal_error") return reasonOf(thrown);
  const message = messageOf(thrown);
  const isUnexplained = isStoreAway(thrown) && message === errors.store_unavailable.message;
  return isUnexplained && thrown.note ? `The store is unavailable (${thrown.note}).` : message;
}

/** Turns an option's error into one that names the option as typed, such as `--cap-day-usd`. */
export function usageOf({ field, problem }: OptionError): UsageError {
  const name = field.split("[", 1)[0]!.replaceAll("_", "-");
  // The list of the API is a repeated option here.
  const option = `--${name === "scopes" ? "scope" : name}`;
  return new UsageError(`${option}: ${problem}`);
}

/** Returns the operator's command line as the author of a change, for the audit log. */
export function commandLineAt(clock: Pick<Clock, "now">): Administrator {
  return { actor: commandLine, at: clock.now() };
}

/** Options by name; `about` is their help text where the one in `option_texts.ts` doesn't fit. */
export type Options = Readonly<
  Record<string, NonNullable<ParseArgsConfig["options"]>[string] & { about?: string }>
>;
export type Values = Readonly<
  Record<string, string | boolean | (string | boolean)[] | undefined>
>;

/** A command's syntax and help, for parsing, `--help` and the test that the help is complete. */
export interface CommandForm {
  usage: string;
  /** What it does, in one sentence. */
  summary?: string;
  /** Absent if there are none, like `positionals`. */
  options?: Options;
  /** Names of the arguments without a dash, in order. */
  positionals?: readonly string[];
  /** Set if it reads a value from standard input; `example` is the shell command piped into it. */
  input?: { example: string; isSecret: boolean };
  /** An example, beginning with the command's own name. */
  example?: string;
}

/** One of the operator's commands; `Parts` are its dependencies. */
export interface Command<Parts> extends CommandForm {
  /** `input` is the text from standard input, for commands that read it. */
  run: (
    deps: Parts,
    values: Values,
    args: readonly string[],
    input: string,
  ) => Promise<CommandResult>;
}

/** An option that takes a text. */
export const textOption = { type: "string" } as const;
export const accountOption = { account: textOption } as const;
/** Limits a command to one account. */
export const listedAccountOption = {
  account: { ...textOption, about: "Id or name of an account; all accounts if absent." },
} as const;

export function done(json: unknown, lines: readonly string[]): CommandResult {
  return { exitCode: 0, json, lines };
}

/** The result of a command whose object doesn't exist. */
export function notFound(json: unknown, line: string): CommandResult {
  return { exitCode: 1, json, lines: [line] };
}

/** The result of a command that lists rows; `none` is the line for people if there are none. */
export function listed<Row>(
  rows: readonly Row[],
  json: (row: Row) => unknown,
  line: (row: Row) => string,
  none: string,
): CommandResult {
  return done(rows.map(json), rows.length === 0 ? [none] : rows.map(line));
}

/** The same of a list that is read in pages, so that nothing else waits for the whole of it. */
export async function listedInPages<Row>(
  read: Parameters<typeof allRows<Row>>[0],
  ...shown: [json: (row: Row) => unknown, line: (row: Row) => string, none: string]
): Promise<CommandResult> {
  return listed(await allRows(read), ...shown);
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

/**
 * Reads a time such as `2027-01-31T12:00:00Z`, or a day of UTC, which as an end is included whole;
 * undefined when the option is not given.
 */
export function timeOption(values: Values, name: string, edge: "start" | "end"): Date | undefined {
  const value = optional(values, name);
  if (value === undefined) return undefined;
  // Without a time zone a time would mean a different one on each machine.
  const [, day, time] = /^(\d{4}-\d\d-\d\d)(T.*(?:Z|[+-]\d\d:\d\d))?$/i.exec(value) ?? [];
  const text = time === undefined ? `${day}T${edge === "start" ? "00" : "24"}:00:00Z` : value;
  if (day === undefined || Number.isNaN(Date.parse(text)) || !isDay(day)) {
    throw new UsageError(
      `--${name} ${value}: expected a day such as 2027-01-31 or a time such as 2027-01-31T12:00:00Z`,
    );
  }
  return momentOf(text);
}

/** Whether the day exists: `Date` reads the 31st of November as the 1st of December. */
function isDay(text: string): boolean {
  const at = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(at.getTime()) && at.toISOString().startsWith(text);
}

/** Finds an account by id or name, or the first one without either. Throws if there is none. */
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

/** Returns the account that `--account` names, or the first account without the option. */
export function chosenAccount(
  accounts: Pick<AccountStore, "first" | "find">,
  values: Values,
): Promise<Account> {
  return findAccount(accounts, optional(values, "account"));
}

/** Returns the id of the account that `--account` limits a list to; undefined without it. */
export async function listedAccount(
  accounts: Pick<AccountStore, "first" | "find">,
  values: Values,
): Promise<number | undefined> {
  if (optional(values, "account") === undefined) return undefined;
  return (await chosenAccount(accounts, values)).id;
}

/** The longest input that a command reads from standard input. */
const maxInputBytes = 64 * 1024;

/**
 * Reads standard input to its end. Commands take secrets from there because everyone on the machine
 * can see a program's arguments. Throws an Error beyond `maxInputBytes`.
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
