import assert from "@std/assert";
import { FakeTimers } from "../../tests/support/fake_timers.ts";
import { Fault } from "../shared/fault.ts";
import { createReadiness } from "./readiness.ts";

const unavailable = (thrown: unknown) =>
  thrown instanceof Fault && thrown.code === "store_unavailable";

Deno.test("probes that come while the database is asked share its answer", async () => {
  const asked: PromiseWithResolvers<void>[] = [];
  const ready = createReadiness(() => {
    asked.push(Promise.withResolvers());
    return asked.at(-1)!.promise;
  });
  const probes = [ready(), ready(), ready()];
  assert.equal(asked.length, 1);
  asked[0]!.resolve();
  await Promise.all(probes);
  const again = ready();
  assert.equal(asked.length, 2, "an answer is not kept");
  asked[1]!.reject(new Fault("store_unavailable"));
  await assert.rejects(again, unavailable);
});

Deno.test("a database that doesn't answer makes a service not ready, until it is asked again", async () => {
  const timers = new FakeTimers();
  const asked: PromiseWithResolvers<void>[] = [];
  const ready = createReadiness(() => {
    asked.push(Promise.withResolvers());
    return asked.at(-1)!.promise;
  }, timers.later);
  const probes = [ready(), ready()].map((probe) => assert.rejects(probe, unavailable));
  timers.advance(2_000);
  await Promise.all(probes);
  // The first question is still open: a server that is back answers the next one.
  const next = ready();
  asked[1]!.resolve();
  await next;
  asked[0]!.reject(new Error("too late to matter"));
});
