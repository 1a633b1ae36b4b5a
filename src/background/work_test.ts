import assert from "@std/assert";
import { interactionRow } from "../../tests/support/interaction_row.ts";
import { FakeClock } from "../base/clock.ts";
import { dialects } from "../dialects/text/mod.ts";
import type { Principal } from "../keys/api_key.ts";
import type { StopReason } from "../relay/background_task.ts";
import type { RelayRequest } from "../relay/relay.ts";
import { Fault } from "../shared/fault.ts";
import type { SettledCall } from "../shared/interaction.ts";
import { createRegistry } from "../vendors/registry.ts";
import type { ClaimedBackgroundCall } from "./background_call.ts";
import type { ClaimedCall } from "./runner.ts";
import { type BackgroundAskDeps, workOn } from "./work.ts";

const clock = new FakeClock();
const hourMs = 60 * 60_000;
const key = { revokedAt: null, expiresAt: null };
const form = dialects.responses.background!;
const mcp = '{"input":"Hi.","tools":[{"type":"mcp","server_label":"s","server_url":"https://x"}]}';

interface Case extends Partial<Omit<ClaimedBackgroundCall, "request">> {
  bodyText?: string;
  hasOwnKey?: boolean;
  ageMs?: number;
  /** Of the API key; null: it is gone. */
  key?: { revokedAt?: Date; expiresAt?: Date } | null;
  /** Why the call is stopped: before it is begun, or while the vendor is asked. */
  stopped?: StopReason;
  stoppedMeanwhile?: StopReason;
  /** Thrown instead of an answer, by when the call may have its place in the records. */
  fault?: Fault;
  transactionId?: string;
}

/** What the worker did with the call: asked the vendor, released it, or recorded how it ended. */
async function outcomeOf({ bodyText = '{"input":"Hi."}', hasOwnKey = false, ...one }: Case) {
  const { ageMs = 0, key: changed = {}, stopped, stoppedMeanwhile, fault, ...more } = one;
  const { transactionId, ...call } = more;
  const begun = interactionRow("txn", { createdAt: new Date(clock.now().getTime() - ageMs) });
  const request = { bodyText, path: "/v1/responses", vendor: null, headers: {}, hasOwnKey, begun };
  const claimed: ClaimedBackgroundCall = {
    ...{ accountId: 1, responseId: "resp", state: "in_progress", attempts: 1, request },
    ...{ answerText: '{"id":"resp","status":"queued"}', ...call },
  };
  const done: unknown[] = [];
  const working = { stopped } as ClaimedCall;
  const stop = new AbortController();
  const deps: BackgroundAskDeps = {
    store: {
      begin: () => Promise.resolve(claimed),
      release: (_, { ms, uncounted }) =>
        Promise.resolve(void done.push(["released", ms, uncounted ? "uncounted" : "counted"])),
      endUnrecorded: () => Promise.resolve(void done.push("given up")),
    },
    relay: {
      send({ caller }: RelayRequest) {
        done.push("asked");
        if (transactionId !== undefined) caller.trace.transactionId = transactionId;
        if (stoppedMeanwhile !== undefined) {
          working.stopped = stoppedMeanwhile;
          stop.abort();
        }
        if (fault) return Promise.reject(fault);
        caller.trace.settled = begun;
        return Promise.resolve({ status: 200, headers: {}, body: null });
      },
    },
    apiKeys: {
      findById: () =>
        Promise.resolve(
          changed === null ? undefined : { key: { ...key, ...changed } } as Principal,
        ),
    },
    recorder: {
      record: ({ status, errorCode }: SettledCall) => void done.push([status, errorCode]),
    } as never,
    journal: { begin() {}, end: () => Promise.resolve() },
    ...{ registry: createRegistry({}, []), dialects, form, clock, heavy: {} as never },
    ...{ payloadMaxBytes: 1000, mediaInlineBytes: 1000, timeoutMs: 1000 },
  };
  await workOn(deps, working, stop);
  return done;
}

Deno.test("a background call runs within its limits only, and ends in any case", async () => {
  const failed = (code: string) => [["failed", code]];
  const past = new Date(clock.now().getTime() - 1);
  const cases: [Case, unknown[]][] = [
    [{}, ["asked"]],
    [{ attempts: 3, ageMs: 19 * hourMs }, ["asked"]],
    [{ key: { revokedAt: past } }, failed("invalid_api_key")],
    [{ key: { expiresAt: past } }, failed("invalid_api_key")],
    [{ key: null }, failed("invalid_api_key")],
    [{ hasOwnKey: true }, failed("internal_error")],
    [{ bodyText: mcp }, ["asked"]],
    [{ bodyText: mcp, attempts: 2 }, failed("internal_error")],
    [{ attempts: 4 }, failed("internal_error")],
    [{ attempts: 7 }, ["given up"]],
    [{ ageMs: 21 * hourMs }, failed("overloaded")],
    [{ state: "cancelled" }, [["cancelled", null]]],
    [{ state: "deleted" }, [["cancelled", null]]],
  ];
  for (const [one, expected] of cases) {
    assert.deepEqual(await outcomeOf(one), expected, JSON.stringify(one));
  }
});

Deno.test("a call that can't be made now is released for later, and any other one ends", async () => {
  const later = ["released", 2_000, "uncounted"];
  const fault = new Fault("store_unavailable");
  const cases: [Case, unknown[]][] = [
    [{ fault }, ["asked", later]],
    [{ fault: new Fault("overloaded") }, ["asked", later]],
    [{ fault: new Fault("insufficient_credits") }, ["asked", ["failed", "insufficient_credits"]]],
    [{ fault, stoppedMeanwhile: "cancelled" }, ["asked", ["cancelled", null]]],
    [{ fault, stoppedMeanwhile: "given_up" }, ["asked", ["released", 0, "uncounted"]]],
    [
      { fault, stoppedMeanwhile: "given_up", transactionId: "txn" },
      ["asked", ["released", 0, "counted"]],
    ],
    // It is not begun, so this is not an attempt.
    [{ stopped: "given_up" }, [["released", 0, "counted"]]],
  ];
  for (const [one, expected] of cases) {
    assert.deepEqual(await outcomeOf(one), expected, JSON.stringify(one));
  }
});
