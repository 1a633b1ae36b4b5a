import { greatest } from "../base/lists.ts";
import type { CommandForm } from "./command.ts";
import { type CommandTable, findCommand, unknownCommand } from "./command_line.ts";
import { optionText } from "./option_texts.ts";

/** Returns the words that help is asked about; undefined if the arguments don't ask for help. */
export function helpTopic(argv: readonly string[]): readonly string[] | undefined {
  const asked = argv.filter((word) => word !== "--json");
  const rest = asked.filter((word) => word !== "--help" && word !== "-h");
  if (asked.length > rest.length) return rest;
  return asked[0] === "help" ? asked.slice(1) : undefined;
}

/**
 * Returns the help about a command (topic `key create`), a group of commands (`key`) or all of them
 * (an empty topic), as lines for people. `isKnown` is false if there is no such command. `program`
 * is what people type before a command, such as `deno task admin`.
 */
export function helpLines(
  table: CommandTable,
  topic: readonly string[],
  program: string,
): { isKnown: boolean; lines: string[] } {
  const found = findCommand(table, topic);
  if (found) return { isKnown: true, lines: commandHelp(found.command, program) };
  const [group] = topic;
  const names = byGroup(Object.keys(table)).filter((name) =>
    group === undefined || topic.length === 1 && name.startsWith(`${group} `)
  );
  if (names.length === 0) {
    const isGroup = Object.keys(table).some((name) => name.startsWith(`${group} `));
    const see = isGroup ? `See '${program} help ${group}'.` : `See '${program} help'.`;
    return { isKnown: false, lines: [unknownCommand(table, topic), see] };
  }
  return {
    isKnown: true,
    lines: [
      `usage: ${program} COMMAND [--json]`,
      "",
      ...twoColumns(names.map((name) => [name, table[name]!.summary ?? ""])),
      "",
      `'${program} COMMAND --help' explains a command. With --json a command prints one JSON value.`,
      "Exit codes: 0 done, 1 failed, 2 wrong usage.",
    ],
  };
}

/** Puts commands of one group next to each other, and keeps the table's order otherwise. */
function byGroup(names: readonly string[]): string[] {
  const groups = Map.groupBy(names, (name) => name.split(" ", 1)[0]!);
  return [...groups.values()].flat();
}

function commandHelp(command: CommandForm, program: string): string[] {
  const { usage, summary, options = {}, example, input } = command;
  const piped = input ? `${input.example} | ` : "";
  return [
    ...(summary === undefined ? [] : [summary, ""]),
    ...wrapped(`usage: ${program} ${usage}`),
    "",
    ...twoColumns([
      ...Object.entries(options).map(([option, spec]) =>
        [`--${option}${valueOf(option, command)}`, optionText(spec, option) ?? ""] as const
      ),
      ["--json", "Print one JSON value."],
    ]),
    ...(example === undefined ? [] : ["", "Example:", `  ${piped}${program} ${example}`]),
    ...(!input?.isSecret ? [] : [
      "",
      "The value comes from standard input: arguments are visible to everyone on the machine.",
    ]),
  ];
}

/** Breaks a usage line before options, never between an option and its value. */
function wrapped(usage: string): string[] {
  const [first = "", ...options] = usage.split(/ (?=\[|--)/);
  const lines = [first];
  for (const option of options) {
    const line = `${lines.at(-1)} ${option}`;
    if (line.length > 100) lines.push(`    ${option}`);
    else lines[lines.length - 1] = line;
  }
  return lines;
}

/** Returns the placeholder that follows the option in the usage line, with a space before it. */
function valueOf(option: string, { usage, options }: CommandForm): string {
  if (options?.[option]?.type !== "string") return "";
  const at = usage.indexOf(`--${option} `);
  const value = at < 0 ? "VALUE" : usage.slice(at + option.length + 3).split(/[\s\]]/, 1)[0]!;
  return ` ${value}`;
}

function twoColumns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.min(30, greatest(rows.map(([left]) => left.length)));
  return rows.flatMap(([left, right]) =>
    left.length > width
      ? [`  ${left}`, `  ${" ".repeat(width)}  ${right}`]
      : [`  ${left.padEnd(width)}  ${right}`.trimEnd()]
  );
}
