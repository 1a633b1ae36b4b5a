import { familyChat, unifiedChat } from "./calls/chat.ts";
import { getCohort, postCohortOutcome } from "./data/cohort.ts";
import type { Contract } from "./kernel/contract.ts";
import { documents } from "./kernel/document.ts";
import { deleteData, getDeletion, requestErasure } from "./data/deletion.ts";
import { cancelEval, createEval, getEval, listEvals } from "./data/evals.ts";
import { familyGenerate, unifiedGenerate } from "./calls/generate.ts";
import { unifiedEmbeddings } from "./calls/embeddings.ts";
import { unifiedGenerateOperations } from "./calls/generate_operations.ts";
import { familyOperations } from "./calls/family_operations.ts";
import { createExport, deleteExport, listExports, streamExport } from "./data/exports.ts";
import { familyHealth, unifiedHealth } from "./data/health.ts";
import { generateImage } from "./media/images.ts";
import { getMedia } from "./media/media.ts";
import { familyMessages, unifiedMessages } from "./calls/messages.ts";
import { familyModels, unifiedModels } from "./calls/models.ts";
import { livez, metrics, readyz } from "./media/operations.ts";
import { familyResponses, unifiedResponses } from "./calls/responses.ts";
import { generateSpeech } from "./media/speech.ts";
import { status } from "./data/status.ts";
import { type DialectName, vendorFamilies, type VendorFamily } from "./calls/vendors.ts";

/** The contracts of one vendor's family, whether it is one of the seven or an operator's row. */
export function familyContracts(family: VendorFamily) {
  const ofDialects = {
    chat: family.dialects.includes("chat") ? familyChat(family) : undefined,
    responses: family.dialects.includes("responses") ? familyResponses(family) : undefined,
    messages: family.dialects.includes("messages") ? familyMessages(family) : undefined,
    generate: family.dialects.includes("generate") ? familyGenerate(family) : undefined,
  } satisfies Record<DialectName, unknown>;
  return {
    ...ofDialects,
    ...familyOperations(family),
    models: familyModels(family),
    health: familyHealth(family),
  };
}

/** The contracts that are there once, whatever the vendors. */
export const contracts = {
  unifiedChat,
  unifiedResponses,
  unifiedMessages,
  unifiedGenerate,
  unifiedEmbeddings,
  unifiedGenerateOperations,
  unifiedModels,
  unifiedHealth,
  generateImage,
  generateSpeech,
  status,
  createExport,
  streamExport,
  listExports,
  deleteExport,
  getMedia,
  deleteData,
  requestErasure,
  getDeletion,
  postCohortOutcome,
  getCohort,
  createEval,
  listEvals,
  getEval,
  cancelEval,
  livez,
  readyz,
  metrics,
  documents,
} as const;

/** Every contract, for the document. */
export function allContracts(): Contract[] {
  return [contracts, ...vendorFamilies.map(familyContracts)].flatMap((group) =>
    Object.values(group).flatMap(contractsIn)
  );
}

/** A contract, or the contracts of a group such as `{create, get, remove}`. */
function contractsIn(value: object | undefined): Contract[] {
  if (value === undefined) return [];
  return "route" in value ? [value as Contract] : Object.values(value) as Contract[];
}
