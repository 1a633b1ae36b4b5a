import { longest } from "./files.ts";
import { fileMark } from "./batch.ts";

/** What is tried there loads parts of the product, and much the same ones. */
const batchedFolders = /^(src|openapi|demo|packaging|bench|tests\/\w+)\//;
/**
 * One of its servers replaces the runtime's own `Response`, which others must have; those on
 * pages start Chromium in a hook of a module that they share, which only the first of a batch would
 * have, and a second Chromium in one isolate doesn't start; packages load nothing that another file
 * would load too.
 */
const besideNobody = /^tests\/(http\/overload_test\.ts$|(browser|packaging|sdk)\/)/;
/** More leave less to load, and a batch running alone at the end. */
const filesOfBatch = 32;
const longFilesOfBatch = 3;

/**
 * Test files that run one after the other in one isolate, of any folders. Those that take long are
 * fewer, and of one folder.
 */
export function batchesOf(files: readonly string[]): (readonly string[])[] {
  const isLong = new Set(longest);
  const batches: string[][] = [];
  const open = new Map<string, string[]>();
  for (const file of files) {
    const folder = besideNobody.test(file) ? undefined : batchedFolders.exec(file)?.[0];
    if (folder === undefined) {
      batches.push([file]);
      continue;
    }
    const [kind, most] = isLong.has(file) ? [folder, longFilesOfBatch] : ["short", filesOfBatch];
    const batch = open.get(kind);
    if (batch !== undefined && batch.length < most) {
      batch.push(file);
      continue;
    }
    const fresh = [file];
    batches.push(fresh);
    open.set(kind, fresh);
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
