/**
 * What the packaged program is made of, beside its own code: files that it reads by their path
 * from the repository's root (`src/base/program_files.ts`), and modules that it starts as workers.
 */
export const programFolders: readonly string[] = [
  "migrations",
  "src/dashboard/assets",
  "src/http/reference",
];

/** Of a new embedded database; a package has it with all migrations. */
export const embeddedImage = "src/database/embedded/image/pglite-0.5.16.tar.gz";

export const programFiles: readonly string[] = [
  "openapi/openapi.json",
  "openapi/openapi-3.0.json",
  embeddedImage,
  "LICENSE",
];

export const programModules: readonly string[] = [
  "src/database/embedded/worker.ts",
  "src/records/store/embedded_writer.ts",
  "src/records/store/postgres_writer.ts",
  "src/evals/grade_guard.ts",
  "src/evals/grade_worker.ts",
];

/**
 * Tells the C library of Linux to give large buffers back to the system as soon as they are freed:
 * by itself it keeps them, once there were some, in pieces that nothing else fits into. Others
 * don't know these names.
 */
export const runEnvironment = "MALLOC_MMAP_THRESHOLD_=1048576 MALLOC_TRIM_THRESHOLD_=8388608";

/**
 * How the program is run, as in the tasks of `deno.json`. Addresses, files and variables are named
 * by the operator's settings, so none is listed; it starts no program but itself (`startFlags`),
 * loads no native code and imports nothing from the network. Addresses where clouds tell a machine's own credentials are
 * refused to the whole process, behind our own checks of what callers name.
 */
export const runFlags: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--deny-net=169.254.0.0/16,[fd00:ec2::254],100.100.100.200,metadata.google.internal",
  "--allow-env",
  "--allow-read",
  "--allow-write",
  // The bucket's client names the release of the system in its requests.
  "--allow-sys=osRelease",
  "--deny-run",
  "--deny-ffi",
  "--deny-import",
  // Why: docs/decisions.md, 0037, 0369, 0374 and 0378.
  "--v8-flags=--max-semi-space-size=16,--heap-growing-percent=50,--no-parallel-scavenge,--no-allocation-site-pretenuring,--memory-reducer-delay-ms=300000,--expose-gc",
];

/**
 * How `start` is run: with `WORKERS` the program starts itself several times. Whoever serves callers
 * gives the right up before it opens a port, and workers are started without it.
 */
export const startFlags: readonly string[] = runFlags.map((flag) =>
  flag === "--deny-run" ? "--allow-run" : flag
);

/** Beside them in the tasks, whose folder is the source: what runs doesn't change what it is. */
export const sourceFlags: readonly string[] = [
  "--deny-write=.git,contracts,demo,migrations,openapi,packaging,src,tests,deno.json,deno.lock",
];
