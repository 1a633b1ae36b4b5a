import type { Clock } from "../base/clock.ts";
import type { Steps } from "../base/steps.ts";
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
import { type PayloadLimits, storedPayload } from "../records/payload.ts";
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
 * them and cuts the rest to its limit, in steps. No caller waits for this.
 */
export function storePayloads(
  store: Pick<InteractionStore, "insert">,
  rules: PayloadRules,
  { gcHint = { addReleased() {} }, room = unbounded, settling, clock }: {
    gcHint?: GcHint;
    room?: Pick<StoredBytes, "fit">;
    settling?: SettlingSteps;
    clock?: Pick<Clock, "monotonicMs">;
  } = {},
): Pick<InteractionStore, "insert"> {
  // If a payload can't be converted, its row is stored without payloads, and other rows as usual.
  const formOf = (row: SettledCall) =>
    settling
      ? settling.runSteps(
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
      const turns = new Turns(clock);
      for (const row of rows) {
        await turns.pause();
        const size = (row.requestText?.length ?? 0) + (row.responseText?.length ?? 0) +
          mediaBytes(row.media);
        if (chunk.length > 0 && units + size > chunkUnits) {
          await insert(chunk, options);
          chunk = [];
          units = 0;
        }
        chunk.push(await turns.finish(formOf(row)));
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
export function* storedForm(row: SettledCall, rules: PayloadRules): Steps<SettledCall> {
  const limits = {
    maxBytes: rules.payloadMaxBytes,
    inlineBytes: rules.mediaInlineBytes,
    fields: rules.mediaFields[row.dialect] ?? [],
  };
  const request = yield* payloadOf(row.requestText, limits);
  const response = yield* payloadOf(row.responseText, limits);
  const media = [...row.media ?? [], ...request.media, ...response.media];
  return storablePart({
    ...row,
    requestText: request.text,
    responseText: response.text,
    payloadTruncated: row.payloadTruncated || request.truncated || response.truncated,
    ...(media.length > 0 ? { media } : {}),
  });
}

function* payloadOf(text: string | null, limits: Omit<PayloadLimits, "credentials">) {
  if (text === null) return { text, truncated: false, media: [] };
  return yield* storedPayload(text, limits);
}
