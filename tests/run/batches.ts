import { isUnitTest, longest } from "./files.ts";
import { fileMark } from "./batch.ts";

/** Folders whose tests load much the same modules of the product. */
const batchedFolders = /^(src|openapi|demo|packaging|bench|tests\/\w+)\//;
/**
 * Files that run alone. A server in the overload test replaces the runtime's own `Response`, which
 * other tests need. Tests of packages share nothing with other files that would be loaded only once.
 */
const besideNobody = /^tests\/(http\/overload_test\.ts$|(packaging|sdk)\/)/;
/** They share one Chromium. */
const browserTests = /^tests\/browser\//;
/** With larger batches less is loaded, but some job would run on alone at the end. */
const filesOfBatch = 32;
const longFilesOfBatch = 8;

/**
 * Groups test files into batches; a batch runs one file after the other in one isolate. Batches of
 * long files are smaller; the tests that need a browser are one batch, and unit tests have their own.
 */
export function batchesOf(files: readonly string[]): (readonly string[])[] {
  const isLong = new Set(longest);
  const batches: string[][] = [];
  const open = new Map<string, string[]>();
  for (const file of files) {
    if (besideNobody.test(file) || !batchedFolders.test(file)) {
      batches.push([file]);
      continue;
    }
    const [kind, most] = browserTests.test(file)
      ? ["browser", filesOfBatch]
      : isLong.has(file)
      ? ["long", longFilesOfBatch]
      : ["short", filesOfBatch];
    const key = `${kind} ${isUnitTest(file)}`;
    const batch = open.get(key);
    if (batch !== undefined && batch.length < most) {
      batch.push(file);
      continue;
    }
    const fresh = [file];
    batches.push(fresh);
    open.set(key, fresh);
  }
  return batches;
}

/**
 * Writes a module that runs the batch and returns its path; a single file needs none, unless it is a
 * unit test. `name` is unlike that of any other batch of the run.
 */
export async function writeBatch(
  batch: readonly string[],
  { root, folder, name }: { root: string; folder: string; name: string },
): Promise<string> {
  const [only, ...more] = batch;
  if (only !== undefined && more.length === 0 && !isUnitTest(only)) return only;
  const url = (path: string) => JSON.stringify(new URL(path, `file://${root}/`).href);
  const lines = batch.map((file) =>
    `await batched(${JSON.stringify(file)}, () => import(${url(file)}), ${isUnitTest(file)});`
  );
  const path = `${folder}/batch_${name}_test.ts`;
  const text = [`import { batched } from ${url("tests/run/batch.ts")};`, ...lines, ""].join("\n");
  await Deno.writeTextFile(path, text);
  return path;
}

/** Returns a test's file and name if it ran in a batch; undefined if its file ran alone. */
export function ofBatch(name: string): { file: string; name: string } | undefined {
  const at = name.indexOf(fileMark);
  const file = name.slice(0, Math.max(0, at));
  return /^\S+_test\.tsx?$/.test(file)
    ? { file, name: name.slice(at + fileMark.length) }
    : undefined;
}
