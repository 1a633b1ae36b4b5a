/** Folders without tests of ours. */
const foreign = new Set([".git", "node_modules", "data", "dist", "coverage"]);

/**
 * Returns every test file of the repository, relative to its root, sorted. Tests that replay real
 * vendors' answers are left out if the folder with these isn't beside the checkout; tests of the
 * hand-made answers in `tests/fixtures/answers` take their place.
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

/** The names that `deno test` itself takes for test files. */
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

/**
 * Returns the files in the order in which they run: the longest first, and unit tests last, whose
 * batches take seconds, so that no job runs alone at the end.
 */
export function inOrder(files: readonly string[]): string[] {
  const asked = new Set(files);
  const isLong = new Set(longest);
  const others = files.filter((file) => !isLong.has(file));
  return [
    ...longest.filter((file) => asked.has(file)),
    ...others.filter((file) => !isUnitTest(file)),
    ...others.filter(isUnitTest),
  ];
}

/**
 * Tests beside their source file, and tests of the tree and of the gate itself. A timer, socket,
 * file or worker that one of them leaves open fails it; servers and databases that other tests share
 * outlive the test that opened them.
 */
export function isUnitTest(file: string): boolean {
  return unitTest.test(file);
}

const unitTest = /^(?!tests\/)|^tests\/(architecture|run)(_test\.ts$|\/)/;

/**
 * The files that take longest, in this order, as the gate prints them ("slowest files"). Only the
 * order and the batches of a run depend on it, so it may be a little out of date.
 */
export const longest: readonly string[] = [
  "tests/architecture_test.ts",
  "openapi/generate_test.ts",
  "src/evals/grade_thread_test.ts",
  "src/listener/open_test.ts",
  "tests/run/gate_test.ts",
  "tests/browser/interactions_test.ts",
  "tests/browser/reference_test.ts",
  "tests/browser/dashboard_test.ts",
  "tests/browser/records_test.ts",
  "tests/e2e/shutdown_test.ts",
  "tests/e2e/background_test.ts",
  "tests/http/metric_export_test.ts",
  "tests/e2e/database_copy_test.ts",
  "tests/faults/attacks/attacks_test.ts",
  "tests/faults/settling_test.ts",
  "tests/faults/background_kill_test.ts",
  "tests/faults/kill_test.ts",
  "tests/faults/media_kill_test.ts",
  "tests/faults/retries_test.ts",
  "tests/faults/unread_streams_test.ts",
  "tests/faults/outage_test.ts",
  "tests/faults/workers_test.ts",
  "tests/e2e/canary_test.ts",
  "tests/hostile/heavy_test.ts",
  "tests/dashboard/csv_test.ts",
  "tests/contracts/fuzz_test.ts",
  "tests/hostile/fair_graders_test.ts",
  "tests/hostile/bodies_test.ts",
  "tests/sdk/client_test.ts",
  "tests/dashboard/crawl_test.ts",
  "tests/docs/first_hour_test.ts",
  "tests/docs/operator_test.ts",
  "tests/docs/snippets_test.ts",
  "tests/packaging/bundle_test.ts",
  "tests/e2e/upgrade_test.ts",
  "tests/e2e/erased_again_test.ts",
  "tests/e2e/first_start_test.ts",
  "tests/e2e/vendor_keys_test.ts",
  "tests/e2e/response_cache_test.ts",
  "tests/e2e/calls_garbage_test.ts",
  "tests/money/crash_test.ts",
  "tests/e2e/admin_test.ts",
  "tests/store/fair_reads_test.ts",
  "tests/matrix/reasoning_store_test.ts",
  "tests/store/embedded_crash_test.ts",
  "tests/store/embedded_test.ts",
  "tests/e2e/pictures_size_test.ts",
  "tests/e2e/environment_test.ts",
  "tests/e2e/admin_export_test.ts",
  "tests/e2e/exports_restart_test.ts",
  "tests/e2e/exports_size_test.ts",
  "tests/e2e/evals_restart_test.ts",
  "tests/e2e/repeats_test.ts",
  "tests/e2e/prices_test.ts",
  "tests/e2e/stored_bytes_test.ts",
  "tests/e2e/virtual_models_test.ts",
  "tests/e2e/metadata_recording_test.ts",
  "tests/store/forgotten_locks_test.ts",
  "tests/hostile/held_test.ts",
  "tests/faults/deletion_kill_test.ts",
  "tests/e2e/rate_replicas_test.ts",
  "tests/packaging/compiled_test.ts",
  "tests/packaging/queries_test.ts",
  "tests/matrix/endpoints_test.ts",
  "tests/matrix/disputed_test.ts",
  "tests/matrix/added_vendor_test.ts",
  "tests/matrix/endings_test.ts",
  "tests/matrix/silence_test.ts",
  "tests/http/background_test.ts",
  "tests/http/tracing_test.ts",
  "tests/http/spending_test.ts",
  "tests/media/speech_test.ts",
  "tests/http/crowd_test.ts",
  "tests/http/export_jobs_test.ts",
  "tests/http/export_bucket_test.ts",
  "tests/http/evals_test.ts",
  "tests/http/odd_heads_test.ts",
  "tests/http/stray_vendor_test.ts",
  "tests/http/slow_uploads_test.ts",
  "tests/dialects/synthetic_test.ts",
  "tests/dialects/recorded_messages_test.ts",
  "tests/dialects/recorded_responses_test.ts",
  "tests/matrix/libraries_test.ts",
  "tests/hostile/steps_test.ts",
  "tests/hostile/texts_test.ts",
];
