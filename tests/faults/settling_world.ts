/** A gateway of real parts, of which each step between an answer's last byte and its row can fail. */
import { createLearnedEndpoints } from "../../src/vendors/learned_endpoints.ts";
import { parseConfig } from "../../src/main/config.ts";
import type { DialectName } from "../../contracts/calls/vendors.ts";
import type { Principal } from "../../src/keys/api_key.ts";
import { firstStart } from "../../src/main/serve.ts";
import { jobCaller } from "../../src/relay/call_context.ts";
import type { Reply } from "../../src/relay/reply.ts";
import { type SettlingStep, SettlingSteps } from "../../src/relay/settling_steps.ts";
import type { Dialect } from "../../src/dialects/kernel/dialect.ts";
import { createServices, type Services } from "../../src/main/application.ts";
import { openJournal } from "../../src/records/journal/journal.ts";
import { openMasterKey } from "../../src/keys/store/master_key.ts";
import { openAnalyticsStore } from "../../src/main/open_stores.ts";
import { openDatabase } from "../../src/database/open.ts";
import { type Calls, createCalls } from "../../src/main/calls.ts";
import { createLookupTurns } from "../../src/vendors/public_agents.ts";
import { faulty } from "../support/faulty.ts";
import { ensureMigrated } from "../support/new_database.ts";
import { temporaryDirectory } from "../support/service_files.ts";

/** The steps of settling itself, and what it and the answer's way depend on. */
export const steps = [
  ...["answered", "price", "identity", "prompt", "bill", "usage", "answer", "payload", "kept"],
  ...["journal", "record", "remember", "tell", "authorization", "streams"],
].map((step) => `step ${step}`);
export const dependencies = [
  ...["prices.find", "journal.end", "kept.remember", "recorder.record", "trace.onSettled"],
  ...["authorization.settle", "dialect.encodeAnswer", "encoder.end", "encoder.fail", "decoder.end"],
];
/** Where the answer itself is read and written: the vendor's words after that don't come. */
export const cuts = ["decoder.decode", "encoder.encode", "dialect.decodeAnswer"];

export interface World extends AsyncDisposable {
  services: Services;
  calls: Calls;
  /** Has this fail from now on, until the call has ended. */
  arm(point: string | undefined): void;
  /** How often something failed so. */
  readonly fired: number;
  /** Points at which nothing ever failed, of those that were armed. */
  readonly neverFired: readonly string[];
  send(call: { caller: DialectName; body: unknown; tail?: string }): Promise<Sent>;
  /** As a caller of any other kind. */
  callerOf(endpoint: string): ReturnType<typeof jobCaller>;
  /** What the store has: rows by call, and what the ledger says was charged in all. */
  books(): Promise<{ charges: Map<string, bigint[]>; chargedNanos: bigint }>;
}

export interface Sent {
  transactionId: string | undefined;
  reply: Reply | undefined;
}

export async function startWorld(env: Record<string, string>): Promise<World> {
  const dataDir = temporaryDirectory("settling");
  const config = parseConfig({ PORT: "0", DATA_DIR: dataDir, ...env });
  await ensureMigrated(dataDir);
  const database = await openDatabase(config.databaseUrl, dataDir);
  const journal = await openJournal(`${dataDir}/journal`, { sync: "always" });
  const masterKey = await openMasterKey({ configured: undefined, dataDir, database });
  const stack = new AsyncDisposableStack();
  const analytics = await openAnalyticsStore(config, database, stack);
  const opened = {
    ...{ database, analytics, masterKey, journal },
    ...{ processId: "a-process", processDir: dataDir, leftDirs: [] },
  };
  stack.defer(() => database.close());
  stack.defer(() => journal.close());
  const services = createServices(config, opened, "test", { write() {}, flush() {} }, stack);
  await services.start();
  const key = await firstStart(services);
  const principal = await services.keys.keyCache.verify(key!.reveal());
  const fault = new ArmedFault();
  const calls = faultyCalls(services, journal, fault);
  return {
    services,
    calls,
    arm: (point) => fault.arm(point),
    get fired() {
      return fault.fired;
    },
    get neverFired() {
      return [...fault.unfired];
    },
    callerOf: (endpoint) => callerOf(services, principal, endpoint, fault),
    async send({ caller, body, tail = "" }) {
      const from = callerOf(services, principal, `/${caller}${tail}`, fault);
      const bodyText = JSON.stringify(body);
      const dialect = fault.dialects[caller]!;
      const request = { caller: from, dialect, vendor: undefined, body, bodyText };
      const reply = await calls.relay.send(request).catch(() => undefined);
      // What a caller reads may end with an error of its own.
      await new Response(reply?.body as BodyInit | null).arrayBuffer().catch(() => {});
      await new Promise((resolve) => setTimeout(resolve));
      return { transactionId: from.trace.transactionId, reply };
    },
    async books() {
      await services.records.flushRecords({ timeoutMs: Infinity });
      const rows = await database.query(
        "select transaction_id, charged_nanos from interactions",
        [],
      );
      const [sum] = await database.query(
        `select coalesce(-sum(amount_nanos), 0)::bigint as charged from ledger_entries
         where kind in ('settle', 'adjust')`,
        [],
      );
      const charges = new Map<string, bigint[]>();
      for (const { transaction_id: id, charged_nanos: nanos } of rows) {
        charges.set(String(id), [...charges.get(String(id)) ?? [], nanos as bigint]);
      }
      return { charges, chargedNanos: sum!.charged as bigint };
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

class ArmedFault {
  dialects: Record<string, Dialect> = {};
  fired = 0;
  readonly unfired = new Set<string>();
  readonly #met = new Set<string>();
  #point: string | undefined;
  #passed = 0;

  arm(point: string | undefined): void {
    this.#point = point;
    this.#passed = 0;
    if (point !== undefined && !this.#met.has(point)) this.unfired.add(point);
  }

  /** Streams fail in their middle: at the fifth of what happens often. */
  at(point: string): void {
    if (point !== this.#point) return;
    const isOften = point === "decoder.decode" || point === "encoder.encode";
    if (isOften && ++this.#passed < 5) return;
    // The simpler case is possible too.
    if (point === "recorder.record") this.#point = undefined;
    this.fired++;
    this.#met.add(point);
    this.unfired.delete(point);
    throw new TypeError("a fault of the test's");
  }
}

function faultyCalls(services: Services, journal: Parameters<typeof faulty>[0], fault: ArmedFault) {
  const named = (name: string) => (method: string) => fault.at(`${name}.${method}`);
  const coder = (name: string) => (result: never) => faulty(result, named(name));
  const dialects = Object.fromEntries(
    Object.entries(services.dialects).map(([name, dialect]) => [
      name,
      faulty(dialect, named("dialect"), {
        createStreamDecoder: coder("decoder"),
        createStreamEncoder: coder("encoder"),
      }),
    ]),
  ) as Services["dialects"];
  fault.dialects = dialects;
  const log = services.log;
  const before = (step: SettlingStep) => fault.at(`step ${step}`);
  const settling = new SettlingSteps({ log, before });
  const reserved = (result: never) =>
    (result as Promise<object>).then((one) => faulty(one, named("authorization")));
  return createCalls(services.config, {
    ...{ ...services.vendors, ...services.keys, ...services.credit, ...services.records },
    ...{ clock: services.clock, log, newId: services.newId },
    ...{ routes: services.routing.routes, keyPools: services.keyPools },
    targetHealth: services.targetHealth,
    lookups: createLookupTurns(),
    budgetHolds: services.budgets.budgetHolds,
    dialects,
    learned: createLearnedEndpoints({ clock: services.clock }),
    settling,
    journal: faulty(journal, named("journal")) as never,
    prices: faulty(services.vendors.prices, named("prices")),
    storedResponses: faulty(services.storedResponses, named("kept")),
    ...{
      responseCache: services.responseCache,
      readAhead: services.readAhead,
      copies: services.copies,
    },
    recorder: faulty(services.records.recorder, named("recorder")),
    reservations: faulty(services.credit.reservations, named("reservations"), {
      reserve: reserved,
    }),
  });
}

function callerOf(
  { clock, calls: { heavy } }: Services,
  principal: Principal,
  endpoint: string,
  fault: ArmedFault,
): ReturnType<typeof jobCaller> {
  const requestId = crypto.randomUUID();
  const { signal } = new AbortController();
  const call = { principal, endpoint, requestId, sessionId: null, userId: null, signal };
  const caller = jobCaller({ clock, heavy }, call);
  caller.trace.onSettled = () => fault.at("trace.onSettled");
  return caller;
}
