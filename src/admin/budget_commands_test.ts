import assert from "@std/assert";
import type { BudgetRequest } from "../budgets/budget.ts";
import { OptionError } from "../shared/fault.ts";
import { type BudgetCommandDeps, budgetCommands } from "./budget_commands.ts";
import { runCommandOf } from "./commands.ts";

const account = { id: 7, name: "team" };

/** Runs a command; `set` gives what the service was asked. */
async function run(...argv: string[]) {
  let set: BudgetRequest | undefined;
  const deps: BudgetCommandDeps = {
    accounts: {
      first: () => Promise.resolve(account as never),
      find: () => Promise.resolve(account as never),
    },
    clock: { now: () => new Date("2026-11-21T12:00:00Z") },
    budgets: {
      set(request) {
        set = request;
        if (request.scope.name === "full") throw new OptionError("raise_until", "expected more");
        return Promise.resolve({
          ...{ ...request, limitNanos: request.limitNanos ?? 5n * 10n ** 9n, id: "b1" },
          ...{ createdAt: new Date("2026-11-01T00:00:00Z"), spentNanos: 1n },
        });
      },
      change: () => Promise.resolve(undefined),
      cursorOf: () => Promise.resolve(undefined),
      remove: (id) => Promise.resolve(id === "b1"),
      list: () => Promise.resolve([]),
      find: () => Promise.resolve(undefined),
    },
  };
  const result = await runCommandOf(budgetCommands, deps, ["budget", ...argv]);
  return { ...result, line: result.lines[0]!.split("\n")[0], set };
}

const day = ["set", "--per", "day"];

Deno.test("a budget is set as its options say, a raised limit behind the limit or alone", async () => {
  const { json, exitCode } = await run(...day, "--on", "app:shop: two", "--usd", "2.5");
  assert.equal(exitCode, 0);
  assert.deepEqual(json, {
    ...{ id: "b1", account_id: 7, on: "app:shop: two", per: "day", limit_usd: "2.500000000" },
    ...{ raise_until: null, raised_limit_usd: null, spent_usd: "0.000000001" },
    created_at: "2026-11-01T00:00:00.000Z",
  });
  const raise = ["--raise-until", "2026-12-01T00:00:00Z", "--usd"];
  const raised = { nanos: 20n * 10n ** 9n, until: new Date("2026-12-01T00:00:00Z") };
  const both = await run(...day, "--on", "account", "--usd", "10", ...raise, "20");
  assert.deepEqual([both.set!.limitNanos, both.set!.raised], [10n * 10n ** 9n, raised]);
  assert.match(
    both.line!,
    /^b1 {2}account 7 {2}account {2}0\.000000001 of 20\.000000000 USD per day/,
  );
  const alone = await run(...day, "--on", "account", ...raise, "20");
  assert.deepEqual([alone.set!.limitNanos, alone.set!.raised], [undefined, raised]);
});

const wrong: readonly [argv: string[], line: RegExp][] = [
  [["set", "--per", "day", "--usd", "1"], /^--on is missing$/],
  [["set", "--on", "account", "--usd", "1"], /^--per is missing$/],
  [[...day, "--on", "account"], /^--usd is missing$/],
  [
    [...day, "--on", "team:a", "--usd", "1"],
    /^--on: 'team:a' is not valid; expected account, app:NAME or user:ID$/,
  ],
  [[...day, "--on", "app:", "--usd", "1"], /^--on: 'app:' is not valid/],
  [[...day, "--on", "app: ", "--usd", "1"], /^--on: 'app: ' is not valid/],
  [
    [...day, "--on", `app:${"x".repeat(257)}`, "--usd", "1"],
    /^--on: the name of an app has at most 256 characters and no control characters$/,
  ],
  [[...day, "--on", "app:shop\u0007", "--usd", "1"], /^--on: the name of an app has/],
  [
    [...day, "--on", `user:${"x".repeat(501)}`, "--usd", "1"],
    /^--on: the id of an end user has at most 500 characters$/,
  ],
  [
    ["set", "--on", "account", "--per", "week", "--usd", "1"],
    /^--per: 'week' is not valid; expected day or month$/,
  ],
  [[...day, "--on", "account", "--usd", "-1"], /usd/],
  [[...day, "--on", "account", "--usd", "1e3"], /^--usd 1e3: expected an amount in US dollars/],
  [[...day, "--on", "account", "--usd", "1", "--usd", "2"], /^--usd: expected one amount$/],
  [
    [...day, "--on", "account", "--usd", "1", "--raise-until", "tomorrow"],
    /^--raise-until tomorrow: expected a day/,
  ],
  [[...day, "--on", "app:full", "--usd", "1"], /^--raise-until: expected more$/],
];

Deno.test("a wrong option is refused by its name, with exit code 2", async () => {
  for (const [argv, line] of wrong) {
    const result = await run(...argv);
    assert.deepEqual(
      [result.exitCode, line.test(result.line!)],
      [2, true],
      `${argv}: ${result.line}`,
    );
  }
});

Deno.test("a budget takes the longest names that calls can carry, an app's as tags are trimmed", async () => {
  for (
    const [on, name] of [
      [`app: ${"x".repeat(256)} `, "x".repeat(256)],
      [`user: ${"x".repeat(499)}`, ` ${"x".repeat(499)}`],
    ]
  ) {
    const { set, line } = await run(...day, "--on", on!, "--usd", "1");
    assert.equal(set?.scope.name, name, line);
  }
});

Deno.test("an unknown budget can't be removed", async () => {
  assert.equal((await run("remove", "b1")).exitCode, 0);
  const { exitCode, line } = await run("remove", "b2");
  assert.deepEqual([exitCode, line], [1, "No budget has the id b2."]);
});
