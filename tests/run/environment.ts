/**
 * The environment that checks and tests run in. Only what the machine needs is passed on: a
 * developer's `DATABASE_URL` or vendor key must not reach a test, nor decide how it ends.
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
    // A proxy of the machine is for downloads; tests talk to loopback.
    NO_PROXY: [noProxy, "127.0.0.1", "localhost", "::1"].filter(Boolean).join(","),
  };
}

/**
 * Most embedded databases of the gate live for a second, and optimising their WebAssembly takes
 * longer than what they do. Services that tests start as programs are told the same.
 */
const shortLived = "--liftoff-only";

/** Whether the run is nobody's: `CI` set to anything but a plain no. */
export function isCi(outer: Readonly<Record<string, string>>): boolean {
  return !["", "0", "false"].includes((outer.CI ?? "").toLowerCase());
}

/** How much the long forms of tests do; `deno task test:long` sets them all. */
const longForms: readonly RegExp[] = [
  /^(KILLS|CUTS|HISTORIES(_SEED)?|HOSTILE|MATRIX|PATTERNS|PICTURES|STARTS|STORE|THEMES|EXPORT_ROWS)$/,
  /^(NPX|SOCKETS|(TRACED|UNREAD)_CALLS)$/,
  /^(OUTAGE|ATTACK|ODD_HEADS)_SECONDS$/,
  /^(FUZZ_(RUNS|SEED)|ANSWERS(_SEED)?|ANSWER_HISTORIES|JOURNAL_(HISTORIES|ROUNDS))$/,
];

/** Whether tests may be silent for long, since one of them was asked for its long form. */
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
