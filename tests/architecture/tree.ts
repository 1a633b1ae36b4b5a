/** The repository's text files: path relative to its root → text. Tests make small ones in memory. */
export type Tree = ReadonlyMap<string, string>;

/** A place that breaks a rule, with what to do instead in `message`. */
export interface Finding {
  readonly path: string;
  /** From 1; 0 where the file as a whole is meant. */
  readonly line: number;
  readonly message: string;
}

/** Reads every file that the checks look at. Generated and foreign text is left out. */
export function readTree(root: string): Tree {
  const tree = new Map<string, string>();
  for (const path of walk(root, "")) tree.set(path, Deno.readTextFileSync(`${root}/${path}`));
  return tree;
}

/** Paths of program text, sorted, so that findings come in a steady order. */
export function codeFiles(tree: Tree): string[] {
  return [...tree.keys()].filter((path) => codeName.test(path)).sort();
}

/** True for text that only tests and benches run. */
export function isTest(path: string): boolean {
  return /^(tests|bench)\//.test(path) || /_test\.tsx?$/.test(path);
}

/** Findings as one text, a line each, as an assertion can show it. */
export function listed(findings: readonly Finding[]): string {
  return findings.map(({ path, line, message }) => `${path}:${line}: ${message}`).join("\n");
}

const codeName = /\.(ts|tsx|mts|js|mjs|jsx)$/;
const leftOut =
  /^(\.git|node_modules|data|dist|coverage|openapi\/client\/generated|tests\/fixtures|tests\/sdks\/programs)$/;

function walk(root: string, folder: string): string[] {
  const found: string[] = [];
  for (const entry of Deno.readDirSync(`${root}/${folder}`)) {
    const path = folder === "" ? entry.name : `${folder}/${entry.name}`;
    if (entry.isDirectory && !leftOut.test(path)) found.push(...walk(root, path));
    if (entry.isFile && (codeName.test(path) || path === "deno.json")) found.push(path);
  }
  return found;
}
