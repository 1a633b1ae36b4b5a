/** What a run covers, as read from its arguments. */
export interface Selection {
  /** Test files, relative to the repository. */
  readonly files: readonly string[];
  /** Value for `deno test --filter`, or null. */
  readonly filter: string | null;
  /** Whether to run the files one by one and print each one's processor time. */
  readonly times: boolean;
}

/**
 * Reads `deno task test [--times] [path|words]…`. A path (file or folder) selects its test files,
 * anything else the tests whose name contains it (with several words, any of them).
 * Throws an Error with a message of one line for an unknown option, or a path without test files.
 */
export function readArguments(
  args: readonly string[],
  all: readonly string[],
): Selection {
  const paths: string[] = [];
  const words: string[] = [];
  const times = args.includes("--times");
  for (const arg of args.filter((one) => one !== "--times")) {
    if (arg.startsWith("-")) throw new Error(`Unknown option '${arg}'. ${usage}`);
    const path = arg.replace(/^\.\//, "").replace(/\/+$/, "");
    const matches = all.filter((file) => file === path || file.startsWith(`${path}/`));
    if (matches.length > 0) paths.push(...matches);
    else if (looksLikePath.test(arg)) throw new Error(`No test file at '${arg}'. ${usage}`);
    else words.push(arg);
  }
  return {
    files: paths.length > 0 ? [...new Set(paths)].sort() : all,
    filter: words.length > 0 ? `/${words.map(escaped).join("|")}/` : null,
    times,
  };
}

const usage = "Usage: deno task test [--times] [path or words of a test's name]…";

const looksLikePath = /^[\w.-]+(\/[\w.-]*)+$|\.tsx?$/;

function escaped(word: string): string {
  return word.replace(/[.*+?^${}()|[\]\\/]/g, "\\$&");
}
