import assert from "@std/assert";
import { callControl } from "../../src/admin/control.ts";
import { graceMs } from "../../src/rate_limits/rate_limit.ts";
import { startService } from "../support/process.ts";
import { asked, postgresSite } from "../support/money.ts";
import { promisedMs } from "../support/quiet.ts";
import { untilAdmitted } from "../support/until_admitted.ts";

/** How long the refill is watched. */
const watchedMs = 5_000;

postgresSite(
  "60 a minute over three processes are 100 at once and then one a second, whoever asks whom",
  async (site) => {
    const services = [
      await startService({ env: site.env }),
      ...await Promise.all([1, 2].map(() => startService({ env: site.another() }))),
    ];
    // A new account is free: 60 a minute, burst 100.
    const dataDir = site.env.DATA_DIR!;
    await callControl(dataDir, ["account", "create", "--name", "team"]);
    const made = await callControl(dataDir, ["key", "create", "--name", "x", "--account", "team"]);
    const { key } = made!.json as { key: string };
    const at = services.map((one) => asked(one, key));
    /** Whether the request was admitted; what the headers say has to fit. */
    const ask = async (process: number): Promise<boolean> => {
      const answer = await untilAdmitted(() => at[process % 3]!.fetch("/api/v1/status"));
      await answer.body?.cancel();
      assert.equal(answer.headers.get("x-ratelimit-limit"), "60");
      const remaining = Number(answer.headers.get("x-ratelimit-remaining"));
      assert.ok(remaining >= 0 && remaining <= 60, `${remaining}`);
      assert.match(answer.headers.get("x-ratelimit-reset") ?? "", /^\d{10}$/);
      if (answer.status === 200) return true;
      assert.equal(answer.status, 429);
      assert.match(answer.headers.get("retry-after") ?? "", /^[1-9]\d?$/);
      return false;
    };

    const started = performance.now();
    const admittedMs: number[] = [];
    const tally = async (process: number) => {
      const admitted = await ask(process);
      if (admitted) admittedMs.push(performance.now() - started);
      return admitted;
    };
    await Promise.all(Array.from({ length: 240 }, (_, one) => tally(one)));
    const burst = admittedMs.length;
    const burstMs = performance.now() - started;
    // The last of them may lie with a process whose callers have all been answered.
    while ((await Promise.all([0, 1, 2].map(tally))).some((one) => one));
    const before = admittedMs.length;
    // On a busy machine a process may be silent for so long that up to half of the burst is set aside
    // for what the silent ones may issue themselves.
    const atLeast = performance.now() - started < graceMs ? 100 : 50;
    assert.ok(before >= atLeast, `${before} at once`);
    const begun = performance.now();
    await Promise.all([0, 1, 2].map(async (process) => {
      while (performance.now() - begun < watchedMs) {
        await tally(process);
        await new Promise((resolve) => setTimeout(resolve, 60));
      }
    }));
    const seconds = (performance.now() - begun) / 1000;
    const refill = admittedMs.length - before;
    console.log(
      `${burst} within ${burstMs.toFixed(0)} ms, then ${refill} in ${seconds.toFixed(1)} s`,
    );
    assert.ok(refill <= seconds + 1.5, `${refill} in ${seconds} s`);
    // Callers that wait for a processor ask less often than one token comes.
    const least = (seconds - 1.5) * (1000 / promisedMs(1000));
    assert.ok(refill >= least, `${refill} in ${seconds} s`);
    admittedMs.sort((one, other) => one - other).forEach((ms, index) => {
      const most = 100 + ms / 1000;
      assert.ok(index + 1 <= most + 0.5, `${index + 1} after ${ms} ms: one bucket gives ${most}`);
    });
    for (const one of services) assert.equal(await one.stop(), 0);
  },
);
