/**
 * Returns the environment for checks and tests. It has only the variables that the machine needs,
 * since a developer's `DATABASE_URL` or vendor key must not reach a test or change its result.
 */
export function testEnvironment(
  outer: Readonly<Record<string, string>>,
  tempDir: string,
): Record<string, string> {
  const env: Record<string, string> = {};
  for (const [name, value] of Object.entries(outer)) {
    if (kept.some((pattern) => pattern.test(name))) env[name] = value;
  }
  const noProxy = outer.NO_PROXY ?? outer.no_proxy;
  return {
    ...isLongRound(env) ? {} : { DENO_V8_FLAGS: shortLived },
    ...env,
    TMPDIR: tempDir,
    NO_COLOR: "1",
    DENO_NO_UPDATE_CHECK: "1",
    // The machine's proxy is for downloads; tests talk to loopback.
    NO_PROXY: [noProxy, "127.0.0.1", "localhost", "::1"].filter(Boolean).join(","),
  };
}

/**
 * Turns off the optimisation of WebAssembly: most embedded databases of the gate live for a second,
 * and optimising them takes longer than their work. Services that tests start inherit the flag.
 */
const shortLived = "--liftoff-only";

/** Whether nobody watches the run: `CI` is set, and neither empty nor `0` nor `false`. */
export function isCi(outer: Readonly<Record<string, string>>): boolean {
  return !["", "0", "false"].includes((outer.CI ?? "").toLowerCase());
}

/** Variables that ask for the long forms of tests; `deno task test:long` sets them all. */
const longForms: readonly RegExp[] = [
  /^(KILLS|CUTS|HISTORIES(_SEED)?|HOSTILE|MATRIX|PATTERNS|PICTURES|STARTS|STORE|THEMES|EXPORT_ROWS)$/,
  /^(NPX|SOCKETS|(TRACED|UNREAD|WHOLE)_CALLS)$/,
  /^(OUTAGE|ATTACK|ODD_HEADS)_SECONDS$/,
  /^(FUZZ_(RUNS|SEED)|ANSWERS(_SEED)?|ANSWER_HISTORIES|JOURNAL_(HISTORIES|ROUNDS))$/,
];

/** Whether any test runs in its long form, in which it may print nothing for a long time. */
export function isLongRound(env: Readonly<Record<string, string>>): boolean {
  return Object.keys(env).some((name) => longForms.some((pattern) => pattern.test(name)));
}

const kept: readonly RegExp[] = [
  /^(PATH|HOME|USER|LOGNAME|SHELL|LANG|TZ|TERM|CI)$/,
  /^LC_/,
  ...longForms,
  /^XDG_/,
  /^TEST_MEMORY_DIR$/,
  /^DENO_/,
  /^(npm|NPM)_/,
  /^(https?|all)_proxy$/i,
  /^(SSL_CERT_(FILE|DIR)|NODE_EXTRA_CA_CERTS)$/,
];
