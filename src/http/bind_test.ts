import assert from "@std/assert";
import { Hono } from "hono";
import { contracts } from "../../contracts/mod.ts";
import { createByteGate } from "../base/byte_gate.ts";
import { FakeClock } from "../base/clock.ts";
import { createHeavyWork } from "../base/heavy_work.ts";
import { createValueGate } from "../base/value_gate.ts";
import type { Principal } from "../keys/api_key.ts";
import { Endpoints } from "./bind.ts";
import { DirectEndpoints } from "./direct_endpoints.ts";
import { newRequestContext } from "./middleware/request_context.ts";
import type { Env } from "./request_context.ts";

Deno.test("heavy work on an answer waits for its turn however long that takes", async () => {
  // Timers run in the order in which they are set, so a caller with a timeout is too late.
  const work = createHeavyWork({
    tooLate: () => new Error("too late"),
    setTimer: (_ms, run) => (queueMicrotask(run), () => {}),
  });
  const direct = new DirectEndpoints();
  const endpoints = new Endpoints(new Hono<Env>(), {
    maxBodyBytes: 1024,
    bodies: createByteGate({ capacityBytes: 1024 }),
    heavy: { work, room: createValueGate(1) },
    onFault: () => {},
    errorDialect: () => "service",
    isFirstAccount: () => Promise.resolve(false),
    arrivalOf: (_accountId, { arrivedAt }) => arrivedAt,
    direct,
  });
  endpoints.bind(contracts.status, async ({ caller }) => {
    const body = await caller.heavyStep!()(() => "read");
    return { reply: { status: 200, headers: {}, body } };
  });
  const deps = { clock: new FakeClock(), newRequestId: () => "id", trustProxy: false };
  const context = newRequestContext(deps, () => undefined);
  context.principal = { account: { id: 1 }, key: { scopes: [] } } as unknown as Principal;
  const path = "/api/v1/status";
  const { body } = await direct.find("GET", path)!.endpoint({
    ...{ method: "GET", path, header: () => undefined, headerNames: () => [] },
    ...{ queries: () => ({}), params: () => ({}) },
    signal: new AbortController().signal,
    body: { whole: () => Promise.resolve(new Uint8Array()), pieces: () => undefined },
  }, context);
  assert.equal(body, "read");
});
