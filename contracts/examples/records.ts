import type { OperationExamples } from "./example.ts";

const transaction = "0197e0c2-a3f0-7c41-9d2e-6b1f4c8a7d35";
const request = "0197e0c3-11b2-7f06-8a54-2d9c3e6f7b18";
const at = "2026-11-21T09:00:00Z";

const interaction = {
  transaction_id: transaction,
  created_at: at,
  request_id: "order-1042",
  session_id: "session-17",
  user_id: "user-42",
  account_id: 1,
  api_key_id: "0197df11-5d0a-7b6e-a1c7-3f5e9d2b8c46",
  app: "docs",
  flow: null,
  cohort_id: "checkout-b",
  endpoint: "/chat/v1/chat/completions",
  dialect: "chat",
  vendor: "vendor-b",
  model: "gpt-5-mini",
  requested_model: "vendor-b/gpt-5-mini",
  mode: "managed",
  stream: false,
  status: "completed",
  http_status: 200,
  error_code: null,
  finish_reason: "stop",
  input_tokens: 13,
  cache_read_tokens: 0,
  cache_write_tokens: null,
  output_tokens: 3,
  reasoning_tokens: 0,
  total_tokens: 16,
  cost_usd: "0.000009250",
  charged_usd: "0.000009250",
  billing_basis: "reported",
  price_version: "b7c1d2e3f4a5",
  usage_raw: { prompt_tokens: 13, completion_tokens: 3, total_tokens: 16 },
  translation_loss: [],
  latency_ms: 612,
  time_to_first_token_ms: 612,
  request: {
    model: "vendor-b/gpt-5-mini",
    messages: [{ role: "user", content: "/// APP docs\nName the capital of France." }],
  },
  response: {
    id: "chatcmpl-7Qk2",
    object: "chat.completion",
    choices: [{
      index: 0,
      message: { role: "assistant", content: "Paris." },
      finish_reason: "stop",
    }],
  },
  payload_truncated: false,
  attempts: null,
  cache: null,
  client: "OpenAI/JS",
  trace_id: null,
};

const { request: _request, response: _response, ...summary } = interaction;

const sums = {
  calls: 412,
  failed: 3,
  input_tokens: 281040,
  output_tokens: 51200,
  cost_usd: "0.172660000",
  charged_usd: "0.172660000",
};

const job = {
  status: "success",
  request_id: request,
  bytes_size: 48213,
  message: `Fetch it with GET /api/v1/exports/${request}/stream.`,
};

const lines = `${JSON.stringify({ transaction_id: transaction, cost_usd: "0.000009250" })}\n`;

const counts = { interactions: 12, eval_runs: 0, eval_results: 3 };

/** Examples of recorded calls and their sums, of exports and deletions. */
export const recordExamples: Readonly<Record<string, OperationExamples>> = {
  listInteractions: {
    answers: { page: { data: [summary], next_cursor: "WzE3OTUyNTE2MDAwMDAsIjAxOTdlMGMyIl0" } },
  },
  getInteraction: {
    params: { transaction_id: transaction },
    answers: {
      call: {
        ...interaction,
        lines: [
          {
            dimension: "input",
            quantity: 13,
            unit_price_usd: "0.000000250000",
            cost_usd: "0.000003250",
          },
          {
            dimension: "output",
            quantity: 3,
            unit_price_usd: "0.000002000000",
            cost_usd: "0.000006000",
          },
        ],
      },
    },
  },
  getUsage: {
    answers: {
      byModel: {
        data: [{ model: "vendor-b/gpt-5-mini", ...sums, erased: false }],
        total: sums,
        omitted: 0,
      },
      byAppAndUser: {
        data: [{ app: "docs", user: "customer-17", ...sums, erased: false }],
        total: sums,
        omitted: 0,
      },
      byDay: {
        data: [{ day: "2026-11-21", ...sums, erased: false }],
        total: sums,
        omitted: 0,
      },
    },
    texts: {
      "text/csv":
        "model,calls,failed,input_tokens,output_tokens,cost_usd,charged_usd,erased\r\nvendor-b/gpt-5-mini,412,3,281040,51200,0.172660000,0.172660000,false\r\n",
    },
  },
  getCredits: {
    answers: {
      credits: {
        balance_usd: "9.827340000",
        reserved_usd: "0.000000000",
        charged_today_usd: "0.021400000",
        charged_month_usd: "0.172660000",
      },
    },
  },
  createExport: {
    requests: {
      direct: {
        start_date: "2026-11-01T00:00:00Z",
        filters: { app: "docs", status: ["completed", "truncated"] },
      },
      job: {
        format: "csv",
        range: { start: "2026-11-01", end: "2026-11-30" },
        tables: ["interactions"],
      },
      figures: {
        format: "jsonl",
        start_date: "2026-11-01",
        end_date: "2026-11-30",
        columns: ["created_at", "app", "model", "cost_usd"],
      },
    },
    answers: {
      direct: [interaction],
      job,
      bucket: { export_url: "https://bucket.example/exports/0197e0c3.json?X-Amz-Signature=5f0c" },
    },
    texts: {
      "text/csv": `transaction_id,created_at,request_id\r\n${transaction},${at},order-1042\r\n`,
      "application/x-ndjson": lines,
    },
    others: { 202: { queued: { ...job, bytes_size: 0, message: "The export is queued." } } },
  },
  streamExport: {
    params: { request_id: request },
    answers: { rows: [interaction] },
    others: { 206: { part: '[{"transaction_id":"0197e0c2' } },
    texts: {
      "text/csv": `transaction_id,created_at,request_id\r\n${transaction},${at},order-1042\r\n`,
      "application/x-ndjson": lines,
    },
  },
  listExports: {
    answers: {
      list: {
        data: [{
          request_id: request,
          state: "ready",
          format: "csv",
          bytes_size: 48213,
          created_at: at,
          expires_at: "2026-11-28T09:00:00Z",
        }],
      },
    },
  },
  deleteExport: {
    params: { request_id: request },
    answers: {
      deleted: { status: "success", request_id: request, message: "The file is deleted." },
    },
  },
  deleteData: {
    requests: {
      counted: { session_ids: ["session-17"], dry_run: true },
      deleted: { session_ids: ["session-17"], confirm: true },
    },
    answers: {
      deleted: {
        status: "success",
        deleted_count: 15,
        message: "15 rows were deleted.",
        deletion_id: request,
      },
    },
  },
  requestErasure: {
    requests: { person: { user_id: "user-42", reason: "ticket 17" } },
    answers: {
      queued: { status: "ok", message: "The deletion is queued.", request_id: request },
    },
  },
  getDeletion: {
    params: { request_id: request },
    answers: {
      done: {
        request_id: request,
        state: "done",
        deleted_count: 15,
        expected_count: 15,
        counts,
        attempts: 1,
        requested_at: at,
        receipt: {
          counts,
          selectors_hash: "5b1f0c3a9d7e4286b0c5d1e2f3a4958677869504132243506172839405f6e7d8",
          reason: "ticket 17",
          completed_at: "2026-11-21T09:00:02Z",
        },
      },
    },
  },
};
