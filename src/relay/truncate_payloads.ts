import { pushAll } from "../base/lists.ts";
import { Turns } from "../base/turns.ts";
import type { GcHint } from "../base/gc_hint.ts";
import type { MediaField } from "../dialects/kernel/media_field.ts";
import {
  bareInteraction,
  type InsertOptions,
  type InteractionStore,
  type SettledCall,
} from "../shared/interaction.ts";
import { mediaBytes } from "../shared/media.ts";
import type { RecordedForm } from "./recorded_request.ts";
import { externalizeMedia } from "../records/externalize_media.ts";
import { capPayload } from "../records/payload.ts";
import { storablePart, type StoredBytes } from "../records/stored_bytes.ts";
import type { SettlingSteps } from "./settling_steps.ts";

/** How payloads are shortened on their way into the store. */
export interface PayloadRules {
  /** `PAYLOAD_MAX_BYTES`, of each payload, without its media. */
  payloadMaxBytes: number;
  /** `MEDIA_INLINE_BYTES`. */
  mediaInlineBytes: number;
  /** The fields that hold media, by dialect. */
  mediaFields: Readonly<Record<string, readonly MediaField[]>>;
}

/** The configuration's rules, with the media fields of dialects and operations. */
export function payloadRulesOf(
  config: Pick<PayloadRules, "payloadMaxBytes" | "mediaInlineBytes">,
  forms: readonly RecordedForm[],
): PayloadRules {
  // Several operations are recorded under one name, such as all that make images.
  const mediaFields: Record<string, MediaField[]> = {};
  for (const { name, mediaFields: fields } of forms) {
    mediaFields[name] = [...new Set([...mediaFields[name] ?? [], ...fields])];
  }
  const { payloadMaxBytes, mediaInlineBytes } = config;
  return { payloadMaxBytes, mediaInlineBytes, mediaFields };
}

/** UTF-16 units of payloads that are processed at once; a single row may have more. */
const chunkUnits = 8 * 1024 * 1024;

/**
 * Wraps a store so that it takes rows with payloads as they were sent: moves large media out of
 * them and cuts the rest to its limit. No caller waits for this.
 */
export function storePayloads(
  store: Pick<InteractionStore, "insert">,
  rules: PayloadRules,
  { gcHint = { addReleased() {} }, room = unbounded, settling }: {
    gcHint?: GcHint;
    room?: Pick<StoredBytes, "fit">;
    settling?: SettlingSteps;
  } = {},
): Pick<InteractionStore, "insert"> {
  // If a payload can't be converted, its row is stored without payloads, and other rows as usual.
  const formOf = (row: SettledCall) =>
    settling
      ? settling.run(
        "stored form",
        row.transactionId,
        () => storedForm(row, rules),
        () => bareInteraction(row),
      )
      : storedForm(row, rules);
  const insert = async (chunk: readonly SettledCall[], options?: InsertOptions) => {
    const { rows, stored } = room.fit(chunk);
    await store.insert(rows, options);
    stored();
    gcHint.addReleased(mediaBytes(chunk.flatMap(({ media = [] }) => media)));
  };
  return {
    async insert(rows, options) {
      let chunk: SettledCall[] = [];
      let units = 0;
      const turns = new Turns();
      for (const row of rows) {
        await turns.pause();
        const size = (row.requestText?.length ?? 0) + (row.responseText?.length ?? 0) +
          mediaBytes(row.media);
        if (chunk.length > 0 && units + size > chunkUnits) {
          await insert(chunk, options);
          chunk = [];
          units = 0;
        }
        chunk.push(formOf(row));
        units += size;
      }
      if (chunk.length > 0) await insert(chunk, options);
    },
  };
}

const unbounded: Pick<StoredBytes, "fit"> = {
  fit: (rows) => ({ rows: [...rows], stored() {} }),
};

/** Returns the row as it is stored; idempotent. */
export function storedForm(row: SettledCall, rules: PayloadRules): SettledCall {
  const options = {
    inlineBytes: rules.mediaInlineBytes,
    fields: rules.mediaFields[row.dialect] ?? [],
  };
  const media = [...row.media ?? []];
  let truncated = row.payloadTruncated;
  const store = (text: string | null) => {
    if (text === null) return null;
    const lifted = externalizeMedia(text, options);
    pushAll(media, lifted.media);
    const capped = capPayload(lifted.text, rules.payloadMaxBytes);
    truncated ||= capped.truncated;
    return capped.text;
  };
  const requestText = store(row.requestText);
  const responseText = store(row.responseText);
  return storablePart({
    ...row,
    requestText,
    responseText,
    payloadTruncated: truncated,
    ...(media.length > 0 ? { media } : {}),
  });
}
