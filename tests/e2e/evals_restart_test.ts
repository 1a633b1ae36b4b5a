import assert from "@std/assert";
import { type Simulators, startSimulators } from "../../demo/simulators.ts";
import { anyDatabase } from "../support/any_database.ts";
import { startService } from "../support/process.ts";
import { startTestService } from "../support/service.ts";

const calls = 12;

/** A service as a program, or in this process. */
interface Service {
  readonly baseUrl: string;
}

Deno.test("an evaluation outlives kill -9 and SIGTERM, and judges every interaction once", async () => {
  await using database = await anyDatabase();
  const simulators = await startSimulators();
  const dataDir = await Deno.makeTempDir({ prefix: "gateway-evals-" });
  const env = { DATA_DIR: dataDir, ...database.env, ...vendors(simulators) };
  const start = () => startService({ env });
  try {
    const first = await start();
    const key = first.firstKey;
    for (let n = 0; n < calls; n++) {
      const messages = [{ role: "user", content: `n ${n} [slow:150]` }];
      const answer = await ask(first, key, "POST", "/chat/v1/chat/completions", {
        model: "vendor-b/gpt-4.1",
        messages,
      });
      assert.equal(answer.usage !== undefined, true, JSON.stringify(answer));
    }
    const { eval_run_id: id, total } = await ask(first, key, "POST", "/api/v1/evals", {
      ...{ model: "vendor-b/gpt-4.1", filters: {} },
      graders: [{ type: "regex", pattern: "." }, { type: "contains", value: "n " }],
    });
    assert.equal(total, calls);
    await reached(first, key, id, 3);
    first.kill("SIGKILL");
    await first.status;
    const second = await start();
    await reached(second, key, id, 6);
    assert.equal(await second.stop(), 0);
    await using third = await startTestService({ env });
    const run = await reached(third, key, id, calls);
    assert.deepEqual([run.state, run.counts.passed, run.counts.errors], ["done", calls, 0]);
    const { results } = await ask(third, key, "GET", `/api/v1/evals/${id}?limit=1000`);
    const places = results.map((one: Record<string, unknown>) =>
      `${one.transaction_id}/${one.grader_index}`
    );
    assert.equal(new Set(places).size, 2 * calls);
    assert.equal(places.length, 2 * calls);
    // Each answer is one stored call.
    const answers = new Set(
      results.map((one: Record<string, unknown>) => one.answer_transaction_id),
    );
    assert.equal(answers.size, calls);
  } finally {
    await simulators.close();
    await Deno.remove(dataDir, { recursive: true });
  }
});

function vendors(simulators: Simulators): Record<string, string> {
  const { baseUrl, apiKey } = simulators.vendors["vendor-b"];
  return { VENDOR_B_BASE_URL: baseUrl, VENDOR_B_API_KEY: apiKey };
}

async function ask(
  service: Service,
  key: string,
  method: string,
  path: string,
  body?: unknown,
) {
  const answer = await fetch(service.baseUrl + path, {
    method,
    headers: { authorization: `Bearer ${key}` },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return await answer.json();
}

async function reached(service: Service, key: string, id: string, done: number) {
  for (let look = 0; look < 3_000; look++) {
    const run = await ask(service, key, "GET", `/api/v1/evals/${id}`);
    const over = done < calls || run.state === "done" || run.state === "failed";
    if (run.counts.done >= done && over) return run;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`not ${done} interactions are judged`);
}
