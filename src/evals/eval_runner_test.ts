import assert from "@std/assert";
import { FakeClock } from "../base/clock.ts";
import type { ClaimedRun } from "./eval.ts";
import type { EvalRunDeps } from "./eval_run.ts";
import { EvalRunner } from "./eval_runner.ts";

/** More accounts with long runs than places; `go` lets their items end. */
function setUp(accounts: number, othersWait: boolean) {
  const clock = new FakeClock();
  const said: string[] = [];
  const gate = Promise.withResolvers<void>();
  let claimed = 0;
  const note = (what: string) => ({ evalRunId }: ClaimedRun) => {
    said.push(`${what} ${evalRunId}`);
    return Promise.resolve();
  };
  const work = {
    claim: () =>
      Promise.resolve(
        claimed++ < accounts ? { evalRunId: `r${claimed}`, accountId: claimed } : undefined,
      ),
    renew: (ids: readonly string[]) => Promise.resolve(new Set(ids)),
    othersWait: () => Promise.resolve(othersWait),
    items: () => gate.promise.then(() => []),
    release: note("release"),
    end: note("end"),
    pause: note("pause"),
  };
  const runner = new EvalRunner({
    ...{ clock, work, graders: { close() {} }, log: { warn() {} } },
  } as unknown as EvalRunDeps);
  return { clock, said, runner, go: gate.resolve };
}

for (
  const [name, accounts, othersWait, ms, released] of [
    ["gives its place to those who wait", 8, true, 31_000, ["release r1"]],
    ["keeps it for a while", 8, true, 10_000, []],
    ["keeps it where nobody waits", 8, false, 31_000, []],
    ["keeps it where there is room", 7, true, 31_000, []],
  ] as const
) {
  Deno.test(`a long run ${name}`, async () => {
    const { clock, said, runner, go } = setUp(accounts, othersWait);
    await runner.tick();
    clock.advance(ms);
    await runner.tick();
    go();
    for (let rest = 0; rest < 100; rest++) await Promise.resolve();
    assert.deepEqual(said.filter((one) => one.startsWith("release")), released);
    assert.equal(said.length, accounts);
    await runner.close();
  });
}
