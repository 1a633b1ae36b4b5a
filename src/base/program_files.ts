/**
 * URL of a file that ships with the program, by its path from the repository's root, such as
 * `migrations/`. The bundle and the compiled program keep these paths but move the code, so no other
 * file may use `import.meta.url`.
 */
export function programFile(path: string): URL {
  return new URL(path, root);
}

/** URL of a worker's module; in a bundle it is JavaScript. */
export function programModule(path: `${string}.ts`): URL {
  return programFile(isSource ? path : path.replace(/\.ts$/, ".js"));
}

/** Whether the program runs from its source or as the bundle built from it. */
export type ProgramForm = "source" | "bundle";

const ownPath = "src/base/program_files.ts";
const isSource = import.meta.url.endsWith(`/${ownPath}`);
export const programForm: ProgramForm = isSource ? "source" : "bundle";
/** A bundle has its shared chunks in its root. */
const root = new URL(isSource ? "../../" : "./", import.meta.url);
