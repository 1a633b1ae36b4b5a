import type { Interaction } from "../domain/interaction.ts";
import { interactionFromJson, interactionToJson } from "./interaction_json.ts";
import type { JournalRecord } from "./journal_records.ts";

/** A call as a record; `asBegun` leaves the request to the begin record in the same file. */
export function recordOf(
  kind: JournalRecord["kind"],
  interaction: Interaction,
  asBegun = false,
): JournalRecord {
  const { requestText, responseText } = interaction;
  return {
    kind,
    id: interaction.transactionId,
    body: interactionToJson({ ...interaction, requestText: null, responseText: null }),
    request: asBegun ? undefined : requestText,
    response: responseText,
  };
}

/** Puts records together again, given in the order in which they were written. */
export class CallReader {
  /** Calls that began and have not ended so far. */
  readonly #begun = new Map<string, JournalRecord>();

  /** The call as it ended, if this is its end. */
  take(record: JournalRecord): Interaction | undefined {
    if (record.kind === "begin") {
      this.#begun.set(record.id, record);
      return undefined;
    }
    const begun = this.#begun.get(record.id);
    this.#begun.delete(record.id);
    if (record.request !== undefined) return interactionOf(record, record.request);
    const interaction = interactionOf(record, begun?.request ?? null);
    // Its beginning was damaged: what the caller sent is lost.
    return begun ? interaction : { ...interaction, payloadTruncated: true };
  }

  /** The calls that began and never ended, as they began. */
  *unended(): Generator<Interaction> {
    for (const record of this.#begun.values()) {
      yield interactionOf(record, record.request ?? null);
    }
  }
}

function interactionOf(record: JournalRecord, requestText: string | null): Interaction {
  return { ...interactionFromJson(record.body), requestText, responseText: record.response };
}
