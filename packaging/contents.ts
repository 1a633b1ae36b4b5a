/**
 * What the packaged program contains beside its own code: files that it reads by their path from
 * the repository's root (`src/base/program_files.ts`), and modules that it starts as workers.
 */
export const programFolders: readonly string[] = [
  "migrations",
  "src/dashboard/assets",
  "src/http/reference",
];

/** The image of a new embedded database; in a package it has all migrations applied. */
export const embeddedImage = "src/database/embedded/image/pglite-0.5.17.tar.gz";

export const programFiles: readonly string[] = [
  "openapi/openapi.json",
  "openapi/openapi-3.0.json",
  embeddedImage,
  "LICENSE",
];

/** The licenses of all packages whose code is packaged. */
export const thirdPartyLicenses = "THIRD_PARTY_LICENSES";

export const programModules: readonly string[] = [
  "src/database/embedded/worker.ts",
  "src/records/store/embedded_writer.ts",
  "src/records/store/postgres_writer.ts",
  "src/evals/grade_guard.ts",
  "src/evals/grade_worker.ts",
];

/**
 * Makes Linux's C library (glibc) return large buffers to the system as soon as they are freed. By
 * default it raises its thresholds after the first ones and keeps later buffers, in fragments that
 * nothing else fits into. Other systems ignore these variables.
 */
export const runEnvironment = "MALLOC_MMAP_THRESHOLD_=1048576 MALLOC_TRIM_THRESHOLD_=8388608";

/**
 * Deno's flags for the program, as in the tasks of `deno.json`. The operator's settings name
 * addresses, files and variables, so none of them is listed here. The program starts no program but
 * itself (`startFlags`), loads no native code and imports nothing from the network. The metadata
 * services of clouds, which hand out a machine's credentials, are denied to the whole process, in
 * addition to our own checks of the URLs that callers name.
 */
export const runFlags: readonly string[] = [
  "--no-prompt",
  "--allow-net",
  "--deny-net=169.254.0.0/16,[fd00:ec2::254],100.100.100.200,metadata.google.internal",
  "--allow-env",
  "--allow-read",
  "--allow-write",
  // The client of export buckets sends the system's release in its requests.
  "--allow-sys=osRelease",
  "--deny-run",
  "--deny-ffi",
  "--deny-import",
  // Why: docs/decisions, 0037, 0369, 0374 and 0378.
  "--v8-flags=--max-semi-space-size=16,--heap-growing-percent=50,--no-parallel-scavenge,--no-allocation-site-pretenuring,--memory-reducer-delay-ms=300000,--expose-gc",
];

/**
 * The flags for `start`: with `WORKERS` the program starts itself several times. A process that
 * serves callers gives up the permission before it opens a port; workers are started without it.
 */
export const startFlags: readonly string[] = runFlags.map((flag) =>
  flag === "--deny-run" ? "--allow-run" : flag
);

/** Added in the tasks, which run in the source tree: the program must not change its own code. */
export const sourceFlags: readonly string[] = [
  "--deny-write=.git,contracts,demo,migrations,openapi,packaging,src,tests,deno.json,deno.lock",
];
