import type { Buffer } from "node:buffer";
import { finish } from "../../base/steps.ts";
import { Turns } from "../../base/turns.ts";
import { bareInteraction, type SettledCall } from "../../shared/interaction.ts";
import { interactionFromJson, interactionToJson } from "../interaction_json.ts";
import { type QuotedTexts, quotedTextsOf } from "../quoted_texts.ts";
import type { Media } from "../../shared/media.ts";
import { type EncodedRecord, encodeRecord, type JournalRecord, scanRecords } from "./records.ts";

/**
 * Writes a call as a journal record. If the call's begin record is in the same file, the request is
 * left out, and the media in `begun`, which that record holds. `begun` is false if the record must
 * be complete.
 */
export function recordOf(
  kind: JournalRecord["kind"],
  interaction: SettledCall,
  begun: readonly Media[] | false = false,
): JournalRecord {
  const { media = [] } = interaction;
  const own = begun ? media.filter((one) => !begun.includes(one)) : media;
  const listed = own.length === 0
    ? undefined
    : own.map(({ sha256, mimeType }) => ({ sha256, mimeType }));
  return {
    kind,
    id: interaction.transactionId,
    body: interactionToJson(interaction, {
      requestText: null,
      responseText: null,
      media: listed,
    }),
    quoted: quotedTextsOf(interaction),
    request: begun ? undefined : interaction.requestText,
    response: interaction.responseText,
    media: own.map(({ content }) => content),
  };
}

/**
 * Encodes the end of a call. A record that can't be encoded would be retried for ever and block
 * every call, so it is reduced to how the call ended and what it cost, which always encodes.
 */
export function encodeEnd(
  interaction: SettledCall,
  begun: readonly Media[] | false,
  room: Buffer,
): EncodedRecord {
  try {
    return finish(encodeRecord(recordOf("end", interaction, begun), room));
  } catch {
    return finish(encodeRecord(recordOf("end", bareInteraction(interaction), begun), room));
  }
}

/** Returns the call of a begin record, without its request. */
export function begunCall(record: JournalRecord): SettledCall {
  return interactionOf(record, null);
}

/** Joins begin and end records, in the order in which they were written. */
export class CallReader {
  /** Calls that have begun and not ended so far. */
  readonly #begun = new Map<string, JournalRecord>();

  /** Takes the next record; returns the complete call if the record is its end. */
  take(record: JournalRecord): SettledCall | undefined {
    if (record.kind === "begin") {
      this.#begun.set(record.id, record);
      return undefined;
    }
    const begun = this.#begun.get(record.id);
    this.#begun.delete(record.id);
    if (record.request !== undefined) return interactionOf(record, record.request);
    const interaction = interactionOf(record, begun?.request ?? null, begun);
    // The begin record was damaged: the request is lost.
    return begun ? interaction : { ...interaction, payloadTruncated: true };
  }

  /** Yields the calls that never ended, as they began. */
  *unended(): Generator<SettledCall> {
    for (const record of this.#begun.values()) {
      yield interactionOf(record, record.request ?? null);
    }
  }
}

/**
 * Yields the calls that have ended in a file with these bytes, in order. The file may have thousands,
 * so other work gets its turns in between.
 */
export async function* endedCalls(
  bytes: Buffer,
  isWanted: (id: string) => boolean = () => true,
): AsyncGenerator<SettledCall> {
  const calls = new CallReader();
  const turns = new Turns();
  for (const { record } of scanRecords(bytes)) {
    await turns.pause();
    const call = record && isWanted(record.id) ? calls.take(record) : undefined;
    if (call) yield call;
  }
}

function interactionOf(
  record: JournalRecord,
  requestText: string | null,
  begun?: JournalRecord,
): SettledCall {
  const { media: _listed, ...row } = interactionFromJson(record.body);
  const response = row.retained?.response;
  // A copy: the file's bytes are released, and a message to another thread copies their whole buffer.
  if (response) {
    for (const [name, text] of Object.entries(record.quoted ?? {})) {
      response[name as keyof QuotedTexts] = new Uint8Array(text);
    }
  }
  const media = [...begun ? mediaOf(begun) : [], ...mediaOf(record)];
  return {
    ...{ ...row, requestText, responseText: record.response },
    ...(media.length > 0 ? { media } : {}),
  };
}

function mediaOf({ body, media }: JournalRecord): Media[] {
  if (media.length === 0) return [];
  const { media: listed = [] } = interactionFromJson(body);
  return listed.map(({ sha256, mimeType }, at) => ({ sha256, mimeType, content: media[at]! }));
}
