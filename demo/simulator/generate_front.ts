import { refuseForeignCredentials } from "./credentials.ts";
import { type Exchange } from "./exchange.ts";
import { batchEmbedContents, embedContent } from "./generate_embed.ts";
import { drawContent, DRAWING_MODELS, predict, PREDICT_MODELS } from "./generate_draw.ts";
import { speakContent, SPEAKING_MODELS } from "./generate_speak.ts";
import { countTokens, findGenerateModel, generateContent } from "./generate.ts";
import { GENERATE_MODELS, type GenerateModel } from "./generate_models.ts";
import { type JsonObject } from "./json.ts";
import { Problem, usualRetryAfter } from "./problem.ts";
import { type VendorFront } from "./server.ts";

/** The interface of the generate vendor. */
export const GENERATE_FRONT: VendorFront = {
  basePath: "/v1beta",
  // The default of the vendor's own client since its version 3.
  otherBasePaths: ["/v1"],
  routes: [
    {
      method: "POST",
      path: /^\/models\/([^:]+):(generateContent|streamGenerateContent)$/,
      handle: async (exchange, match) => {
        const [name, isStream] = [nameIn(match), match[2] === "streamGenerateContent"];
        return await drawContent(exchange, name, isStream) ??
          await speakContent(exchange, name, isStream) ??
          await generateContent(exchange, name, isStream);
      },
    },
    {
      method: "POST",
      path: /^\/models\/([^:]+):predict$/,
      handle: (exchange, match) => predict(exchange, nameIn(match)),
    },
    {
      method: "POST",
      path: /^\/models\/([^:]+):countTokens$/,
      handle: (exchange, match) => countTokens(exchange, nameIn(match)),
    },
    {
      method: "POST",
      path: /^\/models\/([^:]+):embedContent$/,
      handle: (exchange, match) => embedContent(exchange, nameIn(match)),
    },
    {
      method: "POST",
      path: /^\/models\/([^:]+):batchEmbedContents$/,
      handle: (exchange, match) => batchEmbedContents(exchange, nameIn(match)),
    },
    { method: "GET", path: /^\/models$/, handle: modelPage },
    {
      method: "GET",
      path: /^\/models\/([^:]+)$/,
      handle: (_exchange, match) => Response.json(modelRow(findGenerateModel(nameIn(match)))),
    },
  ],
  authorize,
  refuse,
};

function nameIn(match: RegExpMatchArray): string {
  return decodeURIComponent(match[1] ?? "");
}

function authorize(exchange: Exchange): void {
  refuseForeignCredentials(exchange, "x-goog-api-key");
  const key = exchange.headers.get("x-goog-api-key") ?? exchange.url.searchParams.get("key");
  if (key === null) {
    throw new Problem(
      403,
      "Method doesn't allow unregistered callers (callers without established identity).",
      { code: "PERMISSION_DENIED" },
    );
  }
  if (key !== exchange.state.apiKey) {
    throw new Problem(400, "API key not valid. Please pass a valid API key.", {
      code: "API_KEY_INVALID",
    });
  }
}

const PER_PAGE = 50;
const MOST_PER_PAGE = 1000;

function modelPage(exchange: Exchange): Response {
  const query = exchange.url.searchParams;
  const size = Math.min(Number(query.get("pageSize") ?? PER_PAGE) || PER_PAGE, MOST_PER_PAGE);
  const token = query.get("pageToken");
  const start = token === null ? 0 : Number(token.replace("page-", ""));
  if (!Number.isInteger(start)) throw new Problem(400, "Invalid page token.");
  const end = start + size;
  const rows = [...GENERATE_MODELS.map(modelRow), ...MEDIA_ROWS];
  return Response.json({
    models: rows.slice(start, end),
    ...(end < rows.length ? { nextPageToken: `page-${end}` } : {}),
  });
}

function modelRow(model: GenerateModel): JsonObject {
  return {
    name: `models/${model.id}`,
    version: "001",
    displayName: model.displayName,
    description: "A simulated model.",
    inputTokenLimit: model.inputTokens,
    outputTokenLimit: model.outputTokens,
    supportedGenerationMethods: ["generateContent", "countTokens"],
    temperature: 1,
    maxTemperature: 2,
    topP: 0.95,
    topK: 64,
    thinking: true,
  };
}

const MEDIA_ROWS: readonly JsonObject[] = [
  ...PREDICT_MODELS.map((id) => mediaRow(id, "predict")),
  ...[...DRAWING_MODELS, ...SPEAKING_MODELS].map((id) => mediaRow(id, "generateContent")),
];

function mediaRow(id: string, method: string): JsonObject {
  return {
    name: `models/${id}`,
    version: "001",
    displayName: id,
    inputTokenLimit: 32_768,
    outputTokenLimit: 32_768,
    supportedGenerationMethods: [method],
  };
}

const CANONICAL: Readonly<Record<number, string>> = {
  400: "INVALID_ARGUMENT",
  401: "UNAUTHENTICATED",
  403: "PERMISSION_DENIED",
  404: "NOT_FOUND",
  409: "ABORTED",
  429: "RESOURCE_EXHAUSTED",
  499: "CANCELLED",
  501: "UNIMPLEMENTED",
  503: "UNAVAILABLE",
  504: "DEADLINE_EXCEEDED",
};

const DETAIL = "type.googleapis.com/google.rpc.";

function refuse(problem: Problem, exchange: Exchange): Response {
  const body = {
    error: {
      code: problem.status,
      message: problem.message,
      status: CANONICAL[problem.status] ?? (problem.status < 500 ? "INVALID_ARGUMENT" : "INTERNAL"),
      ...detailsOf(problem),
    },
  };
  const isArrayStream = exchange.path.endsWith(":streamGenerateContent") &&
    !exchange.url.search.includes("alt=sse");
  // The answer of an array stream is an array, even for an error.
  return Response.json(isArrayStream ? [body] : body, { status: problem.status });
}

function detailsOf(problem: Problem): JsonObject {
  if (problem.code === "API_KEY_INVALID") {
    return {
      details: [{
        "@type": `${DETAIL}ErrorInfo`,
        reason: "API_KEY_INVALID",
        domain: "googleapis.com",
        metadata: { service: "generativelanguage.googleapis.com" },
      }],
    };
  }
  const seconds = problem.retryAfterSeconds ?? usualRetryAfter(problem.status);
  if (problem.status !== 429 || seconds === null) return {};
  return {
    details: [
      {
        "@type": `${DETAIL}QuotaFailure`,
        violations: [{ quotaId: "GenerateRequestsPerMinutePerProjectPerModel" }],
      },
      { "@type": `${DETAIL}RetryInfo`, retryDelay: `${seconds}s` },
    ],
  };
}
