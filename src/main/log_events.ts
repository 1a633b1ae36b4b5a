import { createLog, type Log, type LogLines } from "../base/log.ts";
import { onlySeat, type WorkerSeat } from "../workers/parent_link.ts";
import type { LogFormat } from "./config.ts";

const greetingEvent = "start.greeting";

/**
 * The names of log events, by their messages. Operators write rules for both, so neither may change
 * any more. Each new log line gets a name here.
 */
export const logEvents: Readonly<Record<string, string>> = {
  "request": "request",
  "a request failed": "request.failed",
  "log lines of requests without a valid key were left out": "request.lines_left_out",
  "a page failed": "dashboard.page_failed",
  "a sign-in failed": "dashboard.sign_in_failed",
  "calls were refused: the service is overloaded": "overload.calls_refused",
  "the event loop was blocked": "overload.loop_blocked",
  "a vendor's reported usage or cost was implausible": "call.charge_disputed",
  "a step of settling a call failed": "call.settling_step_failed",
  "the end of a call could not be written to the journal": "call.end_not_noted",
  "a background call waits for the database": "background.waits_for_store",
  "a background job failed": "job.failed",
  "a background job works again": "job.works_again",
  "a backfill is complete": "migration.backfill_done",
  "migrating the database": "migration.begins",
  "a migration waits for locks; retrying": "migration.waits_for_locks",
  "another process migrates the database; waiting for it": "migration.waits_for_other",
  "credit could not be leased or returned": "credit.lease_failed",
  "the collector of traces can't be reached: spans are queued": "traces.collector_away",
  "the collector of traces accepts spans again": "traces.collector_back",
  "the collector of traces refused spans": "traces.refused",
  "spans could not be written": "traces.unwritable",
  "a budget could not be leased or returned": "budget.lease_failed",
  "a spend cap could not be leased or returned": "spend_cap.lease_failed",
  "an event could not be delivered to its webhook for a day and is dropped": "webhook.event_lost",
  "stopping: requests in flight have 30 seconds to end": "stop.begins",
  "an environment variable is unknown": "start.variable_unknown",
  "TRUST_PROXY is set, but BASE_URL isn't: links and cookies are for plain HTTP":
    "start.base_url_missing",
  "refused calls were not counted: the database was unavailable": "refusals.not_counted",
  "a deletion failed": "deletion.failed",
  "a deletion is done": "deletion.done",
  "a deletion that the database had lost is applied again": "deletion.applied_again",
  "the start waits for a deletion whose rows another session has locked":
    "deletion.locked_at_start",
  "old payloads erased": "retention.payloads_erased",
  "old usage rows erased": "retention.usage_erased",
  "old rejected records erased": "retention.rejected_erased",
  "files were rewritten without erased text": "vacuum.done",
  "erased text may be left": "vacuum.text_left",
  "an interaction could not be evaluated": "eval.item_failed",
  "an evaluation was interrupted": "eval.interrupted",
  "an export failed": "export.failed",
  "an export's answer broke off": "export.answer_broke_off",
  "an export's file could not be deleted": "export.file_not_removed",
  "idempotent answer not stored": "idempotency.answer_not_stored",
  "a claim could not be released": "idempotency.claim_not_returned",
  "a second charge could not be refunded": "idempotency.charge_not_returned",
  "vendor keys are now sealed under another MASTER_KEY than this process has: set the new one and restart; keys already loaded keep working":
    "vendor_key.master_key_changed",
  "a stored vendor key can't be opened": "vendor_key.unreadable",
  "a vendor key is paused": "vendor_key.rests",
  "a vendor key works again": "vendor_key.works_again",
  "the service's own vendor key does not work": "vendor_key.refused",
  "a vendor's model list is unavailable and left out": "vendor.model_list_missing",
  "a vendor's price list could not be read": "vendor.price_list_unread",
  "the listener stopped accepting connections; reopening its port": "listener.reopened",
  "the port could not be reopened; retrying": "listener.reopen_failed",
  "an answer broke off: its stream failed": "listener.answer_failed",
  "no file descriptors left (ulimit -n): ending connections without a request and accepting fewer from now on":
    "listener.no_descriptors",
  "connections ended: their TLS handshake took longer than CALLER_HEAD_TIMEOUT_MS":
    "connections.slow_handshake",
  "connections ended: no complete request head arrived within CALLER_HEAD_TIMEOUT_MS":
    "connections.slow_head",
  "connections ended: their request body stalled or was too slow (CALLER_BODY_TIMEOUT_MS)":
    "connections.slow_body",
  "connections ended: the caller read nothing of an answer for IDLE_TIMEOUT_MS":
    "connections.unread",
  "connections ended: too many bytes around the chunks of a request body":
    "connections.chunk_overhead",
  "connections ended: the request is not valid HTTP": "connections.malformed",
  "connections ended: their head is too large": "connections.too_large",
  "connections refused: the limit of open connections is reached (CONNECTIONS_MAX)":
    "connections.full",
  "connections refused: their address has reached its limit (CONNECTIONS_PER_PEER_MAX)":
    "connections.peer_full",
  "connections without a request ended to make room for new ones": "connections.made_room",
  "connections ended: their calls took longer than a stop waits for": "connections.stopping",
  "log lines were dropped: standard output could not be written": "log.lines_dropped",
  "recovered the journal and leases of the last run": "journal.recovered",
  "this DATA_DIR is a copy: its journal is recovered as well": "journal.copied",
  "the journal can't be written: no call can begin": "journal.write_failed",
  "the journal can be written again": "journal.write_mended",
  "waiting records in the journal can't be read back": "journal.records_lost",
  "waiting records can't be read back from the journal": "journal.unreadable",
  "the last record of a journal file is incomplete": "journal.torn",
  "a journal file is damaged: its readable records are stored": "journal.damaged",
  "the database is unavailable: records are queued": "store.away",
  "the database is available again: queued records are written": "store.back",
  "the database is unavailable at shutdown: queued records stay in the journal for the next start":
    "store.away_at_stop",
  "an account's records wait for rows that another session of the database has locked":
    "record.locked",
  "the records that waited for locked rows are written": "record.unlocked",
  "records that the database did not take in time stay in the journal": "record.late_at_stop",
  "the record of a call is stored without its payload": "record.without_payload",
  "the database rejected the record of a call": "record.rejected",
  "the database rejected the record of a call; it stays in the journal": "record.rejected_unsaved",
  "an account has reached its daily storage limit: payloads are truncated": "record.payloads_cut",
  "the response cache could not be read": "cache.read_failed",
  "an answer could not be stored in the response cache": "cache.write_failed",
  "the response cache could not be trimmed": "cache.trim_failed",
  "MODELS_FILE was reloaded": "models.file_read",
  "MODELS_FILE is invalid, so nothing was changed": "models.file_wrong",
  "a target of a virtual model no longer exists": "models.target_missing",
  "can't write to NOTIFY_SOCKET": "systemd.unreachable",
  "all workers answer calls": "workers.ready",
  "a worker ended; restarting it": "workers.ended",
  "a worker is back": "workers.back",
  "a worker is silent; killing it": "workers.silent",
  "a worker's directory can't be taken over": "workers.directory_left",
};

/** Returns the event of a message: its name, else its first words in snake case. */
function eventOf(message: string): string {
  return Object.hasOwn(logEvents, message) ? logEvents[message]! : unnamed(message);
}

function unnamed(message: string): string {
  return message.slice(0, 60).toLowerCase().split(/[^a-z0-9]+/).filter(Boolean).join("_");
}

/**
 * Creates the log of a process in the operator's format. With several workers, each line has the
 * number of its worker.
 */
export function createProgramLog(
  write: LogLines["write"],
  now: () => Date,
  { logFormat, seat = onlySeat }: { logFormat: LogFormat; seat?: WorkerSeat },
): Log {
  const common = seat.count > 1 ? { worker: seat.index } : {};
  return createLog(write, now, common, logFormat === "json" ? eventOf : undefined);
}

/**
 * Returns a function that prints the lines of a start: as they are, or in a JSON log as one record
 * for each line that is not empty.
 */
export function createPrint(
  print: (line: string) => void,
  now: () => Date,
  logFormat: LogFormat,
): (line: string) => void {
  if (logFormat === "text") return print;
  const log = createLog(print, now, {}, () => greetingEvent);
  return (line) => {
    if (line.trim() !== "") log.info(line.trim());
  };
}
