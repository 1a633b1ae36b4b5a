import type { OperationExamples } from "./example.ts";

const at = "2026-11-21T09:00:00Z";

const virtualModel = {
  account_id: 1,
  name: "assistant",
  targets: [{ model: "gpt-5-mini", weight: 9 }, { model: "claude-sonnet-4-6", weight: 1 }],
  fallbacks: ["gemini-2.5-flash"],
  stick_by: "session",
  created_at: at,
  updated_at: at,
};

const newModel = {
  name: virtualModel.name,
  targets: virtualModel.targets,
  fallbacks: virtualModel.fallbacks,
  stick_by: virtualModel.stick_by,
};

/** Examples of administration. */
export const administrationExamples: Readonly<Record<string, OperationExamples>> = {
  listVirtualModels: { answers: { list: { data: [virtualModel] } } },
  createVirtualModel: {
    requests: {
      weighted: newModel,
      plain: { name: "fast", targets: ["gpt-5-mini"], account_id: 1 },
    },
    answers: { made: virtualModel },
  },
  getVirtualModel: { params: { name: "assistant" }, answers: { found: virtualModel } },
  updateVirtualModel: {
    params: { name: "assistant" },
    requests: { weights: { targets: virtualModel.targets }, freely: { stick_by: null } },
    answers: { changed: virtualModel },
  },
  deleteVirtualModel: {
    params: { name: "assistant" },
    answers: { removed: { account_id: 1, name: "assistant", removed: true } },
  },
  listAuditEntries: {
    answers: {
      page: {
        data: [{
          at,
          actor: "API key 'terraform' (dmt_3kTq9fPw…)",
          action: "virtual_model.set",
          subject: "assistant",
          detail: "gpt-5-mini (9), claude-sonnet-4-6 (1), else gemini-2.5-flash",
          account_id: 1,
        }],
        next_cursor: "4711",
      },
    },
  },
};
