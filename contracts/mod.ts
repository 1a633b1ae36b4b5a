import { familyChat, unifiedChat } from "./chat.ts";
import { getCohort, postCohortOutcome } from "./cohort.ts";
import type { Contract } from "./contract.ts";
import { documents } from "./document.ts";
import { deleteData, getDeletion, requestErasure } from "./deletion.ts";
import { cancelEval, createEval, getEval, listEvals } from "./evals.ts";
import { familyGenerate, unifiedGenerate } from "./generate.ts";
import { unifiedEmbeddings } from "./embeddings.ts";
import { unifiedGenerateOperations } from "./generate_operations.ts";
import { familyOperations } from "./family_operations.ts";
import { createExport, deleteExport, listExports, streamExport } from "./exports.ts";
import { familyHealth, unifiedHealth } from "./health.ts";
import { generateImage } from "./images.ts";
import { getMedia } from "./media.ts";
import { familyMessages, unifiedMessages } from "./messages.ts";
import { familyModels, unifiedModels } from "./models.ts";
import { livez, metrics, readyz } from "./operations.ts";
import { familyResponses, unifiedResponses } from "./responses.ts";
import { generateSpeech } from "./speech.ts";
import { status } from "./status.ts";
import { vendorFamilies, type VendorFamily } from "./vendors.ts";

/** The contracts of one vendor's family, whether it is one of the seven or an operator's row. */
export function familyContracts(family: VendorFamily) {
  return {
    chat: family.dialects.includes("chat") ? familyChat(family) : undefined,
    responses: family.dialects.includes("responses") ? familyResponses(family) : undefined,
    messages: family.dialects.includes("messages") ? familyMessages(family) : undefined,
    generate: family.dialects.includes("generate") ? familyGenerate(family) : undefined,
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
