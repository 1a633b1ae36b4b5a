import { parseArgs } from "node:util";
import type { Account, AccountStore, Tier } from "../keys/account.ts";
import { createAccount as makeAccount } from "../administration/account_administration.ts";
import { OptionError } from "../administration/administration.ts";
import { apiKeyJson, createApiKey, revokeApiKey } from "../administration/key_administration.ts";
import type {
  ApiKey,
  ApiKeyStore,
  NewApiKey,
  OnDisconnect,
  TranslationMode,
} from "../keys/api_key.ts";
import { cacheTtlForm, readCacheTtl } from "../response_cache/cache_ttl.ts";
import { Fault, messageOf } from "../shared/fault.ts";
import {
  type Command,
  commandLineAt,
  type CommandResult,
  done,
  findAccount,
  optional,
  required,
  timeOption,
  UsageError,
  usageOf,
  type Values,
} from "./command.ts";
import { creditCommands, type CreditDeps } from "./credit_commands.ts";
import { exportUsage } from "./export_command.ts";
import { priceCommands } from "./price_commands.ts";
import type { PriceCommandDeps } from "./price_commands_deps.ts";
import { journalCommands, type JournalDeps } from "./journal_command.ts";
import { inviteCommands, type InviteDeps } from "./invite_command.ts";
import { tierCommands } from "./tier_command.ts";
import { type ModelCommandDeps, modelCommands } from "./model_commands.ts";
import { vendorKeyCommands, type VendorKeyDeps } from "./vendor_key_commands.ts";
import type { Clock } from "../base/clock.ts";
import { parseUsd } from "../base/money.ts";
import type { VacuumReport } from "../erasure/vacuum.ts";

/** What the operator's commands work on; a running server gives its own parts. */
export interface AdminDeps
  extends
    VendorKeyDeps,
    CreditDeps,
    PriceCommandDeps,
    ScrubDeps,
    JournalDeps,
    InviteDeps,
    ModelCommandDeps {
  accounts: AccountStore;
  apiKeys: ApiKeyStore;
  /** Scopes that a key may have. */
  scopes: readonly string[];
  clock: Clock;
  /** Told which keys changed, so that a cache forgets them at once. */
  keysChanged: (ids: readonly string[]) => void;
}

const text = { type: "string" } as const;
const account = { account: text };

/** The commands, by their words. */
const commands: Readonly<Record<string, Command<AdminDeps>>> = {
  "key create": {
    usage:
      "key create --name N [--account A] [--scope S]… [--expires T] [--models M…] [--cap-day-usd X] [--cap-month-usd X] [--on-disconnect cancel|drain] [--translation-mode strict|lenient] [--prompt-cache on|off] [--cache-ttl S]",
    options: {
      ...account,
      name: text,
      scope: { type: "string", multiple: true },
      expires: text,
      models: { type: "string", multiple: true },
      "cap-day-usd": text,
      "cap-month-usd": text,
      "on-disconnect": text,
      "translation-mode": text,
      "prompt-cache": text,
      "cache-ttl": text,
    },
    run: createKey,
  },
  "key list": { usage: "key list [--account A]", options: account, run: listKeys },
  "key revoke": { usage: "key revoke ID", positionals: ["ID"], run: revokeKey },
  "account create": {
    usage: "account create --name N",
    options: { name: text },
    run: createAccount,
  },
  ...tierCommands,
  ...inviteCommands,
  ...creditCommands,
  ...vendorKeyCommands,
  ...modelCommands,
  ...priceCommands,
  scrub: { usage: "scrub", run: scrub },
  ...journalCommands,
  "account list": { usage: "account list", run: listAccounts },
};

/**
 * Runs one command; `argv` is what follows `admin`, `input` what standard input held for a command
 * that `readsInput`. Never throws: failures are results.
 */
export function runCommand(
  deps: AdminDeps,
  argv: readonly string[],
  input = "",
): Promise<CommandResult> {
  return runCommandOf(commands, deps, argv, input);
}

/** As `runCommand`, with some of the commands, which need fewer parts. */
export async function runCommandOf<Parts>(
  table: Readonly<Record<string, Command<Parts>>>,
  deps: Parts,
  argv: readonly string[],
  input = "",
): Promise<CommandResult> {
  try {
    const { command, values, positionals } = parse(table, argv);
    return await command.run(deps, values, positionals, input);
  } catch (refused) {
    const thrown = refused instanceof OptionError ? usageOf(refused) : refused;
    const message = messageOf(thrown);
    const exitCode = thrown instanceof UsageError ? 2 : 1;
    return { exitCode, json: { error: message }, lines: [message] };
  }
}

/** Whether the command takes a value from standard input. */
export function readsInput(argv: readonly string[]): boolean {
  return findCommand(commands, argv.filter((word) => word !== "--json"))?.command.readsInput ===
    true;
}

/** The text that says which commands there are. */
export function usage(): string {
  return [
    "usage: deno task admin COMMAND [--json]",
    ...Object.values(commands).map((command) => `  ${command.usage}`),
    `  ${exportUsage}`,
    "  health",
    "  migrate",
  ].join("\n");
}

function parse<Parts>(
  table: Readonly<Record<string, Command<Parts>>>,
  argv: readonly string[],
) {
  const args = argv.filter((word) => word !== "--json");
  const found = findCommand(table, args);
  if (!found) {
    throw new UsageError(`'${args.slice(0, 2).join(" ")}' is no command.\n${usage()}`);
  }
  const { command, rest } = found;
  let parsed;
  try {
    parsed = parseArgs({
      args: moreModels(rest),
      options: command.options ?? {},
      allowPositionals: true,
      strict: true,
    });
  } catch (thrown) {
    throw new UsageError(`${messageOf(thrown)}\nusage: ${command.usage}`);
  }
  if (parsed.positionals.length !== (command.positionals ?? []).length) {
    throw new UsageError(`usage: ${command.usage}`);
  }
  return { command, values: parsed.values as Values, positionals: parsed.positionals };
}

/** A command has two words, or one. */
function findCommand<Parts>(
  table: Readonly<Record<string, Command<Parts>>>,
  args: readonly string[],
) {
  for (const length of [2, 1]) {
    const name = args.slice(0, length).join(" ");
    const command = Object.hasOwn(table, name) ? table[name] : undefined;
    if (command) return { name, command, rest: args.slice(length) };
  }
  return undefined;
}

/** `--models A B` is `--models A --models B`. */
function moreModels(args: readonly string[]): string[] {
  const result: string[] = [];
  let inModels = false;
  for (const word of args) {
    if (word.startsWith("-")) inModels = word === "--models";
    if (inModels && !word.startsWith("-") && result.at(-1) !== "--models") result.push("--models");
    result.push(word);
  }
  return result;
}

async function createKey(deps: AdminDeps, values: Values): Promise<CommandResult> {
  const name = required(values, "name");
  const owner = await findAccount(deps.accounts, optional(values, "account"));
  const scopes = many(values, "scope");
  const unknownScope = scopes.find((scope) => !deps.scopes.includes(scope));
  if (unknownScope !== undefined) {
    throw new UsageError(`--scope ${unknownScope}: expected one of ${deps.scopes.join(", ")}`);
  }
  const { key, value } = await createApiKey(deps, commandLineAt(deps.clock), owner, {
    name,
    scopes,
    models: many(values, "models"),
    onDisconnect:
      choice(values, "on-disconnect", ["cancel", "drain"]) as OnDisconnect | undefined ??
        "cancel",
    translationMode: choice(values, "translation-mode", ["strict", "lenient"]) as
      | TranslationMode
      | undefined ?? "default",
    promptCache: choice(values, "prompt-cache", ["on", "off"]) !== "off",
    ...cacheTtl(values),
    capDayNanos: usd(values, "cap-day-usd"),
    capMonthNanos: usd(values, "cap-month-usd"),
    expiresAt: futureTime(values, "expires", deps.clock.now()),
  });
  const text = value.reveal();
  return done(
    { id: key.id, key: text, prefix: key.prefix, name, account_id: owner.id },
    [`${text}`, `Key '${name}' (${key.id}) of account '${owner.name}'. It is shown only now.`],
  );
}

async function listKeys(deps: AdminDeps, values: Values): Promise<CommandResult> {
  const wanted = optional(values, "account");
  const owner = wanted === undefined ? undefined : await findAccount(deps.accounts, wanted);
  const keys = await deps.apiKeys.list(owner?.id);
  return done(
    keys.map(apiKeyJson),
    keys.map((key) =>
      [
        key.id,
        key.prefix + "…",
        key.name,
        `account ${key.accountId}`,
        keyState(key, deps.clock.now()),
      ].join("  ")
    ),
  );
}

async function revokeKey(
  deps: AdminDeps,
  _values: Values,
  [id]: readonly string[],
): Promise<CommandResult> {
  try {
    const { wasRevokedBefore } = await revokeApiKey(deps, commandLineAt(deps.clock), id!);
    return done({ id, revoked: true }, [
      wasRevokedBefore ? `Key ${id} was revoked before.` : `Key ${id} is revoked.`,
    ]);
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== "api_key_not_found") throw thrown;
    return { exitCode: 1, json: { id, revoked: false }, lines: [thrown.message] };
  }
}

async function createAccount(deps: AdminDeps, values: Values): Promise<CommandResult> {
  const made = await makeAccount(deps, commandLineAt(deps.clock), required(values, "name"));
  return done(accountJson(made), [
    `Account '${made.name}' has the id ${made.id}, tier ${made.tier}.`,
  ]);
}

async function listAccounts(deps: AdminDeps): Promise<CommandResult> {
  const accounts = await deps.accounts.list();
  return done(
    accounts.map(accountJson),
    accounts.map((one) => `${one.id}  ${one.name}  ${one.tier}`),
  );
}

function accountJson(one: Account): { id: number; name: string; tier: Tier } {
  return { id: one.id, name: one.name, tier: one.tier };
}

function keyState(key: ApiKey, now: Date): string {
  if (key.revokedAt) return `revoked ${key.revokedAt.toISOString()}`;
  const expired = key.expiresAt !== null && key.expiresAt <= now;
  return expired ? `expired ${key.expiresAt!.toISOString()}` : "usable";
}

function many(values: Values, name: string): string[] {
  const value = values[name];
  return Array.isArray(value) ? value.map(String) : [];
}

function choice(values: Values, name: string, allowed: readonly string[]): string | undefined {
  const value = optional(values, name);
  if (value === undefined || allowed.includes(value)) return value;
  throw new UsageError(`--${name} ${value}: expected ${allowed.join(" or ")}`);
}

function cacheTtl(values: Values): Pick<NewApiKey, "cacheTtlSeconds"> {
  const value = optional(values, "cache-ttl");
  if (value === undefined) return {};
  const cacheTtlSeconds = readCacheTtl(value);
  if (cacheTtlSeconds !== undefined) return { cacheTtlSeconds };
  throw new UsageError(`--cache-ttl ${value}: expected ${cacheTtlForm}`);
}

function usd(values: Values, name: string): bigint | null {
  const value = optional(values, name);
  if (value === undefined) return null;
  try {
    return parseUsd(value, 9);
  } catch {
    throw new UsageError(`--${name} ${value}: expected an amount in US dollars such as 2.50`);
  }
}

function futureTime(values: Values, name: string, now: Date): Date | null {
  const at = timeOption(values, name);
  if (at && at <= now) {
    throw new UsageError(`--${name} ${optional(values, name)}: expected a time to come`);
  }
  return at ?? null;
}

/** What the command works on. */
interface ScrubDeps {
  /** Rewrites every file that may hold erased text. */
  scrub: () => Promise<VacuumReport>;
}

/** `scrub`: rewrites tables and write-ahead log, so that erased text is in no file. */
async function scrub(deps: ScrubDeps): Promise<CommandResult> {
  const { rewritten, notRewritten } = await deps.scrub();
  return done({ rewritten, not_rewritten: notRewritten }, [
    `Rewritten: ${rewritten.join(", ")}.`,
    notRewritten.length === 0
      ? "Erased text is in no file of this installation."
      : `Not rewritten, erased text may be there: ${notRewritten.join("; ")}.`,
  ]);
}
