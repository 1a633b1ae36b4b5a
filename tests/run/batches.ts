import { longest } from "./files.ts";
import { fileMark } from "./batch.ts";

/** Folders whose files load much: the product, to start it in their own process, or parts of it. */
const batchedFolders =
  /^(tests\/(contracts|dashboard|dialects|e2e|hostile|http|matrix|media|money|search|store)|src\/\w+|openapi|demo)\//;
/** One of its servers replaces the runtime's own `Response`, which others must have. */
const besideNobody: readonly string[] = ["tests/http/overload_test.ts"];
/** More leave less to load, and a batch running alone at the end. */
const filesOfBatch = 10;

/**
 * Test files that run one after the other in one isolate, by the folder that they are in; those that
 * take long, and all others, stand alone.
 */
export function batchesOf(files: readonly string[]): (readonly string[])[] {
  const alone = new Set([...longest, ...besideNobody]);
  const batches: string[][] = [];
  const open = new Map<string, string[]>();
  for (const file of files) {
    const folder = alone.has(file) ? undefined : batchedFolders.exec(file)?.[0];
    const batch = folder === undefined ? undefined : open.get(folder);
    if (batch !== undefined && batch.length < filesOfBatch) {
      batch.push(file);
      continue;
    }
    const fresh = [file];
    batches.push(fresh);
    if (folder !== undefined) open.set(folder, fresh);
  }
  return batches;
}

/** Writes a batch's module into `folder` and gives its path; a file alone is itself. */
export async function writeBatch(
  batch: readonly string[],
  { root, folder, number }: { root: string; folder: string; number: number },
): Promise<string> {
  const [only, ...more] = batch;
  if (only !== undefined && more.length === 0) return only;
  const url = (path: string) => JSON.stringify(new URL(path, `file://${root}/`).href);
  const lines = batch.map((file) =>
    `await batched(${JSON.stringify(file)}, () => import(${url(file)}));`
  );
  const path = `${folder}/batch_${number}_test.ts`;
  const text = [`import { batched } from ${url("tests/run/batch.ts")};`, ...lines, ""].join("\n");
  await Deno.writeTextFile(path, text);
  return path;
}

/** The file and the name of a test that a batch has run; undefined for one of a file alone. */
export function ofBatch(name: string): { file: string; name: string } | undefined {
  const at = name.indexOf(fileMark);
  const file = name.slice(0, Math.max(0, at));
  return /^\S+_test\.tsx?$/.test(file)
    ? { file, name: name.slice(at + fileMark.length) }
    : undefined;
}
