/**
 * Address of a file that comes with the program, by its path from the repository's root, such as
 * `migrations/`. In the bundle and in the compiled program files keep these paths, but the code
 * around them has moved, so nobody else may go by `import.meta.url`.
 */
export function programFile(path: string): URL {
  return new URL(path, root);
}

/** Address of a module that is started as a worker; a bundle has it as JavaScript. */
export function programModule(path: `${string}.ts`): URL {
  return programFile(isSource ? path : path.replace(/\.ts$/, ".js"));
}

const ownPath = "src/base/program_files.ts";
const isSource = import.meta.url.endsWith(`/${ownPath}`);
/** A bundle's shared parts lie in its root. */
const root = new URL(isSource ? "../../" : "./", import.meta.url);
