import type { InteractionDesk, InteractionDetail } from "../../../domain/interaction_desk.ts";
import type { MediaSigner } from "../../../domain/signed_media.ts";
import type { CostLines } from "../../../gateway/cost_lines.ts";
import type { Deletions } from "../../../gateway/deletions.ts";
import type { Exports } from "../../../gateway/exports.ts";
import type { Transcript } from "../../../gateway/transcript.ts";

/** What the pages on interactions work on. */
export interface InteractionParts {
  desk: InteractionDesk;
  /** Resolves when a read that begins now includes every call that was answered here. */
  caughtUp: () => Promise<void>;
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
