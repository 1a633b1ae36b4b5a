import assert from "@std/assert";
import { vendorFamilies } from "../../contracts/calls/vendors.ts";
import { createNearestEndpoint } from "./nearest_endpoint.ts";

const nearest = createNearestEndpoint(vendorFamilies);

const cases: [string, string, string][] = [
  ["GET", "/v1/chat/completions", " Did you mean POST /v1/chat/completions?"],
  ["POST", "/v1/chat/completions/", " Did you mean POST /v1/chat/completions?"],
  ["POST", "/chat/completions", " Did you mean POST /chat/v1/chat/completions?"],
  ["POST", "/chat/v1/completions", " Did you mean POST /chat/v1/chat/completions?"],
  ["POST", "/v1/completions", " Did you mean POST /v1/chat/completions?"],
  ["POST", "/completions", " Did you mean POST /chat/v1/chat/completions?"],
  ["POST", "/openai/v1/completions", " Did you mean POST /openai/v1/chat/completions?"],
  ["POST", "/openai/chat/completions", " Did you mean POST /openai/v1/chat/completions?"],
  ["POST", "/openai/v1/chat/completion", " Did you mean POST /openai/v1/chat/completions?"],
  ["POST", "/messages", " Did you mean POST /chat/v1/messages?"],
  ["POST", "/api/v1/messages", " Did you mean POST /chat/v1/messages?"],
  ["POST", "/v2/embeddings", " Did you mean POST /chat/v1/embeddings?"],
  ["GET", "/models", " Did you mean GET /chat/v1/models?"],
  ["GET", "/openai/v1/health", " Did you mean GET /openai/health?"],
  ["GET", "/status", " Did you mean GET /api/v1/status?"],
  ["GET", "/v1/status", " Did you mean GET /api/v1/status?"],
  ["POST", "/chat/v1/exports", " Did you mean POST /api/v1/exports?"],
  ["POST", "/v1/cohort/outcome", " Did you mean POST /api/v1/cohort/outcome?"],
  ["GET", "/openai/v1/status", ""],
  ["GET", "/api/v1/stauts", " Did you mean GET /api/v1/status?"],
  [
    ...["POST", "/anthropic/v1/chat/completions"] as const,
    " The Anthropic family accepts messages; for its models use POST /chat/v1/chat/completions.",
  ],
  [
    ...["POST", "/google/v1/models/gemini-x:generateContnt"] as const,
    " Did you mean POST /google/v1/models/gemini-x:generateContent?",
  ],
  [
    ...["POST", "/v1beta/models/openai/gpt-5-mini:streamgenerateContent"] as const,
    " Did you mean POST /v1beta/models/openai/gpt-5-mini:streamGenerateContent?",
  ],
  [
    ...["POST", "/google/v1beta/gemini-x:count_tokens"] as const,
    " Did you mean POST /google/v1beta/gemini-x:countTokens?",
  ],
  [
    ...["GET", "/google/v1/models/a:generateContent"] as const,
    " Did you mean POST /google/v1/models/a:generateContent?",
  ],
  [
    ...["POST", "/google/models/a:generateContent"] as const,
    " Did you mean POST /google/v1/models/a:generateContent?",
  ],
  [
    ...["POST", "/openai/v1/models/gpt-5:generateContent"] as const,
    " The OpenAI family accepts chat, responses; for its models use POST /chat/v1/models/openai/gpt-5:generateContent.",
  ],
  ...["/v1", "/chat/v1", "/google/v1", ""].map((base) =>
    [
      ...["POST", `${base}/images/edits`] as const,
      " It is on the vendors' own paths: POST /openai/v1/images/edits, /xai/v1/images/edits.",
    ] as [string, string, string]
  ),
  [
    ...["GET", "/v1/audio/speech"] as const,
    " It is on the vendors' own paths: POST /openai/v1/audio/speech, /openrouter/v1/audio/speech.",
  ],
  ["POST", "/xai/images/edits", " Did you mean POST /xai/v1/images/edits?"],
  ["POST", "/google/v1/models/a:nothingLikeIt", ""],
  ["POST", `/google/v1/models/${"x".repeat(5000)}:generateContnt`, ""],
  ...[
    "/v1/batches",
    "/chat/v1/batches/b-1/cancel",
    "/openai/v1/batches",
    "/v1/messages/batches",
    "/chat/v1beta/models/gemini-2.5-flash:batchGenerateContent",
  ].map((path) =>
    ["POST", path, " The service has no batches: send each request as a call."] as [
      string,
      string,
      string,
    ]
  ),
  ...[
    "/v1/files",
    "/chat/v1/files/file-1/content",
    "/chat/upload/v1beta/files",
    "/openai/v1/uploads",
  ]
    .map((path) =>
      ["POST", path, " The service stores no files: send their content within a call."] as [
        string,
        string,
        string,
      ]
    ),
  ["GET", "/nothing/like/it", ""],
  // Three letters of twelve, but of one word.
  ["POST", "/chat/v1/videos", ""],
  ["POST", "/openai/v1/videos", ""],
  ["POST", "/chat/v1/modles", " Did you mean GET /chat/v1/models?"],
  ["GET", "/", ""],
  ["POST", `/${"x".repeat(5000)}`, ""],
];
for (const [method, path, expected] of cases) {
  Deno.test(`${method} ${path.slice(0, 60)} means '${expected.trim()}'`, () => {
    assert.equal(nearest(method, path), expected);
  });
}
