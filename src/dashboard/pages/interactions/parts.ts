import type { FlushRecords } from "../../../records/flush_records.ts";
import type {
  InteractionDetail,
  InteractionRepository,
} from "../../../records/interaction_repository.ts";
import type { MediaSigner } from "../../../records/signed_media.ts";
import type { CostLines } from "../../../repricing/cost_lines.ts";
import type { Deletions } from "../../../erasure/deletions.ts";
import type { Exports } from "../../../exports/exports.ts";
import type { Transcript } from "../../../records/transcript.ts";

/** What the pages on interactions work on. */
export interface InteractionDeps {
  interactions: InteractionRepository;
  /** Resolves when a read that begins now includes every call that was answered here. */
  flushRecords: FlushRecords;
  /** Labels of all vendors. */
  vendors: readonly string[];
  /** Id of each of the account's keys → its name. */
  keyNames: (accountId: number) => Promise<ReadonlyMap<string, string>>;
  readTranscript: (
    dialect: string,
    payloads: { request: string | null; response: string | null },
  ) => Promise<Transcript>;
  costLines: (detail: InteractionDetail) => Promise<CostLines | undefined>;
  mediaSigner: Pick<MediaSigner, "sign">;
  exports: Pick<Exports, "write">;
  deletions: Pick<Deletions, "erase">;
}
