import { parseArgs } from "node:util";
import { didYouMean, nearestNames } from "../base/nearest_names.ts";
import { messageOf } from "../shared/fault.ts";
import { type CommandForm, type Options, UsageError, type Values } from "./command.ts";

export type CommandTable<Form extends CommandForm = CommandForm> = Readonly<Record<string, Form>>;

/** Finds the command that the first words name; names have two words or one. */
export function findCommand<Form extends CommandForm>(
  table: CommandTable<Form>,
  args: readonly string[],
): { name: string; command: Form; rest: readonly string[] } | undefined {
  for (const length of [2, 1]) {
    const name = args.slice(0, length).join(" ");
    const command = Object.hasOwn(table, name) ? table[name] : undefined;
    if (command) return { name, command, rest: args.slice(length) };
  }
  return undefined;
}

/**
 * Parses the words after a command's name. Throws a `UsageError` that names the wrong word and, for
 * a misspelt option, the likely one.
 */
export function parseCommand(
  name: string,
  { options = {}, positionals = [] }: CommandForm,
  rest: readonly string[],
): { values: Values; positionals: string[] } {
  let parsed;
  try {
    parsed = parseArgs({
      args: negativeNumbers(moreModels(rest), options),
      options,
      allowPositionals: true,
      strict: true,
      tokens: true,
    });
  } catch (thrown) {
    throw new UsageError(wrongOption(thrown, name, options));
  }
  // `parseArgs` would silently use the last of two values, for instance of two caps.
  const named = parsed.tokens.flatMap((token) => token.kind === "option" ? [token.name] : []);
  const twice = named.find((one, at) => options[one]?.multiple !== true && named.indexOf(one) < at);
  if (twice !== undefined) throw new UsageError(`--${twice} is set twice`);
  const missing = positionals[parsed.positionals.length];
  if (missing !== undefined) throw new UsageError(`${missing} is missing`);
  const extra = parsed.positionals[positionals.length];
  if (extra !== undefined) throw new UsageError(`unexpected '${extra}'`);
  return { values: parsed.values as Values, positionals: parsed.positionals };
}

/**
 * `Unknown command 'key craete'. Did you mean 'key create'?` For a group's name alone, the words
 * that may follow it.
 */
export function unknownCommand(table: CommandTable, args: readonly string[]): string {
  const named = args.slice(0, 2).filter((word) => !word.startsWith("-"));
  const asked = named.join(" ") || args.slice(0, 1).join(" ");
  const names = Object.keys(table).map((name) => name.split(" "));
  const seconds = names.flatMap(([group, second]) => group === asked && second ? [second] : []);
  if (seconds.length > 0) {
    return `Unknown command '${asked}'. Commands of '${asked}': ${seconds.join(", ")}.`;
  }
  const groups = names.map(([group]) => group!);
  const [near] = [
    ...nearestNames(asked, Object.keys(table), 1),
    ...inGroup(named, table),
    ...nearestNames(asked, groups, 1),
  ];
  return `Unknown command '${asked}'.${near === undefined ? "" : ` Did you mean '${near}'?`}`;
}

/** Corrects the group's name and the second word separately, since both may be misspelt. */
function inGroup([first = "", second = ""]: readonly string[], table: CommandTable): string[] {
  const commands = Object.keys(table).map((name) => name.split(" "));
  const groups = nearestNames(first, commands.map(([group]) => group!), 1);
  return groups.flatMap((group) => {
    const seconds = commands.flatMap(([one, word]) => one === group && word ? [word] : []);
    return nearestNames(second, seconds, 1).map((word) => `${group} ${word}`);
  });
}

/** Rewords Node's message about a wrong option, which speaks of its own library. */
function wrongOption(thrown: unknown, command: string, options: Options): string {
  const message = messageOf(thrown).split("\n")[0]!;
  const code = (thrown as { code?: unknown }).code;
  const written = /'(?:-\w, )?(--?[^'\s=<]+)/.exec(message)?.[1] ?? "";
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION") {
    const hint = didYouMean(written.replace(/^-+/, ""), Object.keys(options), "--");
    return `Unknown option '${written}' of '${command}'.${hint}`;
  }
  if (code !== "ERR_PARSE_ARGS_INVALID_OPTION_VALUE") return message;
  return message.includes("does not take")
    ? `${written} takes no value`
    : `${written} needs a value`;
}

/** Joins `--usd -5` to `--usd=-5`: `parseArgs` would take `-5` for an option. */
function negativeNumbers(args: readonly string[], options: Options): string[] {
  const result: string[] = [];
  for (const word of args) {
    const option = result.at(-1)?.replace(/^--/, "") ?? "";
    const takesValue = Object.hasOwn(options, option) && options[option]!.type === "string";
    const isValue = takesValue && result.at(-1) === `--${option}` && /^-\d/.test(word);
    if (isValue) result.push(`${result.pop()}=${word}`);
    else result.push(word);
  }
  return result;
}

/** Expands `--models A B` to `--models A --models B`, and `--map` likewise. */
function moreModels(args: readonly string[]): string[] {
  const result: string[] = [];
  let list: string | undefined;
  for (const word of args) {
    if (word.startsWith("-")) list = word === "--models" || word === "--map" ? word : undefined;
    else if (list !== undefined && result.at(-1) !== list) result.push(list);
    result.push(word);
  }
  return result;
}
