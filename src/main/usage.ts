import { readProgram } from "./config.ts";

/** Help on the program's commands. */
export const usageLines: readonly string[] = [
  "  start           Starts the service. Settings are environment variables, listed in docs/configuration.md.",
  "  demo [--empty]  Starts the service with simulated vendors and sixty days of sample calls; --empty: no calls.",
  "  admin COMMAND   Runs an operator's command; see 'admin help'.",
  "  --version       Prints the version.",
];

/** Returns the help on `word` if the process's arguments ask for that and nothing else. */
export function argumentsHelp(word: "start" | "demo"): string | undefined {
  const [asked, ...more] = argumentsAfter(word);
  if (more.length > 0 || (asked !== "--help" && asked !== "-h")) return undefined;
  const line = usageLines.find((one) => one.trimStart().startsWith(word))!;
  const [command, about] = line.trim().split(/ {2,}/);
  return `${about}\n\nusage: ${readProgram()} ${command}`;
}

/**
 * Returns why a start with the process's arguments is refused; undefined if it isn't. Were unknown
 * arguments ignored, `--port 9000` would serve on the default port.
 */
export function argumentsRefusal(
  word: "start" | "demo",
  allowed: readonly string[] = [],
): string | undefined {
  const args = argumentsAfter(word);
  const refused = args.find((arg, at) => !allowed.includes(arg) || args.indexOf(arg) < at);
  if (refused === undefined) return undefined;
  const takes = allowed.length === 0 ? "no arguments" : `only ${allowed.join(" ")}`;
  return `'${refused}' is unknown: ${readProgram()} ${word} takes ${takes}; settings are environment variables, such as PORT=9000.`;
}

/** The process's arguments, without the `word` that the packaged program has before them. */
function argumentsAfter(word: string): readonly string[] {
  return Deno.args[0] === word ? Deno.args.slice(1) : Deno.args;
}
