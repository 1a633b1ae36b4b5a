/**
 * Runs several test files in one isolate, inside the tests' own process, since loading the product
 * takes half a second of processor time per isolate. Each file keeps its own hooks: what it starts
 * before its first test is stopped after its last one, as if it ran alone.
 */
type Context = Deno.TestContext;
type Run = (context: Context) => void | Promise<void>;
type Hook = () => unknown;

/** Separates the file's name from the test's name, in the names of a batch's tests. */
export const fileMark = " › ";

/** What a test file has registered. */
interface Collected {
  readonly tests: Deno.TestDefinition[];
  readonly before: Hook[];
  readonly after: Hook[];
  readonly beforeEach: Hook[];
  readonly afterEach: Hook[];
}

/**
 * Loads a test file and registers its tests with the file's name before theirs. If it can't be
 * loaded, or registers no test, one failing test is registered, so that the rest of the batch runs.
 * With `isTidy`, a test that leaves something open fails.
 */
export async function batched(
  file: string,
  load: () => Promise<unknown>,
  isTidy = false,
): Promise<void> {
  const collected: Collected = { tests: [], before: [], after: [], beforeEach: [], afterEach: [] };
  const runtime = Deno as { test: typeof Deno.test };
  const register = runtime.test;
  runtime.test = collector(collected);
  try {
    await load();
    if (collected.tests.length === 0) throw new Error(`${file}: registers no test`);
  } catch (thrown) {
    register(`${file}${fileMark}is loaded`, () => {
      throw thrown;
    });
    return;
  } finally {
    runtime.test = register;
  }
  registerAll(file, collected, isTidy ? tidy(register) : register);
}

function collector({ tests, before, after, beforeEach, afterEach }: Collected): typeof Deno.test {
  const test = (...args: unknown[]) => void tests.push(definitionOf(args));
  return Object.assign(test, {
    ignore: (...args: unknown[]) => void tests.push({ ...definitionOf(args), ignore: true }),
    only: (...args: unknown[]) => void tests.push({ ...definitionOf(args), only: true }),
    beforeAll: (hook: Hook) => void before.push(hook),
    afterAll: (hook: Hook) => void after.push(hook),
    beforeEach: (hook: Hook) => void beforeEach.push(hook),
    afterEach: (hook: Hook) => void afterEach.push(hook),
  }) as unknown as typeof Deno.test;
}

/** Reads a test from the arguments of `Deno.test`: name, options and function, each optional. */
function definitionOf(args: readonly unknown[]): Deno.TestDefinition {
  const run = args.find((arg) => typeof arg === "function") as Run | undefined;
  const options = args.find((arg) => typeof arg === "object") as Partial<Deno.TestDefinition>;
  const name = args.find((arg) => typeof arg === "string");
  const fn = run ?? options?.fn;
  if (fn === undefined) throw new TypeError("a test without a function");
  return { ...options, fn, name: String(name ?? options?.name ?? fn.name) };
}

/** Registers tests that fail if they leave a timer, socket, file or worker open. */
function tidy(register: typeof Deno.test): (test: Deno.TestDefinition) => void {
  return (test) => register({ sanitizeOps: true, sanitizeResources: true, ...test });
}

function registerAll(
  file: string,
  { tests, before, after, beforeEach, afterEach }: Collected,
  register: (test: Deno.TestDefinition) => void,
): void {
  let left = tests.filter(({ ignore }) => !ignore).length;
  let beginning: Promise<void> | undefined;
  for (const test of tests) {
    register({
      ...test,
      name: `${file}${fileMark}${test.name}`,
      async fn(context) {
        try {
          await (beginning ??= inTurn(before));
          await inTurn(beforeEach);
          try {
            await test.fn(context);
          } finally {
            await inTurn(afterEach.toReversed());
          }
        } finally {
          if (--left === 0) await inTurn(after.toReversed());
        }
      },
    });
  }
}

async function inTurn(hooks: readonly Hook[]): Promise<void> {
  for (const hook of hooks) await hook();
}
