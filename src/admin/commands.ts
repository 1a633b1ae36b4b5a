import { createAccount as makeAccount } from "../administration/account_administration.ts";
import {
  apiKeyJson,
  createApiKey,
  revokeApiKey,
  scopeNamed,
} from "../administration/key_administration.ts";
import { type Account, type AccountStore, allAccounts, type Tier } from "../keys/account.ts";
import type { ApiKey, NewApiKey } from "../keys/api_key.ts";
import { cacheTtlForm, readCacheTtl } from "../response_cache/cache_ttl.ts";
import { Fault, OptionError } from "../shared/fault.ts";
import {
  accountOption,
  chosenAccount,
  type Command,
  commandFailure,
  commandLineAt,
  type CommandResult,
  done,
  listed,
  listedAccount,
  listedAccountOption,
  listedInPages,
  notFound,
  optional,
  required,
  textOption,
  timeOption,
  UsageError,
  usageOf,
  usdOption,
  type Values,
} from "./command.ts";
import { agentOptions, agentUsage, linesFor, readAgentOptions } from "./agent_options.ts";
import { type CommandTable, findCommand, parseCommand, unknownCommand } from "./command_line.ts";
import { creditCommands, type CreditDeps } from "./credit_commands.ts";
import { exportForm } from "./export_command.ts";
import { helpLines, helpTopic } from "./help.ts";
import { priceCommands } from "./price_commands.ts";
import type { PriceCommandDeps } from "./price_commands_deps.ts";
import { journalCommands, type JournalDeps } from "./journal_command.ts";
import { inviteCommands, type InviteDeps } from "./invite_command.ts";
import { signInCommands, type SignInDeps } from "./sign_in_command.ts";
import { tierCommands, type TierDeps } from "./tier_command.ts";
import { type BudgetCommandDeps, budgetCommands } from "./budget_commands.ts";
import { type ModelCommandDeps, modelCommands } from "./model_commands.ts";
import { type WebhookCommandDeps, webhookCommands } from "./webhook_commands.ts";
import { vendorKeyCommands, type VendorKeyDeps } from "./vendor_key_commands.ts";
import type { Clock } from "../base/clock.ts";
import type { VacuumReport } from "../erasure/vacuum.ts";

/** Dependencies of the operator's commands; in a running server they are the server's own. */
export interface AdminDeps
  extends
    VendorKeyDeps,
    CreditDeps,
    TierDeps,
    PriceCommandDeps,
    ScrubDeps,
    JournalDeps,
    InviteDeps,
    SignInDeps,
    ModelCommandDeps,
    BudgetCommandDeps,
    WebhookCommandDeps {
  accounts: AccountStore;
  scopes: readonly string[];
  clock: Clock;
  /** Whether a model name of the unified endpoints leads to a model for the account. */
  isModel: (accountId: number, name: string) => Promise<boolean>;
}

const commands: Readonly<Record<string, Command<AdminDeps>>> = {
  "key create": {
    summary: "Creates an API key and prints its value, which is not shown again.",
    example: "key create --name ci --scope openai --scope status --cap-day-usd 5",
    usage:
      "key create --name N [--account A] [--scope S]… [--expires T] [--models M…] [--cap-day-usd X] [--cap-month-usd X] [--on-disconnect cancel|drain] [--translation-mode strict|lenient] [--prompt-cache on|off] [--cache-ttl S] [--record full|metadata] " +
      agentUsage,
    options: {
      ...accountOption,
      name: textOption,
      scope: { type: "string", multiple: true },
      expires: textOption,
      models: { type: "string", multiple: true },
      "cap-day-usd": textOption,
      "cap-month-usd": textOption,
      "on-disconnect": textOption,
      "translation-mode": textOption,
      "prompt-cache": textOption,
      "cache-ttl": textOption,
      record: textOption,
      ...agentOptions,
    },
    run: createKey,
  },
  "key list": {
    summary: "Lists API keys and whether they are usable.",
    example: "key list --account default",
    usage: "key list [--account A]",
    options: listedAccountOption,
    run: listKeys,
  },
  "key revoke": {
    summary: "Revokes an API key at once, by its id, or by its name if only one usable key has it.",
    example: "key revoke ci",
    usage: "key revoke ID|NAME",
    positionals: ["ID|NAME"],
    run: revokeKey,
  },
  "account create": {
    summary: "Creates an account in the tier free, without credit.",
    example: "account create --name team",
    usage: "account create --name N",
    options: { name: textOption },
    run: createAccount,
  },
  ...tierCommands,
  ...inviteCommands,
  ...signInCommands,
  ...creditCommands,
  ...vendorKeyCommands,
  ...modelCommands,
  ...budgetCommands,
  ...webhookCommands,
  ...priceCommands,
  scrub: {
    summary: "Rewrites tables and files so that none contains erased text.",
    example: "scrub",
    usage: "scrub",
    run: scrub,
  },
  ...journalCommands,
  "account list": {
    summary: "Lists the accounts.",
    example: "account list",
    usage: "account list",
    run: listAccounts,
  },
};

/**
 * Runs one command. `argv` are the arguments after `admin`; `input` is the text from standard
 * input, for a command that has `input`. Never throws: failures are results.
 */
export function runCommand(
  deps: AdminDeps,
  argv: readonly string[],
  input = "",
): Promise<CommandResult> {
  return runCommandOf(commands, deps, argv, input);
}

/** Like `runCommand`, for a table with some of the commands, which need fewer dependencies. */
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
    const message = commandFailure(thrown);
    const exitCode = thrown instanceof UsageError ? 2 : 1;
    return { exitCode, json: { error: message }, lines: message.split("\n") };
  }
}

/** Whether the command takes a value from standard input. */
export function readsInput(argv: readonly string[]): boolean {
  const found = findCommand(commands, argv.filter((word) => word !== "--json"));
  return found?.command.input !== undefined;
}

/** Commands that aren't in the table above: they never run inside a server. */
const localForms: CommandTable = {
  export: exportForm,
  health: {
    usage: "health",
    summary: "Checks whether the server of this data directory is ready; for probes.",
    example: "health",
  },
  migrate: {
    usage: "migrate",
    summary: "Brings the database's schema up to date, as every start does.",
    example: "migrate",
  },
  "database copy": {
    usage: "database copy",
    summary: "Copies the embedded database into an empty PostgreSQL; stop the service before.",
    example: "database copy",
  },
  help: {
    usage: "help [COMMAND]",
    summary: "Explains a command.",
    example: "help key create",
  },
};

/** Every command, for help and for tests. */
export const commandForms: CommandTable = { ...commands, ...localForms };

/**
 * Returns the answer to `help`, `--help` and `-h`, and to arguments that name no command; undefined
 * if they name one. `program` is what people type before a command.
 */
export function helpResult(argv: readonly string[], program: string): CommandResult | undefined {
  const topic = helpTopic(argv);
  const args = argv.filter((word) => word !== "--json");
  if (topic === undefined && findCommand(commandForms, args)) return undefined;
  const { isKnown, lines } = helpLines(commandForms, topic ?? args, program);
  const text = lines.join("\n");
  if (topic !== undefined && isKnown) return done({ help: text }, lines);
  const error = args.length === 0 ? "no command" : unknownCommand(commandForms, topic ?? args);
  return { exitCode: 2, json: { error }, lines };
}

/** Returns where the command that the arguments name is explained; nothing if they name none. */
export function seeHelp(argv: readonly string[], program: string): string[] {
  const found = findCommand(commandForms, argv.filter((word) => word !== "--json"));
  return found ? [`See '${program} help ${found.name}'.`] : [];
}

function parse<Deps>(table: Readonly<Record<string, Command<Deps>>>, argv: readonly string[]) {
  const args = argv.filter((word) => word !== "--json");
  const found = findCommand(table, args);
  if (!found) throw new UsageError(unknownCommand(commandForms, args));
  const { name, command, rest } = found;
  return { command, ...parseCommand(name, command, rest) };
}

/** A list with commas, as other programs take it, would be refused as one unknown name. */
function separate(values: Values, option: string, expected: string): string[] {
  const texts = many(values, option);
  const list = texts.find((word) => word.includes(","));
  if (list === undefined) return texts;
  throw new UsageError(`--${option} ${list.slice(0, 100)}: expected ${expected}`);
}

async function createKey(deps: AdminDeps, values: Values): Promise<CommandResult> {
  const name = required(values, "name");
  const owner = await chosenAccount(deps.accounts, values);
  const scopes = separate(values, "scope", "one scope; repeat --scope for others").map((scope) =>
    scopeNamed(deps, scope, (problem) => new UsageError(`--scope ${scope}: ${problem}`))
  );
  const caps = {
    capDayNanos: usdOption(values, "cap-day-usd"),
    capMonthNanos: usdOption(values, "cap-month-usd"),
  };
  const defaults = await readAgentOptions(values, caps, (model) => deps.isModel(owner.id, model));
  const { key, value } = await createApiKey(deps, commandLineAt(deps.clock), owner, {
    name,
    scopes,
    models: separate(values, "models", "names separated by spaces"),
    onDisconnect: choice(values, "on-disconnect", ["cancel", "drain"]) ?? "cancel",
    translationMode: choice(values, "translation-mode", ["strict", "lenient"]) ?? "default",
    promptCache: choice(values, "prompt-cache", ["on", "off"]) !== "off",
    ...cacheTtl(values),
    ...(choice(values, "record", ["full", "metadata"]) === "metadata"
      ? { recording: "metadata" as const }
      : {}),
    ...caps,
    defaults,
    expiresAt: futureTime(values, "expires", deps.clock.now()),
  });
  const text = value.reveal();
  return done({ id: key.id, key: text, prefix: key.prefix, name, account_id: owner.id }, [
    text,
    `Key '${name}' (${key.id}) of account '${owner.name}'. It is shown only once.`,
    ...linesFor(defaults, { baseUrl: deps.dashboardBase, key: text }),
  ]);
}

async function listKeys(deps: AdminDeps, values: Values): Promise<CommandResult> {
  const account = await listedAccount(deps.accounts, values) ?? null;
  const now = deps.clock.now();
  const line = (key: ApiKey) =>
    [key.id, `${key.prefix}…`, key.name, `account ${key.accountId}`, keyState(key, now)].join("  ");
  const read = (last: ApiKey | undefined, limit: number) =>
    deps.apiKeys.page(account, { after: last?.id ?? null, limit });
  return await listedInPages(read, apiKeyJson, line, "No API keys.");
}

async function revokeKey(
  deps: AdminDeps,
  _values: Values,
  [idOrName]: readonly string[],
): Promise<CommandResult> {
  const id = await keyIdOf(deps, idOrName!);
  try {
    const { wasRevokedBefore } = await revokeApiKey(deps, commandLineAt(deps.clock), id);
    return done({ id, revoked: true }, [
      wasRevokedBefore ? `Key ${id} was already revoked.` : `Key ${id} is revoked.`,
    ]);
  } catch (thrown) {
    if (!(thrown instanceof Fault) || thrown.code !== "api_key_not_found") throw thrown;
    const line = `No key has the id '${id.slice(0, 200)}', and no usable key has that name.`;
    return notFound({ id, revoked: false }, line);
  }
}

/** Of keys with one name, how many a message has. */
const shownKeys = 20;

/**
 * Returns the id of the key with this id or name. Revoked keys are not found by name; throws if
 * several others have the name. A text that matches no key is returned unchanged, as an unknown id.
 */
async function keyIdOf({ apiKeys }: AdminDeps, idOrName: string): Promise<string> {
  if (await apiKeys.findById(idOrName)) return idOrName;
  const named = await apiKeys.named(idOrName, shownKeys + 1);
  if (named.length > 1) {
    const shown = named.slice(0, shownKeys).map(({ id, prefix }) => `${id} (${prefix}…)`);
    const count = named.length > shownKeys ? `More than ${shownKeys}` : named.length;
    throw new Error(`${count} keys have the name '${idOrName}': use an id, ${shown.join(", ")}.`);
  }
  return named[0]?.id ?? idOrName;
}

async function createAccount(deps: AdminDeps, values: Values): Promise<CommandResult> {
  const made = await makeAccount(deps, commandLineAt(deps.clock), required(values, "name"));
  return done(accountJson(made), [
    `Account '${made.name}' has the id ${made.id}, tier ${made.tier}.`,
  ]);
}

async function listAccounts(deps: AdminDeps): Promise<CommandResult> {
  const line = (one: Account) => `${one.id}  ${one.name}  ${one.tier}`;
  return listed(await allAccounts(deps.accounts), accountJson, line, "No accounts.");
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

function choice<Value extends string>(
  values: Values,
  name: string,
  allowed: readonly Value[],
): Value | undefined {
  const value = optional(values, name);
  const found = allowed.find((one) => one === value);
  if (value === undefined || found !== undefined) return found;
  throw new UsageError(`--${name} ${value}: expected ${allowed.join(" or ")}`);
}

function cacheTtl(values: Values): Pick<NewApiKey, "cacheTtlSeconds"> {
  const value = optional(values, "cache-ttl");
  if (value === undefined) return {};
  const cacheTtlSeconds = readCacheTtl(value);
  if (cacheTtlSeconds !== undefined) return { cacheTtlSeconds };
  throw new UsageError(`--cache-ttl ${value}: expected ${cacheTtlForm}`);
}

function futureTime(values: Values, name: string, now: Date): Date | null {
  const at = timeOption(values, name, "end");
  if (at && at <= now) {
    throw new UsageError(`--${name} ${optional(values, name)}: expected a time in the future`);
  }
  return at ?? null;
}

interface ScrubDeps {
  /** Rewrites all tables and files that may still hold erased text. */
  scrub: () => Promise<VacuumReport>;
}

/** `scrub`: rewrites tables and the write-ahead log, so that no file holds erased text. */
async function scrub(deps: ScrubDeps): Promise<CommandResult> {
  const { rewritten, notRewritten } = await deps.scrub();
  return done({ rewritten, not_rewritten: notRewritten }, [
    `Rewritten: ${rewritten.join(", ")}.`,
    notRewritten.length === 0
      ? "Erased text is in no file of this installation."
      : `Not rewritten, so may still contain erased text: ${notRewritten.join("; ")}.`,
  ]);
}
