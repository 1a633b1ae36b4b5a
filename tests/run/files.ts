/** Folders that hold nothing of ours to test. */
const foreign = new Set([".git", "node_modules", "data", "dist", "coverage"]);

/**
 * Every test file of the repository, relative to its root, sorted. Those that replay real vendors'
 * answers are left out where no folder of such answers lies beside the checkout: the hand-made
 * ones of `tests/fixtures/answers` stand in.
 */
export function testFiles(root: string): string[] {
  const hasRecorded = isFolder(`${root}/../shared/recorded`);
  return walk(root, "")
    .filter((file) => testName.test(file) && (hasRecorded || !needsRecorded.test(file)))
    .sort();
}

function isFolder(path: string): boolean {
  try {
    return Deno.statSync(path).isDirectory;
  } catch {
    return false;
  }
}

const needsRecorded = /(^|\/)recorded_(\w+_)?test\.ts$/;

/** What `deno test` itself would take for a test file. */
const testName = /(^|[/_.])test\.(ts|tsx|mts|js|mjs|jsx)$/;

function walk(root: string, folder: string): string[] {
  const found: string[] = [];
  for (const entry of Deno.readDirSync(`${root}/${folder}`)) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory && !foreign.has(entry.name)) found.push(...walk(root, path));
    if (entry.isFile) found.push(path);
  }
  return found;
}

/** Test files that run together in one `deno test`. */
export interface TestGroup {
  readonly name: string;
  readonly files: readonly string[];
  /** Groups that break or time things run one file at a time. */
  readonly parallel: boolean;
  /** Whether many of its tests wait, so that more run side by side than there are cores. */
  readonly waits: boolean;
  /** Whether it wants the machine for itself: its tests wait, or break things in the middle. */
  readonly isTimed: boolean;
  /** Whether a timer, socket, file or worker that a test leaves open fails it. */
  readonly sanitize: boolean;
}

/**
 * Sorts test files by what they need, cheapest first. Every file is in exactly one group; groups
 * without files are left out.
 */
export function testGroups(files: readonly string[]): TestGroup[] {
  const kindOf = (file: string) => kinds.find((kind) => kind.takes(file));
  const groups = kinds.map((kind) => ({
    name: kind.name,
    parallel: kind.parallel,
    waits: kind.waits === true,
    isTimed: kind.isTimed,
    sanitize: kind.sanitize,
    files: files.filter((file) => kindOf(file) === kind),
  }));
  return groups.filter((group) => group.files.length > 0);
}

interface Kind extends Omit<TestGroup, "files" | "waits"> {
  readonly waits?: true;
  takes(file: string): boolean;
}

const kinds: readonly Kind[] = [
  {
    name: "architecture",
    parallel: true,
    isTimed: false,
    sanitize: true,
    takes: (file) => /^tests\/(architecture|run)(_test\.ts$|\/)/.test(file),
  },
  {
    name: "unit",
    parallel: true,
    isTimed: false,
    sanitize: true,
    takes: (file) => !file.startsWith("tests/"),
  },
  {
    name: "faults",
    parallel: false,
    isTimed: true,
    sanitize: false,
    takes: (file) => file.startsWith("tests/faults/"),
  },
  {
    name: "browser",
    parallel: true,
    isTimed: true,
    sanitize: false,
    takes: (file) => file.startsWith("tests/browser/"),
  },
  // Servers and databases that several tests share outlive the test that opened them.
  {
    name: "integration",
    parallel: true,
    waits: true,
    isTimed: true,
    sanitize: false,
    takes: () => true,
  },
];
