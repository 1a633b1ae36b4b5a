import { createGcHint } from "../../base/gc_hint.ts";
import type { Clock } from "../../base/clock.ts";
import type { Log } from "../../base/log.ts";
import type { Config } from "../config.ts";
import { Fault, messageOf } from "../../shared/fault.ts";
import type { InteractionStore } from "../../shared/interaction.ts";
import type { Ledger } from "../../credit/ledger.ts";
import { createSpendCaps, type SpendCaps } from "../../credit/spend_cap.ts";
import type { SelectableCall } from "../../shared/interaction.ts";
import type { RecordedForm } from "../../relay/call_facts.ts";
import { createReservations, type Reservations } from "../../credit/reservations.ts";
import {
  createIdempotency,
  type Duplicate,
  type Idempotency,
} from "../../idempotency/idempotency.ts";
import { createRecorder, type Recorder } from "../../records/recorder.ts";
import { StoredBytes } from "../../records/stored_bytes.ts";
import { payloadRulesOf, storePayloads } from "../../relay/truncate_payloads.ts";
import { Tries } from "../../relay/settling_steps.ts";
import { every } from "../../shared/every.ts";
import type { Database } from "../../database/database.ts";
import { refundCharge } from "../../credit/store/refund_charge.ts";
import type { Journal } from "../../records/journal/journal.ts";
import { createLedger } from "../../credit/store/ledger.ts";
import { createRecords } from "../../records/store/records.ts";
import { createReplays } from "../../idempotency/store/replays.ts";
import { createSpend, sweepKeyCharges } from "../../credit/store/spend.ts";

/** What calls are paid, recorded and repeated with. */
export interface MoneyServices {
  interactions: InteractionStore;
  ledger: Ledger;
  reservations: Reservations;
  spendCaps: SpendCaps;
  recorder: Recorder;
  storedBytes: StoredBytes;
  /** How calls are settled, step by step. */
  tries: Tries;
  idempotency: Idempotency;
  /** Takes in what an earlier run of this process left; before the first call. */
  recover: () => Promise<void>;
  /** Ends the jobs; calls under way may still settle. */
  stopJobs: () => void;
}

/** What the parts are made of. */
export interface MoneyOptions {
  config: Config;
  database: Database;
  /** Where interactions stand; `database` unless it is configured. */
  analytics: Database;
  /** Everything that records are written in. */
  recordedForms: readonly RecordedForm[];
  journal: Journal;
  /** Names this process's leases over restarts. */
  processId: string;
  clock: Clock;
  log: Log;
  newId: () => string;
  pause: (ms: number) => Promise<void>;
  /** Whether a call was erased while it was under way. */
  isErased: (call: SelectableCall) => boolean;
  /** Told which calls were not written for that. */
  dropped: (transactionIds: readonly string[]) => Promise<void>;
}

const giveBackAttempts = 60;
const giveBackPauseMs = 1000;

export function createMoneyServices(options: MoneyOptions): MoneyServices {
  const { config, database, analytics, journal, processId, clock, log, newId, pause } = options;
  const interactions = createRecords(database, analytics, options.dropped);
  const ledger = createLedger(database);
  const storedBytes = new StoredBytes({ perDay: config.storedBytesPerDay, clock, log });
  const tries = new Tries({ log });
  const recorder = createRecorder({
    store: storePayloads(
      interactions,
      payloadRulesOf(config, options.recordedForms),
      { garbage: createGcHint(8 * 1024 * 1024), room: storedBytes, tries },
    ),
    log,
    pause,
    stored: (ids) => journal.stored(ids),
    spillSpace: journal,
    reject: (interaction, reason) => journal.reject(interaction, reason),
  });
  const shared = database.kind === "postgres";
  const { leaseSeconds } = config;
  const reservations = createReservations({
    ledger,
    clock,
    log,
    newId,
    processId,
    leaseSeconds,
    shared,
  });
  const spendCaps = createSpendCaps({ store: createSpend(database), clock });
  const replays = createReplays(database, { processId });
  const idempotency = createIdempotency({
    store: replays,
    clock,
    newId,
    setTimer: later,
    log,
    isErased: options.isErased,
    onDuplicate: (duplicate) =>
      void giveBack({ database, analytics, recorder, log, pause }, duplicate),
  });
  const sweep = async () => {
    await replays.sweep();
    await sweepKeyCharges(database, clock.now());
  };
  const jobs = [
    every(1_000, () => reservations.tick(), log, "credit leases"),
    every(10_000, async () => void await ledger.sweepExpired(), log, "expired leases"),
    every(1_000, () => spendCaps.refresh(), log, "spend caps"),
    every(10_000, () => idempotency.maintain(), log, "keep claims"),
    every(60_000, sweep, log, "sweep replays"),
  ];
  return {
    interactions,
    ledger,
    reservations,
    spendCaps,
    recorder,
    storedBytes,
    tries,
    idempotency,
    recover: () => recover(options, { recorder, ledger }),
    stopJobs: () => jobs.forEach((stop) => stop()),
  };
}

/** Charges first: what a lease still holds after them is what calls did not use. */
async function recover(
  { journal, processId, log }: MoneyOptions,
  { recorder, ledger }: Pick<MoneyServices, "recorder" | "ledger">,
): Promise<void> {
  const found = await journal.replay(async (interactions) => {
    for (const interaction of interactions) recorder.record(interaction);
    await recorder.drain();
  });
  const { leases } = await ledger.takeBack(processId);
  if (found.ended + found.interrupted + leases === 0) return;
  log.info("took in what the last run left", { ...found, leases });
}

async function giveBack(
  deps: Pick<MoneyOptions, "database" | "analytics" | "log" | "pause"> & { recorder: Recorder },
  { accountId, transactionId, claim, originalId }: Duplicate,
): Promise<void> {
  const { database, analytics, recorder, log, pause } = deps;
  const note = `the same request was answered by ${originalId ?? "another call"}`;
  const act = async () => {
    await recorder.drain();
    await refundCharge(database, { accountId, transactionId, claim, note }, analytics);
  };
  try {
    // It is found as the store comes back, when the call's own row may still wait for it.
    for (let attempt = 1; attempt < giveBackAttempts; attempt++) {
      if (await act().then(() => true, isTemporary)) return;
      await pause(giveBackPauseMs);
    }
    await act();
  } catch (thrown) {
    log.error("a second charge could not be given back", {
      transaction: transactionId,
      reason: messageOf(thrown),
    });
  }
}

/** False when it may go better later; throws all else. */
function isTemporary(thrown: unknown): boolean {
  if (thrown instanceof Fault && thrown.code === "store_unavailable") return false;
  throw thrown;
}

function later(ms: number, run: () => void): () => void {
  const timer = setTimeout(run, ms);
  return () => clearTimeout(timer);
}
