import { adminAuditContracts } from "./admin/audit.ts";
import { adminAccountContracts } from "./admin/accounts.ts";
import { adminBudgetContracts } from "./admin/budgets.ts";
import { adminCreditContracts } from "./admin/credit.ts";
import { adminKeyContracts } from "./admin/keys.ts";
import { adminPriceContracts } from "./admin/prices.ts";
import { adminVendorKeyContracts } from "./admin/vendor_keys.ts";
import { adminModelContracts } from "./admin/models.ts";
import { adminWebhookContracts } from "./admin/webhooks.ts";
import { chatContract } from "./calls/chat.ts";
import { getCohort, postCohortOutcome } from "./data/cohort.ts";
import type { Contract } from "./kernel/contract.ts";
import { deleteData, getDeletion, requestErasure } from "./data/deletion.ts";
import { cancelEval, createEval, getEval, listEvals } from "./data/evals.ts";
import { generateContracts } from "./calls/generate.ts";
import { embeddingsContract } from "./calls/embeddings.ts";
import { methodContracts } from "./calls/generate_operations.ts";
import { createExport, deleteExport, listExports, streamExport } from "./data/exports.ts";
import { familyHealth, unifiedHealth } from "./data/health.ts";
import { getInteraction, listInteractions } from "./data/interactions.ts";
import { getCredits, getUsage } from "./data/usage.ts";
import { generateImage, getMedia } from "./media/images.ts";
import { messagesContracts } from "./calls/messages.ts";
import {
  familyModel,
  familyModels,
  unifiedModel,
  unifiedModels,
  unifiedNativeModel,
  unifiedNativeModels,
} from "./calls/models.ts";
import { responsesContracts } from "./calls/responses.ts";
import { generateSpeech } from "./media/speech.ts";
import { documents, livez, metrics, readyz, status } from "./data/status.ts";
import { familySpeech, familyTranscriptions, familyTranslations } from "./media/audio_paths.ts";
import { familyImageEdits, familyImages } from "./media/image_paths.ts";
import {
  anyVendor,
  type DialectName,
  type OperationKind,
  vendorFamilies,
  type VendorFamily,
} from "./calls/vendors.ts";

/** Returns the contracts of a vendor's family, one of the seven or one that an operator defined. */
export function familyContracts(family: VendorFamily) {
  return {
    ...familyDialects(family),
    ...familyOperations(family),
    models: familyModels(family),
    model: familyModel(family),
    health: familyHealth(family),
  };
}

/** Of a family's contracts those of its dialects: a start makes no other twice. */
export function familyDialects(family: VendorFamily) {
  const has = (dialect: DialectName) => family.dialects.includes(dialect);
  return {
    chat: has("chat") ? chatContract(family) : undefined,
    responses: has("responses") ? responsesContracts(family) : undefined,
    messages: has("messages") ? messagesContracts(family) : undefined,
    generate: has("generate") ? generateContracts(family) : undefined,
  } satisfies Record<DialectName, unknown>;
}

export function familyOperations(family: VendorFamily) {
  const has = (kind: OperationKind) => family.operations.includes(kind);
  const hasMethods = has("predict") || has("embedContent") || has("batchEmbedContents");
  const methods = hasMethods ? methodContracts(family) : undefined;
  return {
    imageGenerations: has("imageGenerations") ? familyImages(family) : undefined,
    imageEdits: has("imageEdits") ? familyImageEdits(family) : undefined,
    speech: has("speech") ? familySpeech(family) : undefined,
    transcriptions: has("transcriptions") ? familyTranscriptions(family) : undefined,
    translations: has("translations") ? familyTranslations(family) : undefined,
    embeddings: has("embeddings") ? embeddingsContract(family) : undefined,
    predict: has("predict") ? methods?.predict : undefined,
    embedContent: has("embedContent") ? methods?.embedContent : undefined,
    batchEmbedContents: has("batchEmbedContents") ? methods?.batchEmbedContents : undefined,
  };
}

/** The contracts that exist once, whatever vendors there are. */
export const contracts = {
  unifiedChat: chatContract(anyVendor),
  unifiedResponses: responsesContracts(anyVendor),
  unifiedMessages: messagesContracts(anyVendor),
  unifiedGenerate: generateContracts(anyVendor),
  unifiedEmbeddings: embeddingsContract(anyVendor),
  unifiedGenerateOperations: methodContracts(anyVendor),
  unifiedModels,
  unifiedModel,
  unifiedNativeModels,
  unifiedNativeModel,
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
  listInteractions,
  getInteraction,
  getUsage,
  getCredits,
  admin: {
    ...adminAccountContracts,
    ...adminKeyContracts,
    ...adminCreditContracts,
    ...adminVendorKeyContracts,
    ...adminModelContracts,
    ...adminBudgetContracts,
    ...adminWebhookContracts,
    ...adminPriceContracts,
    ...adminAuditContracts,
  },
  livez,
  readyz,
  metrics,
  documents,
} as const;

/** Returns every contract, for the OpenAPI document. */
export function allContracts(): Contract[] {
  return [contracts, ...vendorFamilies.map(familyContracts)].flatMap((group) =>
    Object.values(group).flatMap(contractsIn)
  );
}

/** Returns a contract, or the contracts of a group such as `{create, get, remove}`. */
function contractsIn(value: object | undefined): Contract[] {
  if (value === undefined) return [];
  return "patterns" in value ? [value as Contract] : Object.values(value) as Contract[];
}
